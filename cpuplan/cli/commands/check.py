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
    default="/",
    help="The node's root file system: /, /host in a container, or a copy.  [default: /]",
)
@format_option
@cluster_option
def command(node: str, root: Path, output_format: str) -> int:
    """Compare NODE's boot arguments, files and running state with its compiled settings.

    Exit code 0: everything matches; 1: something differs.
    """
    from cpuplan import pipeline
    from cpuplan.check.host import check
    from cpuplan.check.machine import SYSTEM
    from cpuplan.check.root import Root

    loaded = load_plan(settings().root)
    if loaded is None:
        return 1
    project, plan = loaded
    node_plan, name = find_node(plan, node, project)
    findings = pipeline.described(project, check(Root(root), node_plan, project.locate))
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
