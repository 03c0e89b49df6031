"""`cpuplan validate`: everything that is wrong with the inventories and intents, in one run."""

import click

from cpuplan.cli.output import count, format_option, note, print_diagnostics, settings
from cpuplan.write import inputs


@click.command()
@format_option
@click.option("--strict", is_flag=True, help="Warnings count as errors.")
def command(output_format: str, strict: bool) -> int:
    """Say everything that is wrong with the inventories and intents, and whether every node has a layout.

    Exit code 0: nothing is wrong; 1: something is.
    """
    root = settings().root
    if inputs.unchanged(root, root / "out"):
        # out/ was compiled from exactly these files, so they are known to be right.
        print_diagnostics([], output_format)
        note("inventories and intents are valid; out/ was compiled from them")
        return 0
    from cpuplan import pipeline
    from cpuplan.diagnostics import errors

    project = pipeline.load(root)
    plan, problems = pipeline.solve(project)
    diagnostics = [*project.diagnostics, *problems, *pipeline.check(project, plan)]
    print_diagnostics(diagnostics, output_format)
    if errors(diagnostics) or (strict and diagnostics):
        return 1
    nodes = sum(len(each.node_class.nodes) for each in plan.nodes)
    note(f"valid: {count(nodes, 'node')} in {count(len(plan.nodes), 'class')}, each with a layout")
    return 0
