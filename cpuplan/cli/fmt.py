"""`cpuplan fmt`: inventories and intents in their canonical form."""

from pathlib import Path

import click

from cpuplan.cli.output import count, note, print_diagnostics, settings


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--check", is_flag=True, help="Write nothing; exit code 3 if a file is not in its canonical form.")
def command(paths: tuple[Path, ...], check: bool) -> int:
    """Put PATHS (all files of the project, if left out) in their canonical form: order of keys, indentation, and a
    first line that tells editors the schema. Comments and values are kept.
    """
    from cpuplan.diagnostics import CpuplanError
    from cpuplan.load import yaml
    from cpuplan.load.files import LOCK_NAME, Inputs, input_files
    from cpuplan.write.files import write_file
    from cpuplan.write.format import canonical

    root = settings().root
    changed = 0
    inputs = input_files(root) if not paths else Inputs([*paths], [])
    if inputs.diagnostics:
        raise CpuplanError(inputs.diagnostics)
    found = [path for path in inputs.files if paths or path.name != LOCK_NAME]
    for path in found:
        _, problems = yaml.read(path, str(path))
        if problems:
            print_diagnostics(problems)
            return 1
        before = path.read_text(encoding="utf-8-sig")
        after = canonical(before)
        if before != after:
            changed += 1
            note(f"{'would change' if check else 'changed'} {path}")
            if not check:
                write_file(path, after)
    note(f"{count(len(found), 'file')}, {changed} {'to change' if check else 'changed'}")
    return 3 if check and changed else 0
