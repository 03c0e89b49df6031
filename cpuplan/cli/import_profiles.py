"""`cpuplan import performanceprofile`: PerformanceProfiles of OpenShift's node tuning operator become Intents."""

from pathlib import Path

import click

from cpuplan.cli.output import count, note, print_diagnostics
from cpuplan.diagnostics import diagnose, errors

_HEADER = "yaml-language-server: $schema=../schemas/intent.schema.json\n"
_HINT = "look at the new one with --stdout, then overwrite it with --force, or choose another folder with -o"


def run(paths: list[Path], folder: Path, *, to_stdout: bool, force: bool) -> int:
    """Write an Intent for each profile among `paths`, with the MachineConfigPools and other objects beside them."""
    from cpuplan.emit import to_yaml
    from cpuplan.load import project
    from cpuplan.load.files import yaml_files

    documents, diagnostics = project.read(Path(), [path for given in paths for path in yaml_files(given)])
    profiles = [document for document in documents.of_kind("Intent") if document.written_as]
    if not profiles and not errors(diagnostics):
        diagnostics.append(diagnose("CP127", path=", ".join(map(str, paths))))
    texts = {f"{each.name}.yaml": to_yaml(each.source.data, _HEADER) for each in profiles}
    blocked = [
        diagnose("CP621", path=folder / name, hint=_HINT)
        for name, text in texts.items()
        if not (force or to_stdout) and (folder / name).exists() and (folder / name).read_text() != text
    ]
    print_diagnostics([*diagnostics, *blocked])
    if errors(diagnostics):
        return 1
    if blocked:
        return 2
    _write(texts, folder, to_stdout=to_stdout)
    return 0


def _write(texts: dict[str, str], folder: Path, *, to_stdout: bool) -> None:
    from cpuplan.write.files import write_file

    if to_stdout:
        click.echo("---\n".join(texts.values()), nl=False)
        return
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        write_file(folder / name, text)
        note(f"wrote {folder / name}")
    note(f"{count(len(texts), 'profile')} read; the profiles themselves are not needed here any more")
