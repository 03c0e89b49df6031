"""`cpuplan simulate`: what the kubelets of planned nodes would do with pods."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cpuplan.base.progress import stage
from cpuplan.base.text import counted
from cpuplan.cli.output import (
    echo_result,
    filter_options,
    note,
    print_diagnostics,
    print_remarks,
    result_options,
    screen_width,
    settings,
    time_limit_option,
    use_colour,
    work_options,
)
from cpuplan.cli.recorded import answered
from cpuplan.diagnostics import errors
from cpuplan.simulate.allocators import KUBELET, PLANNED, POLICIES, SCHEDULING

if TYPE_CHECKING:
    from cpuplan.cli.simulation import Chosen, GivenPods, Outcome, Run, Wanted
    from cpuplan.pipeline import Project
    from cpuplan.simulate.fleet import Result


@click.command()
@click.argument("names", nargs=-1, required=True, metavar="[NODE|CLASS] [FILE...]")
@click.option(
    "--each",
    "on_each_node",
    is_flag=True,
    help="Give all pods to every node. A single node always gets all pods.",
)
@click.option(
    "--any-order",
    is_flag=True,
    help="Prove that the pods fit in every order of arrival on each node, or show an order "
    "that fails.",
)
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Start from this cpu_manager_state or memory_manager_state; repeat the option to give "
    "both. "
    "Needs a single node.",
)
@click.option(
    "--end",
    "ending",
    multiple=True,
    metavar="POD",
    help="Remove this pod, NAMESPACE/NAME or the UID in a state file, after all pods have arrived; "
    "may be repeated. Needs a single node.",
)
@click.option(
    "--resource",
    "amounts",
    multiple=True,
    metavar="NAME=AMOUNT",
    help="What each node can allocate of a resource that the inventory does not contain, such as "
    "ephemeral-storage=100Gi, or devices by NUMA node, such as example.com/nic=2@0,2@1; may be "
    "repeated. Others are not checked.",
)
@click.option(
    "--policy",
    type=click.Choice(POLICIES),
    default=KUBELET,
    show_default=True,
    help="Who gives out CPUs: the kubelet as planned (with mechanism balloons or topology-aware "
    "that NRI policy, with dra the DRA CPU driver), or cpuplan's own dynamic policy, which moves "
    "exclusive CPUs of running containers to make room. No kubelet has the dynamic policy.",
)
@click.option(
    "--scheduler",
    type=click.Choice(SCHEDULING),
    default=PLANNED,
    show_default=True,
    help="Who binds pods to nodes: what is planned, or koord-scheduler, which gives CPUs to LSE "
    "and LSR pods. both: also the kubelet alone, side by side with Koordinator. topology-aware: a "
    "scheduler with NodeResourceTopologyMatch, which sends pods to the best node.",
)
@click.option(
    "--with",
    "beside",
    metavar="MECHANISM,...",
    help="Put mechanisms side by side on the same layout: kubelet, dra, balloons, topology-aware, "
    "koordinator, or all. Where each pod runs, what is left, what a mechanism cannot keep, and "
    "what it promises.",
)
@click.option(
    "--adapt",
    is_flag=True,
    help="With --with: give pods that have CPUs of their own under the static policy what other "
    "mechanisms want beside their shape, such as labels or claims.",
)
@click.option(
    "--svg",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the picture to this SVG file.",
)
@result_options
@filter_options
@work_options
@time_limit_option
def command(
    names: tuple[str, ...],
    states: tuple[Path, ...],
    amounts: tuple[str, ...],
    ending: tuple[str, ...],
    svg: Path | None,
    output_format: str,
    **flags: Any,
) -> int:
    """Admit the pods of FILES, in their order, as the kubelets of the planned nodes would.

    FILES contain Pods, Deployments, StatefulSets, DaemonSets, Jobs and Lists of them, with as many
    pods as they have replicas. The first name can be a node, a class of nodes, or cluster/name of
    either; without it, the whole fleet is simulated. Without FILES, the pods are those of the
    intent's workloads.

    Of schedulers only the filter of resources is simulated, of koord-scheduler how it gives out
    CPUs, and with topology-aware the plugin: selectors, taints and affinities are ignored. On a
    single node, all pods arrive in order.
    On several nodes, each node gets its own pod of every DaemonSet, and any other pod goes to the
    first node, in the order of their names, that admits it, or the one that topology-aware ranks
    highest; with --each, every node gets all pods.

    With --with, the layout stays as it is, and each mechanism gets the pods in turn. Other files
    than out/ would then be compiled, and none is written here.

    Exit code 0: all pods are admitted (with --any-order, in every order; with --with, under every
    mechanism); 1: a pod is refused, in some order; 6: no pod is refused, but not all was
    simulated: --time-limit was reached, or FILES have objects whose pods are not known.
    """

    def work() -> int:
        from cpuplan.cli.simulation import Wanted

        return _simulate(names, states, amounts, svg, output_format, Wanted(ending=ending, **flags))

    return answered(work, (*names, *states)) if svg is None else work()


def _simulate(
    names: tuple[str, ...],
    states: tuple[Path, ...],
    amounts: tuple[str, ...],
    svg: Path | None,
    output_format: str,
    wanted: "Wanted",
) -> int:
    """Simulate what the command line says, and print what became of it."""
    from cpuplan.cli import simulation
    from cpuplan.cli.nodes import find_nodes, load_plan
    from cpuplan.cli.workers import workers
    from cpuplan.simulate import apiserver, findings
    from cpuplan.solve import budget

    loaded = load_plan(settings().root)
    if loaded is None:
        return 1
    project, plan = loaded
    first, files = (names[0], names[1:]) if not Path(names[0]).exists() else (None, names)
    chosen = find_nodes(plan, first, project)
    items, diagnostics, around = _items(chosen, [Path(name) for name in files], wanted)
    around = around._replace(planned=apiserver.classes_of(plan.nodes))
    with budget.limited(settings().time_limit):
        traps = findings.of_plans([plan for plan, _ in chosen], project.locate)
    diagnostics += [trap for trap in traps if trap.code in findings.NOT_STARTED]
    if errors(diagnostics):
        print_diagnostics(diagnostics)
        return 1
    start = simulation.starter(chosen, wanted, states, amounts, around)
    run = simulation.Run(project, chosen, items, wanted, start)
    if wanted.beside is not None or wanted.adapt:
        from cpuplan.cli import mechanisms

        code = mechanisms.run(run, svg, output_format, of_workloads=not files)
        if output_format != "json":
            print_diagnostics(diagnostics)
        elif simulation.has_others(diagnostics):
            note("note: the files have objects that are not simulated, so nothing is proven")
        return code or (simulation.UNPROVEN if simulation.has_others(diagnostics) else 0)
    with workers() as who:
        outcome = simulation.outcome_of(run._replace(workers=who), diagnostics, traps)
    _report(run, outcome, svg, output_format)
    return outcome.exit_code


def _report(run: "Run", outcome: "Outcome", svg: Path | None, output_format: str) -> None:
    """Print what became of the pods on the nodes that --cluster and --node leave."""
    from cpuplan.cli.simulation import remarks
    from cpuplan.simulate.fleet import number_of_nodes

    shown = outcome.shown()
    if output_format == "json":
        _print_json(shown, run.wanted.policy)
    else:
        _print(run.project, shown, svg=svg)
        print_diagnostics(shown.diagnostics)
    if rest := number_of_nodes(outcome.result.nodes) - number_of_nodes(shown.result.nodes):
        note(f"note: {counted(rest, 'node')} more, excluded by --cluster or --node")
    print_remarks(remarks(run))


def _items(chosen: "Chosen", files: Sequence[Path], wanted: "Wanted") -> "GivenPods":
    """The pods of the files; without any, those of the workloads."""
    from cpuplan.cli import simulation

    if files:
        has_claims = any(plan.node_class.target.has_dra for plan, _ in chosen)
        if wanted.beside is not None:
            from cpuplan.cli import mechanisms

            has_claims = has_claims or mechanisms.has_claims(wanted.beside)
        return simulation.read_pods(files, with_claims=has_claims)
    return simulation.GivenPods(simulation.pods_of_workloads([plan for plan, _ in chosen]), [])


def _print(project: "Project", shown: "Outcome", *, svg: Path | None) -> None:
    from cpuplan.render.simulation import text

    result, answers = shown.result, shown.orders
    colour = use_colour() and not settings().output
    drawn = svg or len(result.nodes) == 1
    picture = _picture(project, result, svg, colour=colour) if drawn else ""
    with stage("summing up"):
        texts = [picture, text.report(result, one_by_one=settings().verbose)]
    for name, answer in answers:
        pods = sum(
            len(node.outcome.outcomes) for node in result.nodes if node.plan.node_class.name == name
        )
        title = f"{name}: " if len(answers) > 1 else ""
        texts.append(f"\n{title}{text.order_text(answer, pods, shown.unproven)}")
    if shown.other:
        from cpuplan.render.simulation import mechanisms

        texts.append(mechanisms.koordinator_text(shown.other, result))
    echo_result("".join(texts), colour=colour)


def _picture(project: "Project", result: "Result", svg: Path | None, *, colour: bool) -> str:
    """The node with its pods, for the terminal; with `svg` it is written there."""
    from cpuplan.render.map.terminal import draw_text
    from cpuplan.render.simulation.text import owners_map
    from cpuplan.simulate.fleet import listed_names

    if len(result.nodes) != 1:
        raise click.UsageError("--svg needs a single node; give its name")
    (node,) = result.nodes
    drawn = owners_map(node, listed_names(node.nodes), project.hardware_of(node.plan.node_class))
    if not svg:
        return draw_text(drawn, colour=colour, width=screen_width()) + "\n"
    from cpuplan.render.map.svg import draw_svg
    from cpuplan.write.files import write_file

    write_file(svg, draw_svg(drawn))
    return ""


def _print_json(shown: "Outcome", policy: str) -> None:
    from cpuplan.base.emit import to_json
    from cpuplan.base.text import printable_values
    from cpuplan.cli import simulation
    from cpuplan.cli.report import Reporter
    from cpuplan.render.diagnostics.json import findings
    from cpuplan.render.simulation.data import to_data

    data: dict[str, Any] = to_data(
        shown.result, shown.orders, policy=policy, one_by_one=settings().verbose
    )
    if simulation.has_others(shown.diagnostics):
        data["complete"] = False
    for order in data["orders"] if shown.unproven else ():
        order["proven"] = False
    if shown.other:
        data["kubelet"] = to_data(shown.other)["nodes"]
    data["diagnostics"] = findings(Reporter(settings(), shown.diagnostics).report)
    echo_result(to_json(printable_values(data), sort_keys=False))
