"""Documents that a command writes for people to edit: never over what is there, unless told to."""

import os
from collections.abc import Mapping
from pathlib import Path

from cpuplan.base.files import Unreadable, read_regular
from cpuplan.cli.output import note, print_diagnostics
from cpuplan.diagnostics import Diagnostic, diagnose

#: Above a document in a folder of the project: editors check it against the schema of its kind.
HEADER = "yaml-language-server: $schema=../schemas/{kind}.schema.json\n"


def blocked(texts: Mapping[Path, str], hint: str) -> list[Diagnostic]:
    """CP621 for each path that exists with other content, or as a folder.

    `{name}` in the hint is replaced by the name of the file.
    """
    return [
        diagnose("CP621", path=path, hint=hint.format(name=path.stem))
        for path, text in texts.items()
        if os.path.lexists(path) and not holds(path, text)
    ]


def holds(path: Path, text: str) -> bool:
    """Whether there is a file that says just this."""
    try:
        return read_regular(path) == text.encode()
    except Unreadable:
        return False


def write(texts: Mapping[Path, str], *, quiet: bool = False) -> None:
    """Write files, in new folders where it takes them, and say which."""
    from cpuplan.write.files import write_file

    for path, text in texts.items():
        write_file(path, text)
        if not quiet:
            note(f"wrote {path}")


def write_new(texts: Mapping[Path, str], hint: str, *, force: bool) -> int:
    """Write all files, or none (2) if one exists with other content and `force` is not set."""
    if problems := [] if force else blocked(texts, hint):
        print_diagnostics(problems)
        return 2
    write(texts)
    return 0
