"""`cpuplan show`: the pools of a node, drawn on the machine."""

from pathlib import Path

import click

from cpuplan.cli.nodes import find_node, load_plan
from cpuplan.cli.output import settings, use_colour


@click.command()
@click.argument("node", required=False)
@click.option("--svg", type=click.Path(dir_okay=False, path_type=Path), help="Write the picture to this SVG file.")
def command(node: str | None, svg: Path | None) -> int:
    """Draw the pools of NODE (a name, or cluster/name) on its sockets, NUMA nodes, caches and cores.

    Without NODE: a line for each class of nodes.
    """
    loaded = load_plan(settings().root)
    if loaded is None:
        return 1
    _, plan = loaded
    if node is None:
        from cpuplan.render.overview import overview

        click.echo(overview(plan), nl=False)
        return 0
    from cpuplan.render import show

    found, name = find_node(plan, node)
    if svg:
        from cpuplan.write.files import write_file

        write_file(svg, show.show_svg(found, name))
        return 0
    colour = use_colour()
    width = click.get_current_context().terminal_width or _width()
    click.echo(show.show(found, name, colour=colour, width=width), nl=False, color=colour)
    return 0


def _width() -> int:
    import shutil

    return min(160, max(60, shutil.get_terminal_size((100, 24)).columns))
