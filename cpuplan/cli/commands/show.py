"""`cpuplan show`: a machine or the pools of a node, drawn on sockets, NUMA nodes and cores."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from cpuplan import pipeline
from cpuplan.cli.nodes import find_node, solve_plan
from cpuplan.cli.output import (
    echo,
    filter_options,
    narrow_to,
    screen_width,
    settings,
    time_limit_option,
    use_colour,
)

if TYPE_CHECKING:
    from cpuplan.render.map.boxes import Map


@click.command()
@click.argument("name", required=False, metavar="[NODE|HARDWARE]")
@click.option(
    "--svg",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the picture to this SVG file.",
)
@filter_options
@click.option(
    "--import",
    "source",
    type=click.Path(exists=True, path_type=Path),
    metavar="PATH",
    help="Draw the machines that `cpuplan import PATH` would read.",
)
@time_limit_option
def command(name: str | None, svg: Path | None, source: Path | None) -> int:
    """Draw the pools of NODE (or cluster/name) on its sockets, NUMA nodes, caches and cores.

    With the name of HARDWARE (of the project or the catalogue), draw the machine with its memory,
    distances and devices. If a node has the same name, use Hardware/NAME. Without a name, print one
    line for each class of nodes; of more than 30 classes, unless with -v, one for each intent of a
    cluster.
    """
    if source:
        from cpuplan.cli import machines

        return _print(machines.imported(source, name), svg)
    project = pipeline.load(settings().root, seconds=settings().time_limit)
    narrow_to(project)
    if name and not any(name in node_class.nodes for node_class in project.classes):
        from cpuplan.cli import machines

        if drawn := machines.named(project, name):
            return _print([drawn], svg)
    plan = solve_plan(project)
    if plan is None:
        return 1
    if name is None:
        from cpuplan.render.tables import classes

        scope = settings().scope
        echo(
            classes(
                [
                    node_plan
                    for node_plan in plan.nodes
                    if scope is None or scope.wants(node_plan.node_class)
                ],
                every=settings().verbose,
            ),
            nl=False,
        )
        return 0
    from cpuplan.render.map.plan import plan_map

    hardware = [document.name for document in project.documents.of_kind("Hardware")]
    of, node = find_node(plan, name, project, hardware)
    return _print([plan_map(of, node, project.hardware_of(of.node_class))], svg)


def _print(maps: "list[Map]", svg: Path | None) -> int:
    if svg:
        if len(maps) > 1:
            raise click.UsageError(
                "--svg needs a single machine; give one of "
                f"{', '.join(drawn.title for drawn in maps)}"
            )
        from cpuplan.render.map.svg.draw import draw_svg
        from cpuplan.write.files import write_file

        write_file(svg, draw_svg(maps[0]))
        return 0
    from cpuplan.render.map.terminal.draw import draw_text

    colour = use_colour()
    width = screen_width()
    text = "\n".join(draw_text(drawn, colour=colour, width=width) for drawn in maps)
    echo(text, nl=False, colour=colour)
    return 0
