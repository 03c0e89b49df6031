"""What `simulate` does: nodes that start, pods that come, and what a reader is told of it."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import click

from cpuplan.base.files import Unreadable, read_regular
from cpuplan.base.progress import stage
from cpuplan.base.text import joined
from cpuplan.cli.output import settings, shown_path
from cpuplan.diagnostics import CpuplanError, Diagnostic, diagnose, errors
from cpuplan.language.read.files import refusal
from cpuplan.language.read.manifests import read_files
from cpuplan.pipeline import Project, described
from cpuplan.plan import ConfiguredPlan
from cpuplan.simulate import admission, findings, fleet, lifetimes, manifests, unheeded, unread
from cpuplan.simulate.admission import Answer, UnknownPodError
from cpuplan.simulate.allocators import BOTH, KOORDINATOR, KUBELET, PLANNED
from cpuplan.simulate.allocators.base import UnfitError
from cpuplan.simulate.allocators.registry import ALLOCATORS, SCHEDULERS, start_kubelet
from cpuplan.simulate.apiserver import Surroundings
from cpuplan.simulate.fleet import Result, Simulated, Starter, groups_of_nodes
from cpuplan.simulate.manifests import Item
from cpuplan.simulate.planned import planned, with_recorded_memory
from cpuplan.simulate.workloads import pods_of
from cpuplan.upstream.kubelet.kubelet import Node
from cpuplan.upstream.kubelet.sysinfo import assumes_memory
from cpuplan.upstream.kubernetes import quantity
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.quantity import Quantity
from cpuplan.workers import HERE, Workers


class Given(NamedTuple):
    """The pods to simulate, what is wrong with their files, and what these say of the clusters."""

    items: list[Item]
    diagnostics: list[Diagnostic]
    around: Surroundings = Surroundings()


#: Bytes of a state file: with 110 pods they have some 20 kB.
_MAX_STATE = 16 * 1024 * 1024


def read_pods(paths: Sequence[Path], *, with_claims: bool = False) -> Given:
    """The pods of files and folders, and what is wrong with these."""
    for path in paths:
        if not path.exists():
            raise click.UsageError(
                f"no such file or folder: {path}; a node or class must be the first name"
            )
    sources, problems = read_files(paths, shown_path)
    made = manifests.read(sources, with_claims=with_claims)
    problems += made.diagnostics
    if not made.items and not errors(problems):
        problems.append(diagnose("CP721", files=", ".join(map(str, paths))))
    return Given(list(made.items), problems, made.around)


def pods_of_workloads(plans: Sequence[ConfiguredPlan]) -> list[Item]:
    """The pods that the intent of the nodes says there must be room for."""
    intents = sorted({plan.node_class.intent for plan in plans})
    pods = pods_of(plans[0]) if len(intents) == 1 else []
    if pods:
        return [Item(pod) for pod in pods]
    several = len(intents) > 1
    why = "the nodes have several intents" if several else f"intent {intents[0]} has no workloads"
    raise click.UsageError(f"missing file with manifests: {why}")


def read_state(paths: Sequence[Path]) -> Node:
    """The state of a kubelet that ran before."""
    texts = []
    for path in paths:
        try:
            texts.append(read_regular(path, limit=_MAX_STATE).decode(errors="replace"))
        except Unreadable as error:
            raise CpuplanError([refusal(shown_path(path), error)]) from None
    return admission.read_state(texts)


def read_resources(texts: Iterable[str]) -> dict[str, Quantity]:
    """Amounts of the form `NAME=AMOUNT`. Raises UsageError for what is not one."""
    amounts = {}
    for text in texts:
        name, _, amount = text.partition("=")
        try:
            if not name:
                raise KubeletError("no name")
            amounts[name] = quantity.parse(amount)
        except KubeletError:
            problem = f"--resource is {text!r}; use NAME=AMOUNT, such as ephemeral-storage=100Gi"
            raise click.UsageError(problem) from None
    return amounts


def has_others(diagnostics: Iterable[Diagnostic]) -> bool:
    """Whether the files have objects whose pods were not simulated."""
    return any(diagnostic.code == manifests.NOT_SIMULATED for diagnostic in diagnostics)


#: The exit code where it is not known that all is fine: the limit of work was reached, or objects
#: were not simulated.
UNPROVEN = 6

Chosen = Sequence[tuple[ConfiguredPlan, tuple[str, ...]]]


class Wanted(NamedTuple):
    """What the options ask for."""

    on_each_node: bool
    any_order: bool
    policy: str
    scheduler: str
    ending: tuple[str, ...]
    #: Mechanisms to put side by side, and whether pods get what each wants.
    beside: str | None = None
    adapt: bool = False


class Run(NamedTuple):
    """One simulation: the nodes, their pods, and how each node starts."""

    project: Project
    chosen: Chosen
    items: Sequence[Item]
    wanted: Wanted
    start: Starter
    #: Who starts the nodes of classes that do not depend on each other.
    workers: Workers = HERE

    @property
    def plans(self) -> list[ConfiguredPlan]:
        return [plan for plan, _ in self.chosen]


class Outcome(NamedTuple):
    """What became of the pods; in every order by class, and beside the kubelet, where asked for."""

    result: Result
    orders: Sequence[tuple[str, Answer]]
    diagnostics: Sequence[Diagnostic]
    other: Result | None
    #: Resources whose NUMA nodes are not known, and that decide about pods.
    unaligned: Sequence[str] = ()
    #: What kubelets do that has no port, in words; empty without any.
    unread: str = ""

    @property
    def unproven(self) -> str:
        """Why no order of arrival is proven, whatever was tried; empty where it may be."""
        if has_others(self.diagnostics):
            return "some objects are not simulated; without their pods"
        if self.unaligned:
            return f"the NUMA nodes of {joined(self.unaligned)} are not known; without their hints"
        return f"{self.unread} is not simulated; without it" if self.unread else ""

    @property
    def exit_code(self) -> int:
        """1 where something is refused or wrong; where nothing is, 6 without a proof."""
        refuses = self.result.refuses and not self.orders
        if refuses or errors(self.diagnostics) or any(answer.refused for _, answer in self.orders):
            return 1
        proven = [answer.is_proven for _, answer in self.orders]
        is_known = self.result.is_complete and not has_others(self.diagnostics)
        is_proven = all(proven) and not (proven and (self.unaligned or self.unread))
        return 0 if is_known and is_proven else UNPROVEN

    def shown(self) -> "Outcome":
        """Of this what --cluster and --node leave."""
        result = self.result._replace(nodes=_left(self.result))
        classes = {node.plan.node_class.name for node in result.nodes}
        return self._replace(
            result=result,
            orders=[(name, answer) for name, answer in self.orders if name in classes],
            other=self.other and self.other._replace(nodes=_left(self.other)),
        )


def starter(
    chosen: Chosen,
    wanted: Wanted,
    states: tuple[Path, ...],
    amounts: tuple[str, ...],
    around: Surroundings,
) -> Starter:
    """How each node starts; UsageError for options that do not go together."""
    for option, value in (("--state", states), ("--end", wanted.ending)):
        if value and not fleet.is_single(chosen):
            raise click.UsageError(f"{option} needs a single node; give its name")
    resources = read_resources(amounts)
    if wanted.policy != KUBELET and wanted.scheduler != PLANNED:
        raise click.UsageError("--policy and --scheduler exclude each other")
    is_planned = wanted.scheduler == PLANNED
    start = ALLOCATORS[wanted.policy].start if is_planned else SCHEDULERS[wanted.scheduler]
    return Starter(start, read_state(states), resources, settings().time_limit, around)


@stage("judging pods")
def outcome_of(run: Run, given: Sequence[Diagnostic], traps: Sequence[Diagnostic]) -> Outcome:
    """What becomes of the pods, and all that is wrong."""
    wanted = run.wanted
    result = _simulate(run, run.start)
    answers = _orders(run) if wanted.any_order else []
    diagnostics = [*given, *findings.check_sharing(run.plans, run.items, run.start.around)]
    diagnostics += unheeded.check(run.plans, run.items, run.start.around)
    diagnostics += findings.check_hooks(run.plans, run.items)
    if wanted.scheduler == PLANNED:
        diagnostics += findings.of_claims(run.plans, run.items)
    if wanted.scheduler in (KOORDINATOR, BOTH):
        from cpuplan.simulate.files import koordinator

        diagnostics += koordinator.of_pods(run.items, run.plans)
    is_planned = wanted.policy == KUBELET and wanted.scheduler == PLANNED
    problems = _diagnostics(run.project, result, diagnostics, traps if is_planned else [])
    is_other = wanted.scheduler == BOTH
    other = _simulate(run, run.start._replace(start=start_kubelet)) if is_other else None
    unaligned = findings.unaligned(run.plans, [item.pod for item in run.items])
    return Outcome(result, answers, problems, other, unaligned, unread.reason(run.plans))


def remarks(run: Run) -> Iterator[str]:
    """What a reader of the answers must know."""
    yield from findings.notes(run.plans, [item.pod for item in run.items], run.start.resources)
    yield from unheeded.notes(run.plans, run.items, run.start.around)
    yield from unread.notes(run.plans)
    yield from lifetimes.notes(run.plans, [item.pod for item in run.items])
    state = run.start.state.memory_state
    for plan in run.plans if state else ():
        is_assumed = assumes_memory(plan.topology)
        _, changed = with_recorded_memory(planned(plan), state, is_assumed=is_assumed)
        if changed:
            yield (
                f"the memory is that of the state file, {changed}: after a boot with other memory "
                "the kubelet does not start with this file, so delete it before a reboot"
            )
    of_scheduler = findings.note_of_scheduler(run.plans) if run.wanted.scheduler != PLANNED else ""
    yield from filter(None, (ALLOCATORS[run.wanted.policy].note, of_scheduler))


def _simulate(run: Run, start: Starter) -> Result:
    wanted = run.wanted
    try:
        if wanted.on_each_node or wanted.any_order or fleet.is_single(run.chosen):
            return fleet.on_each(run.chosen, run.items, start, wanted.ending, run.workers)
        return fleet.spread(run.chosen, run.items, start)
    except UnknownPodError as error:
        raise click.UsageError(f"--end {error}: there is no such pod on the node") from None
    except UnfitError as error:
        raise click.UsageError(f"--policy or --scheduler does not fit the plan: {error}") from None


def _orders(run: Run) -> list[tuple[str, Answer]]:
    answers = fleet.any_order_on_each(run.plans, run.items, run.start, run.workers)
    names = (plan.node_class.name for plan in run.plans)
    return list(zip(names, answers, strict=True))


def _diagnostics(
    project: Project, result: Result, given: Sequence[Diagnostic], traps: Sequence[Diagnostic]
) -> list[Diagnostic]:
    """What the manifests and the pods bring about; and the traps whose codes are not among that."""
    nodes = result.nodes
    if not settings().verbose:
        nodes = groups_of_nodes(nodes, across_classes=False)
    shown = [*given, *findings.of_pods(nodes)]
    codes = {finding.code for finding in shown}
    return described(project, [*shown, *(trap for trap in traps if trap.code not in codes)])


def _left(result: Result) -> tuple[Simulated, ...]:
    """The nodes that --cluster and --node leave."""
    scope = settings().scope
    if scope is None:
        return result.nodes
    left = []
    for node in result.nodes:
        cluster = node.plan.node_class.cluster
        names = tuple(name for name in node.nodes if (cluster, name) in scope.wanted)
        if names:
            left.append(node._replace(nodes=names))
    return tuple(left)
