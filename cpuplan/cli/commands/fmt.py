"""`cpuplan fmt`: inventories and intents in their canonical form."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from cpuplan.base.text import counted
from cpuplan.cli.output import format_option, note, print_diagnostics, settings, shown_path

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cpuplan.diagnostics import Diagnostic
    from cpuplan.write.format import NotFormattable


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--check",
    is_flag=True,
    help="Write nothing; exit code 3 if a file is not in canonical form.",
)
@format_option
def command(paths: tuple[Path, ...], check: bool, output_format: str) -> int:
    """Rewrite PATHS (default: all files of the project) in canonical form.

    The order of keys, the indentation, and a first line that gives editors the schema change;
    comments and values are kept. Nothing is written if a file is not valid YAML. Files are written
    one after the other, each completely or not at all: run it again after an interruption.
    """
    from cpuplan.language.read.files import LOCK_NAME, InputFiles, input_files
    from cpuplan.write.files import write_file

    inputs = input_files(settings().root) if not paths else InputFiles([*paths], [])
    chosen = [path for path in inputs.files if paths or path.name != LOCK_NAME]
    texts, problems = _texts(chosen)
    if problems := [*inputs.diagnostics, *problems]:
        print_diagnostics(problems, output_format)
        return 1
    changes: list[Diagnostic] = []
    for path, (before, after) in texts.items():
        if before == after:
            continue
        changes.append(_difference(path, before, after))
        if not check:
            write_file(path, after)
            note(f"changed {path}")
    print_diagnostics(changes if check else (), output_format)
    note(f"{counted(len(chosen), 'file')}, {len(changes)} {'to change' if check else 'changed'}")
    return 3 if check and changes else 0


def _texts(paths: "Iterable[Path]") -> "tuple[dict[Path, tuple[str, str]], list[Diagnostic]]":
    """The text of each file and its canonical form, and what is wrong with those that have none."""
    from cpuplan.base.files import Unreadable, read_regular
    from cpuplan.language.read import yaml
    from cpuplan.language.read.files import refusal
    from cpuplan.write.format import NotFormattable, canonical

    texts, problems = {}, []
    for path in paths:
        try:
            data = read_regular(path)
            _, undecodable = yaml.decode(shown_path(path), data)
            if not undecodable:
                before = data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
                texts[path] = before, canonical(before)
            problems += undecodable
        except Unreadable as error:
            problems.append(refusal(shown_path(path), error))
        except NotFormattable as error:
            problems.append(_without_form(shown_path(path), error))
    return texts, problems


def _without_form(path: str, error: "NotFormattable") -> "Diagnostic":
    """CP114, at the comment that would be lost if it is that."""
    from cpuplan.diagnostics import diagnose
    from cpuplan.diagnostics.source import Position

    if not error.comment:
        return diagnose("CP114", path=path, problem=error)
    line, column, text = error.comment
    position = Position(path, line, column, column + len(text))
    return diagnose("CP114", position, label="this comment", path=path, problem=error)


def _difference(path: Path, before: str, after: str) -> "Diagnostic":
    """CP297 at the first line that would be another one."""
    from cpuplan.diagnostics import diagnose
    from cpuplan.diagnostics.source import Position

    old = before.splitlines()
    pairs = zip(old, after.splitlines(), strict=False)
    line = next(
        (number for number, (old_line, new_line) in enumerate(pairs, 1) if old_line != new_line),
        len(old),
    )
    return diagnose(
        "CP297",
        Position(shown_path(path), max(line, 1), 1),
        label="the first line that would change",
    )
