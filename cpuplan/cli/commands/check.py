"""`cpuplan check`: does a node hold what was compiled for it?"""

from pathlib import Path

import click

from cpuplan.cli.nodes import find_node, load_plan
from cpuplan.cli.output import (
    cluster_option,
    fails,
    format_option,
    note,
    print_diagnostics,
    settings,
)


@click.command()
@click.argument("node")
@click.option(
    "--root",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The node's root file system: /, /host in a container, or a copy.  [default: /, unless "
    "there are objects]",
)
@click.option(
    "--objects",
    "files",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    help="Objects of the cluster in a file or folder, such as the output of `kubectl get "
    "nodes,noderesourcetopologies,pods -A -o yaml`. The NodeResourceTopology of NODE is compared; "
    "with mechanism koordinator its labels, annotations, pools and bound pods. Can be repeated.",
)
@format_option
@cluster_option
def command(node: str, root: Path | None, files: tuple[Path, ...], output_format: str) -> int:
    """Compare NODE's boot arguments, files and running state with its compiled settings.

    With objects of its cluster, also what exporters or Koordinator's programs publish of it.

    Exit code 0: everything matches; 1: something differs.
    """
    from cpuplan import pipeline
    from cpuplan.check.host import check
    from cpuplan.check.machine import SYSTEM
    from cpuplan.check.root import Root
    from cpuplan.cli.commands.koordinator_files import objects_of

    loaded = load_plan(settings().root)
    if loaded is None:
        return 1
    project, plan = loaded
    node_plan, name = find_node(plan, node, project)
    found = objects_of(files, node_plan, name, project.locate) if files else []
    if root or not files:
        found += check(Root(root or Path("/")), node_plan, project.locate)
    findings = pipeline.described(project, found)
    # What stands on a line beside a finding is not shown: boot arguments hold passwords,
    # configurations tokens.
    places = (finding.position.path for finding in findings if finding.position)
    settings().private = frozenset(path for path in places if SYSTEM not in path)
    print_diagnostics(findings, output_format)
    # Whatever differs counts; a warning that is waived does not.
    if fails(findings, strict=True):
        return 1
    note(f"{name} matches its compiled settings")
    return 0
