"""`cpuplan verify-output`: whether the files in out/ are what the inputs give."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from cpuplan.base.text import counted
from cpuplan.cli.output import (
    divided_option,
    filter_options,
    format_option,
    note,
    note_names,
    print_diagnostics,
    settings,
    time_limit_option,
)

if TYPE_CHECKING:
    from cpuplan.gitops.provenance import Provenance
    from cpuplan.gitops.verification import Tree


@click.command()
@click.option(
    "--ref",
    metavar="REF",
    help="Verify the files of this commit or branch, such as one that `publish` made, instead of "
    "those of the work tree.",
)
@click.option(
    "--folder",
    metavar="PATH",
    default=None,
    help="Folder of the files in the tree of --ref.  [default: out, where the project is]",
)
@click.option(
    "--against-provenance",
    "statement_path",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Also compare the files and the inputs with this statement (`cpuplan provenance`).",
)
@format_option
@filter_options
@divided_option
@time_limit_option
def command(
    ref: str | None, folder: str | None, statement_path: Path | None, output_format: str
) -> int:
    """Compile again, and compare every file: is out/ what the inputs give, and nothing else?

    No record of earlier runs is used. Files that differ, are missing or left over, and files that
    cpuplan did not write, are reported. Exit code 0: all files are what the inputs give; 3: some
    are not; 1: the inputs have errors.
    """
    from cpuplan.cli.compilation import compile_again, of_lock
    from cpuplan.gitops import provenance, verification

    if folder is not None and ref is None:
        raise click.UsageError("--folder is about the tree of --ref: give both")
    statement = _statement(statement_path)
    done = compile_again(output_format)
    if done is None:
        return 1
    project, compiled = done
    tree = _tree(ref, folder)
    differences = verification.compare(tree, compiled.files, compiled.classes)
    differences += of_lock(project, compiled)
    if statement:
        now = provenance.of(compiled.files, project.inputs)
        differences += verification.against(tree, statement, now, settings().clusters)
    print_diagnostics([*compiled.diagnostics, *differences], output_format)
    if differences:
        return 3
    note(f"{counted(len(compiled.files), 'file')}: all of {tree.shown} is what the inputs give")
    paused = [node.node_class.full_name for node in compiled.plan.nodes if node.spec.paused]
    if paused:
        is_known = all(said.code != "CP6116" for said in compiled.diagnostics)
        how = "as where this branch left the main branch" if is_known else "nothing proves them"
        note_names(f"paused, {how}", paused)
    return 0


def _statement(path: Path | None) -> "Provenance | None":
    """The statement. Raises CpuplanError: CP108 and the like, and CP699."""
    if path is None:
        return None
    from cpuplan.base.files import Unreadable, read_regular
    from cpuplan.diagnostics import CpuplanError
    from cpuplan.gitops import provenance
    from cpuplan.language.read.files import refusal

    try:
        data = read_regular(path)
    except Unreadable as error:
        raise CpuplanError([refusal(str(path), error)]) from error
    return provenance.parse(data, str(path))


def _tree(ref: str | None, folder: str | None) -> "Tree":
    from cpuplan.gitops import verification

    root = settings().root
    if ref is None:
        return verification.of_folder(root / "out")
    return verification.of_commit(root, ref, None if folder is None else folder.strip("/"))
