"""`cpuplan show`: a machine or the pools of a node, drawn on sockets, NUMA nodes and cores."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from cpuplan.cli.output import (
    echo,
    filter_options,
    narrow_to,
    print_diagnostics,
    print_remarks,
    screen_width,
    settings,
    time_limit_option,
    use_colour,
)
from cpuplan.cli.recorded import answered
from cpuplan.diagnostics import CpuplanError, diagnose, errors

if TYPE_CHECKING:
    from cpuplan.language.read.documents import Document, Documents
    from cpuplan.pipeline import Project
    from cpuplan.render.map.boxes import Map

#: Before a name that is a node's too; as in the origins of reasons.
PREFIX = "Hardware/"


def named(project: "Project", name: str) -> "Map | None":
    """The map of hardware `name`, None if there is none. Raises CpuplanError if it is wrong."""
    from cpuplan.fleet import hardware

    wanted = name.removeprefix(PREFIX)
    document = project.documents.by_name.get(("Hardware", wanted))
    if document is None and not project.documents.may_define("Hardware", wanted):
        document = hardware.find_in_catalog(wanted)
    return _map(document) if document else None


def imported(source: Path, name: str | None) -> "list[Map]":
    """The machines at `source`, or only the one with the hardware or node `name`.

    Raises CpuplanError and UsageError if there is none.
    """
    from cpuplan import importers
    from cpuplan.importers.documents import render
    from cpuplan.language.read import documents, yaml

    machines = importers.run(None, [source])
    if not machines.nodes:
        raise CpuplanError(machines.diagnostics)
    print_diagnostics(machines.diagnostics)
    print_remarks(machines.remarks)
    sources = []
    for path, text in render(machines).items():
        sources += yaml.parse(path, text)[0]
    read, problems = documents.from_sources(sources)
    if errors(problems):
        raise CpuplanError(problems)
    nodes = _nodes_of(read)
    chosen = [
        document
        for document in read.of_kind("Hardware")
        if name in (None, document.name, *nodes.get(document.name, ()))
    ]
    if not chosen:
        names = ", ".join(nodes)
        raise click.UsageError(f"{source} has no hardware or node {name!r}; it has {names}")
    return [_map(document) for document in chosen]


def _nodes_of(documents: "Documents") -> dict[str, list[str]]:
    """Node names by hardware."""
    from cpuplan.base.naming import expand_names

    names: dict[str, list[str]] = {document.name: [] for document in documents.of_kind("Hardware")}
    for document in documents.of_kind("Nodes"):
        for group in document.spec.nodes:
            names[group.hardware or document.spec.hardware] += expand_names(group.name)
    return names


def _map(document: "Document") -> "Map":
    from cpuplan.fleet import hardware
    from cpuplan.render.map.drawing import hardware_map

    topology, problems = hardware.build(document.spec)
    if topology is None:
        diagnostics = [
            diagnose(problem.code, document.at(*problem.field), **problem.values)
            for problem in problems
        ]
        raise CpuplanError(diagnostics)
    return hardware_map(document.name, document.spec, topology)


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
        return _print(imported(source, name), svg)
    return answered(lambda: _show(name, svg)) if svg is None else _show(name, svg)


def _show(name: str | None, svg: Path | None) -> int:
    """Draw or list what the project says of `name`."""
    from cpuplan import pipeline
    from cpuplan.cli.nodes import find_node, solve_plan

    project = pipeline.load(settings().root, seconds=settings().time_limit)
    narrow_to(project)
    is_planned = any(name in node_class.nodes for node_class in project.classes)
    if name and not is_planned and (drawn := named(project, name)):
        return _print([drawn], svg)
    plan = solve_plan(project)
    if plan is None:
        return 1
    if name is None:
        from cpuplan.render.tables import classes

        scope = settings().scope
        wanted = [of for of in plan.nodes if scope is None or scope.wants(of.node_class)]
        echo(classes(wanted, every=settings().verbose), nl=False)
        return 0
    from cpuplan.render.map.plan import plan_map

    machines = [document.name for document in project.documents.of_kind("Hardware")]
    of, node = find_node(plan, name, project, machines)
    return _print([plan_map(of, node, project.hardware_of(of.node_class))], svg)


def _print(maps: "list[Map]", svg: Path | None) -> int:
    if svg:
        if len(maps) > 1:
            titles = ", ".join(drawn.title for drawn in maps)
            raise click.UsageError(f"--svg needs a single machine; give one of {titles}")
        from cpuplan.render.map.svg import draw_svg
        from cpuplan.write.files import write_file

        write_file(svg, draw_svg(maps[0]))
        return 0
    from cpuplan.render.map.terminal import draw_text

    colour = use_colour()
    width = screen_width()
    text = "\n".join(draw_text(drawn, colour=colour, width=width) for drawn in maps)
    echo(text, nl=False, colour=colour)
    return 0
