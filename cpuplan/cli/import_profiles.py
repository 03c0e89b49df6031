"""`cpuplan import performanceprofile`: PerformanceProfiles of OpenShift's node tuning operator become Intents."""

from pathlib import Path

from cpuplan.cli import new_files
from cpuplan.cli.output import count, echo, note, print_diagnostics
from cpuplan.diagnostics import diagnose, errors

_HINT = "look at the new one with --stdout, then overwrite it with --force, or choose another folder with -o"


def run(paths: list[Path], folder: Path, *, to_stdout: bool, force: bool) -> int:
    """Write an Intent for each profile among `paths`, with the MachineConfigPools and other objects beside them."""
    from cpuplan.emit import to_yaml
    from cpuplan.load import project
    from cpuplan.load.files import yaml_files

    given = [yaml_files(path) for path in paths]
    documents, found = project.read(Path(), [path for each in given for path in each.files])
    diagnostics = [problem for each in given for problem in each.diagnostics]
    diagnostics += [each for each in found if each.code != "CP109"]  # nothing to read: said of profiles below
    profiles = [document for document in documents.of_kind("Intent") if document.written_as]
    if not profiles and not errors(diagnostics):
        diagnostics.append(diagnose("CP127", path=", ".join(map(str, paths))))
    header = new_files.HEADER.format(kind="intent")
    texts = {folder / f"{each.name}.yaml": to_yaml(each.source.data, header) for each in profiles}
    blocked = [] if force or to_stdout else new_files.blocked(texts, _HINT)
    print_diagnostics([*diagnostics, *blocked])
    if errors(diagnostics):
        return 1
    if blocked:
        return 2
    if to_stdout:
        echo("---\n".join(texts.values()), nl=False)
        return 0
    new_files.write(texts)
    note(f"{count(len(texts), 'profile')} read; the profiles themselves are not needed here any more")
    return 0
