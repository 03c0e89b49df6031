"""`cpuplan simulate`: what the kubelets of planned nodes would do with pods."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cpuplan.cli.nodes import find_nodes, load_plan
from cpuplan.cli.output import (
    echo_result,
    filter_options,
    note,
    print_diagnostics,
    result_options,
    screen_width,
    settings,
    shown_path,
    use_colour,
)
from cpuplan.diagnostics import CpuplanError, Diagnostic, diagnose, errors
from cpuplan.files import Unreadable, read_regular
from cpuplan.text import counted

if TYPE_CHECKING:
    from cpuplan.kubelet.node import Node
    from cpuplan.pipeline import Project
    from cpuplan.plan import ConfiguredPlan
    from cpuplan.simulate.fleet import Result, Simulated
    from cpuplan.simulate.manifests import Item
    from cpuplan.simulate.orders import Answer

    Chosen = Sequence[tuple[ConfiguredPlan, tuple[str, ...]]]


@click.command()
@click.argument("names", nargs=-1, required=True, metavar="[NODE|CLASS] [FILE...]")
@click.option(
    "--each", is_flag=True, help="Give all pods to every node. A single node always gets all pods."
)
@click.option(
    "--any-order",
    is_flag=True,
    help="Prove that the pods fit in every order of arrival on each node, or show an order that fails.",
)
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Start from this cpu_manager_state or memory_manager_state; repeat the option to give both. "
    "Needs a single node.",
)
@click.option(
    "--svg",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the picture to this SVG file.",
)
@result_options
@filter_options
def command(
    names: tuple[str, ...],
    each: bool,
    any_order: bool,
    states: tuple[Path, ...],
    svg: Path | None,
    output_format: str,
) -> int:
    """Admit the pods of FILES, in their order, as the kubelets of the planned nodes would.

    FILES contain Pods, Deployments, StatefulSets, DaemonSets, Jobs and Lists of them, with as many
    pods as they have replicas. The first name can be a node, a class of nodes, or cluster/name of
    either; without it, the whole fleet is simulated. Without FILES, the pods are those of the
    intent's workloads.

    There is no scheduler: selectors, taints and affinities are ignored. On a single node, all pods
    arrive in order. On several nodes, each node gets its own pod of every DaemonSet, and any other
    pod goes to the first node, in the order of their names, that admits it; with --each, every node
    gets all pods.

    Exit code 0: all pods are admitted (with --any-order, in every order); 1: a pod is refused, or
    the proof failed.
    """
    loaded = load_plan(settings().root)
    if loaded is None:
        return 1
    project, plan = loaded
    first, files = (names[0], names[1:]) if not Path(names[0]).exists() else (None, names)
    chosen = find_nodes(plan, first, project)
    items, diagnostics = (
        _read([Path(name) for name in files]) if files else (_workloads(chosen), [])
    )
    traps = _traps(chosen, project)
    diagnostics += [each for each in traps if each.code in _NOT_STARTED]
    if errors(diagnostics):
        print_diagnostics(diagnostics)
        return 1
    from cpuplan.pipeline import described
    from cpuplan.simulate.alike import alike

    single = sum(len(nodes) for _, nodes in chosen) == 1
    if states and not single:
        raise click.UsageError("--state needs a single node; give its name")
    found = _simulate(chosen, items, each=each or single or any_order, states=states)
    answers = _orders(chosen, items, states) if any_order else []
    diagnostics += _findings(
        found.nodes if settings().verbose else alike(found.nodes, across_classes=False)
    )
    shown = {each.code for each in diagnostics}
    diagnostics += [each for each in traps if each.code not in shown | _OF_WORKLOADS]
    diagnostics = described(project, diagnostics)
    told = found._replace(nodes=_wanted(found))
    names_told = {node.plan.node_class.name for node in told.nodes}
    orders_told = [(name, answer) for name, answer in answers if name in names_told]
    if output_format == "json":
        _print_json(told, orders_told, diagnostics)
    else:
        _print(project, told, orders_told, svg=svg)
        print_diagnostics(diagnostics)
    if rest := _count(found) - _count(told):
        note(f"note: {counted(rest, 'node')} more, excluded by --cluster or --node")
    fine = all(answer.is_proven for _, answer in answers) if any_order else found.is_fine
    return 0 if fine and not errors(diagnostics) else 1


def _wanted(found: "Result") -> "tuple[Simulated, ...]":
    """The nodes that --cluster and --node leave."""
    scope = settings().scope
    if scope is None:
        return found.nodes
    left = []
    for each in found.nodes:
        names = tuple(
            name for name in each.nodes if (each.plan.node_class.cluster, name) in scope.wanted
        )
        left += [each._replace(nodes=names)] if names else []
    return tuple(left)


def _count(found: "Result") -> int:
    return sum(len(each.nodes) for each in found.nodes)


def _read(paths: Sequence[Path]) -> tuple[list["Item"], list[Diagnostic]]:
    """The pods of files and folders, and what is wrong with these."""
    from cpuplan.read import yaml
    from cpuplan.read.files import yaml_files
    from cpuplan.simulate import manifests

    sources, problems = [], []
    for path in paths:
        if not path.exists():
            raise click.UsageError(
                f"no such file or folder: {path}; a node or class must be the first name"
            )
        files, refused = yaml_files(path)
        problems += refused
        for file in files:
            read, found = yaml.read(file, shown_path(file))
            sources += read
            # What YAML readers disagree on (`defaultMode: 0644`, tabs) keeps no pod from being
            # understood.
            problems += [each for each in found if each.code not in ("CP103", "CP104", "CP113")]
    made = manifests.read(sources)
    problems += made.diagnostics
    if not made.items and not errors(problems):
        problems.append(diagnose("CP721", files=", ".join(map(str, paths))))
    return list(made.items), problems


def _workloads(chosen: "Chosen") -> list["Item"]:
    """The pods that the intent of the nodes says there must be room for."""
    from cpuplan.simulate.manifests import Item
    from cpuplan.simulate.workloads import pods_of

    intents = sorted({plan.node_class.intent for plan, _ in chosen})
    pods = pods_of(chosen[0][0]) if len(intents) == 1 else []
    if not pods:
        why = (
            "the nodes have several intents"
            if len(intents) > 1
            else f"intent {intents[0]} has no workloads"
        )
        raise click.UsageError(f"missing file with manifests: {why}")
    return [Item(pod) for pod in pods]


#: Bytes of a state file: with 110 pods they have some 20 kB.
_MAX_STATE = 16 * 1024 * 1024
#: No pod can come where the kubelet does not start.
_NOT_STARTED = {"CP701", "CP702", "CP703"}
#: Of the intent's workloads, which are not the pods at hand.
_OF_WORKLOADS = {"CP708", "CP712", "CP713"}


def _traps(chosen: "Chosen", project: "Project") -> list[Diagnostic]:
    """What goes wrong on these nodes whatever the pods are."""
    from cpuplan.simulate import traps

    return list(
        dict.fromkeys(each for plan, _ in chosen for each in traps.check(plan, project.locate))
    )


def _findings(nodes: "Sequence[Simulated]") -> list[Diagnostic]:
    """What the pods at hand bring about."""
    from cpuplan.render.admission import full_name, names

    diagnostics = []
    for node in nodes:
        if node.overlap:
            pod, cpu, other = node.overlap
            example = f"{pod} gets CPU {cpu}, which {f'{other} has exclusively' if other else 'is reserved'}"
            diagnostics.append(
                diagnose("CP704", hardware=node.plan.node_class.hardware, example=example)
            )
        for again, refused in node.outcome.after_restart:
            who = full_name(again) if again else "its own state file"
            shown = f"{refused.reason}: {refused.message}"
            diagnostics.append(diagnose("CP708", node=names(node.nodes), pod=who, problem=shown))
    return diagnostics


def _state(states: Sequence[Path]) -> "Node":
    from cpuplan.read.files import refusal
    from cpuplan.simulate import admission

    texts = []
    for path in states:
        try:
            texts.append(read_regular(path, limit=_MAX_STATE).decode(errors="replace"))
        except Unreadable as error:
            raise CpuplanError([refusal(shown_path(path), error)]) from None
    return admission.read_state(texts)


def _simulate(
    chosen: "Chosen", items: "Sequence[Item]", *, each: bool, states: Sequence[Path]
) -> "Result":
    from cpuplan.kubelet.errors import HangError, KubeletError, PanicError
    from cpuplan.simulate import fleet

    try:
        return fleet.on_each(chosen, items, _state(states)) if each else fleet.spread(chosen, items)
    except (KubeletError, HangError, PanicError) as error:
        of = chosen[0][0].node_class
        raise CpuplanError(
            [diagnose("CP701", name=of.name, cluster=of.cluster, problem=error)]
        ) from None


def _orders(
    chosen: "Chosen", items: "Sequence[Item]", states: Sequence[Path]
) -> list[tuple[str, "Answer"]]:
    from cpuplan.simulate import admission, orders
    from cpuplan.simulate.planned import planned

    pods = [item.pod for item in items]
    return [
        (
            plan.node_class.name,
            orders.any_order(admission.start(planned(plan), _state(states)), pods),
        )
        for plan, _ in chosen
    ]


def _print(
    project: "Project",
    found: "Result",
    answers: "Sequence[tuple[str, Answer]]",
    *,
    svg: Path | None,
) -> None:
    from cpuplan.render import admission

    colour = use_colour() and not settings().output
    picture = _picture(project, found, svg, colour=colour) if svg or len(found.nodes) == 1 else ""
    texts = [picture, admission.report(found, one_by_one=settings().verbose)]
    for name, answer in answers:
        pods = sum(
            len(node.outcome.outcomes) for node in found.nodes if node.plan.node_class.name == name
        )
        text = admission.order_text(answer, pods)
        texts.append(f"\n{name}: {text}" if len(answers) > 1 else f"\n{text}")
    echo_result("".join(texts), colour=colour)


def _picture(project: "Project", found: "Result", svg: Path | None, *, colour: bool) -> str:
    """The node with its pods, for the terminal; with `svg` it is written there."""
    from cpuplan.render import admission
    from cpuplan.render.map.terminal.draw import draw_text

    if len(found.nodes) != 1:
        raise click.UsageError("--svg needs a single node; give its name")
    node = found.nodes[0]
    drawn = admission.owners_map(
        node, admission.names(node.nodes), project.hardware_of(node.plan.node_class)
    )
    if not svg:
        return draw_text(drawn, colour=colour, width=screen_width()) + "\n"
    from cpuplan.render.map.svg.draw import draw_svg
    from cpuplan.write.files import write_file

    write_file(svg, draw_svg(drawn))
    return ""


def _print_json(
    found: "Result", answers: "Sequence[tuple[str, Answer]]", diagnostics: Sequence[Diagnostic]
) -> None:
    from cpuplan.cli.report import Reporter
    from cpuplan.emit import to_json
    from cpuplan.printable import printable_values
    from cpuplan.render import admission
    from cpuplan.render.diagnostics.report import findings

    data: dict[str, Any] = admission.to_data(found, answers, one_by_one=settings().verbose)
    data["diagnostics"] = findings(Reporter(settings(), diagnostics).report)
    echo_result(to_json(printable_values(data), sort_keys=False))
