"""`cpuplan validate`: everything that is wrong with the inventories and intents, in one run."""

from pathlib import Path

import click

from cpuplan.cli.output import count, format_option, note, print_diagnostics, settings
from cpuplan.write import inputs


@click.command()
@click.argument("files", nargs=-1, type=click.Path(exists=True, path_type=Path))
@format_option
@click.option("--strict", is_flag=True, help="Warnings count as errors.")
def command(files: tuple[Path, ...], output_format: str, strict: bool) -> int:
    """Say everything that is wrong with the inventories and intents, and whether every node has a layout.

    FILES (or folders of them) are read beside those of the project: intents, or PerformanceProfiles of OpenShift's node
    tuning operator as they are, with the MachineConfigPool and Node objects of their cluster.

    Exit code 0: nothing is wrong; 1: something is.
    """
    root = settings().root
    if not files and inputs.unchanged(root, root / "out"):
        # out/ was compiled from exactly these files, so they are known to be right.
        print_diagnostics([], output_format)
        note("inventories and intents are valid; out/ was compiled from them")
        return 0
    from cpuplan import pipeline
    from cpuplan.diagnostics import errors
    from cpuplan.load.files import yaml_files

    project = pipeline.load(root, [path for given in files for path in yaml_files(given)])
    plan, problems = pipeline.solve(project)
    diagnostics = [*project.diagnostics, *problems, *pipeline.check(project, plan)]
    print_diagnostics(diagnostics, output_format)
    if errors(diagnostics) or (strict and diagnostics):
        return 1
    if not plan.nodes:
        note("valid, as far as can be told without an inventory")
        return 0
    nodes = sum(len(each.node_class.nodes) for each in plan.nodes)
    note(f"valid: {count(nodes, 'node')} in {count(len(plan.nodes), 'class')}, each with a layout")
    return 0
