"""The same pods under several mechanisms, on the same layout.

Pods get what a mechanism wants beside their shape; the class is what would be compiled for it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from cpuplan import backends
from cpuplan.components import checks
from cpuplan.diagnostics import CpuplanError, Diagnostic
from cpuplan.diagnostics.source import Locate
from cpuplan.language.model.base import Model
from cpuplan.plan import ConfiguredPlan, NodeClass, NodePlan
from cpuplan.simulate import fleet, manifests
from cpuplan.simulate.allocators.base import UnfitError
from cpuplan.simulate.dra import claiming
from cpuplan.simulate.fleet import Result, Starter, full_name
from cpuplan.simulate.manifests import Item
from cpuplan.simulate.mechanisms import BALLOONS, DRA, KOORDINATOR, TOPOLOGY_AWARE
from cpuplan.upstream.koordinator.extension import qos
from cpuplan.upstream.koordinator.extension.constants import PRIORITY_CLASS, QOS
from cpuplan.upstream.kubernetes.kube_features import Gates
from cpuplan.upstream.kubernetes.pod import Pod
from cpuplan.upstream.kubernetes.qos import guaranteed_cpus

_GATES = Gates()


def has_own(pod: Pod) -> bool:
    """Whether the static policy gives a container of the pod CPUs of its own."""
    stored = manifests.with_defaults(pod, _GATES)
    return any(guaranteed_cpus(stored, container, _GATES) for container in stored.all_containers)


def adapted(items: Sequence[Item], mechanism: str, plan: NodePlan) -> list[Item]:
    """The pods with what the mechanism wants beside their shape, where they lack it.

    Claims are made for the devices of `plan`.
    """
    adapt = _ADAPT.get(mechanism)
    if adapt is None:
        return list(items)
    return [
        item._replace(pod=adapt(item.pod, plan)) if has_own(item.pod) else item for item in items
    ]


def is_served(pod: Pod, mechanism: str) -> bool:
    """Whether the mechanism gives a container of the pod CPUs of its own, by what it goes by."""
    if mechanism == KOORDINATOR:
        return qos.given_qos(pod) in (qos.LSE, qos.LSR)
    if mechanism == DRA:
        return any(container.claims for container in pod.all_containers)
    return has_own(pod)


def wanted_of_pods(mechanism: str) -> str:
    """What pods with CPUs of their own need beside their shape; empty for nothing."""
    return _WANTED_OF_PODS.get(mechanism, "")


def _claiming(pod: Pod, plan: NodePlan) -> Pod:
    """The pod with claims; one that has claims keeps them."""
    return pod if pod.claims else claiming(plan, manifests.with_defaults(pod, _GATES))


def _labelled(pod: Pod, _plan: NodePlan) -> Pod:
    """The pod of class LSE; one that has a class keeps it."""
    if pod.labels.get(QOS):
        return pod
    return pod._replace(labels={PRIORITY_CLASS: qos.PROD, **pod.labels, QOS: qos.LSE})


_ADAPT: Mapping[str, Callable[[Pod, NodePlan], Pod]] = MappingProxyType(
    {KOORDINATOR: _labelled, DRA: _claiming}
)
_WANTED_OF_PODS: Mapping[str, str] = MappingProxyType(
    {
        KOORDINATOR: f"the labels {QOS}: {qos.LSE} and {PRIORITY_CLASS}: {qos.PROD}",
        DRA: "resource claims",
    }
)


#: What only the kubelet's CPU manager reads: options that its policy none refuses, too.
_OF_CPU_MANAGER = ("cpu_manager_policy", "cpu_manager_policy_options")

#: Fields of the target and the spec that are for one mechanism only.
_OF_MECHANISMS = ("koordinator", "dra")
_OF_NRI_POLICIES = ("reserved_namespaces",)

_M = TypeVar("_M", bound=Model)


def under_mechanism(plan: ConfiguredPlan, mechanism: str) -> ConfiguredPlan:
    """The class with `mechanism` in its target; itself if it has that one.

    What an intent says of the kubelet's CPU manager is for the mechanism that it names: under any
    other the defaults are taken.
    """
    node_class = plan.node_class
    if node_class.target.mechanism == mechanism:
        return plan
    other = _saying(node_class, mechanism)
    return backends.configure(NodePlan(other, plan.pools, plan.sets))


def _saying(node_class: NodeClass, mechanism: str) -> NodeClass:
    """The same nodes with another mechanism in their target."""
    given, spec = node_class.target, node_class.spec
    foreign = tuple(name for name in _OF_MECHANISMS if name != mechanism)
    if mechanism not in (BALLOONS, TOPOLOGY_AWARE):
        foreign += _OF_NRI_POLICIES
    target = _without(given, foreign).model_copy(update={"mechanism": mechanism})
    changed = {
        "targets": tuple(target if known == given else known for known in spec.targets),
        "kubelet": _without(spec.kubelet, _OF_CPU_MANAGER),
    }
    other = copy(node_class.saying(_without(spec, foreign).model_copy(update=changed)))
    other.target = target
    return other


def _without(model: _M, names: tuple[str, ...]) -> _M:
    """A mapping without some of its keys: each has its default again."""
    written = model.model_fields_set - set(names)
    values = {name: getattr(model, name) for name in written}
    return type(model).model_construct(_fields_set=set(written), **values)


def problems_of(plan: ConfiguredPlan, locate: Locate) -> list[Diagnostic]:
    """What its mechanism cannot keep of the intent, or does not start with, and all else."""
    return [*checks.check(plan, locate), *backends.check(plan, locate)]


Chosen = Sequence[tuple[ConfiguredPlan, Sequence[str]]]


class Under(NamedTuple):
    """What a mechanism makes of the pods, and what it cannot keep of the intents."""

    mechanism: str
    #: None where the mechanism does not start on a node; `problems` say why.
    result: Result | None
    problems: tuple[Diagnostic, ...]
    #: Whether the nodes have it: nothing was changed for it.
    is_planned: bool
    #: Pods that have CPUs of their own under the static policy, and here none.
    losing: tuple[str, ...] = ()


#: The pods for these plans: those of files, or of the workloads of their intents.
Pods = Callable[[Sequence[ConfiguredPlan]], Sequence[Item]]


class _Wanted(NamedTuple):
    pods: Pods
    start: Starter
    locate: Locate
    adapt: bool
    #: What is said of each plan as it is.
    known: Sequence[frozenset[Diagnostic]]


def compare(
    chosen: Chosen,
    pods: Pods,
    mechanisms: Iterable[str],
    start: Starter,
    locate: Locate,
    *,
    adapt: bool = False,
) -> list[Under]:
    """All pods on the nodes of each class, under each mechanism in turn.

    With `adapt`, pods first get what a mechanism wants beside their shape: labels, claims.
    """
    # What is said of the plans as they are comes from something else than the mechanism.
    known = [frozenset(problems_of(plan, locate)) for plan, _ in chosen]
    wanted = _Wanted(pods, start, locate, adapt, known)
    return [_under(chosen, wanted, mechanism) for mechanism in mechanisms]


def _losing(items: Iterable[Item], result: Result | None) -> Iterator[str]:
    """Pods of a shape for CPUs of their own that run on shared ones somewhere."""
    by_shape = {full_name(item.pod) for item in items if has_own(item.pod)}
    for node in result.nodes if result else ():
        for outcome in node.outcome.outcomes:
            name = full_name(outcome.pod)
            shares = not any(container.is_exclusive for container in outcome.containers)
            if name in by_shape and shares and not outcome.refused:
                by_shape.discard(name)
                yield name


def _under(chosen: Chosen, wanted: _Wanted, mechanism: str) -> Under:
    others = [(under_mechanism(plan, mechanism), names) for plan, names in chosen]
    plans = [plan for plan, _ in others]
    wrong: list[Diagnostic] = []
    for (plan, _), other, known in zip(chosen, plans, wanted.known, strict=True):
        problems = problems_of(other, wanted.locate) if other is not plan else []
        wrong += (problem for problem in problems if problem not in known)
    items = wanted.pods(plans)
    given = adapted(items, mechanism, plans[0]) if wanted.adapt and plans else items
    result, refused = _result(others, given, wanted.start)
    return Under(
        mechanism,
        result,
        tuple(dict.fromkeys([*wrong, *refused])),
        is_planned=all(plan is other for (plan, _), other in zip(chosen, plans, strict=True)),
        losing=tuple(_losing(items, result)),
    )


def _result(
    chosen: Chosen, items: Sequence[Item], start: Starter
) -> tuple[Result | None, Sequence[Diagnostic]]:
    """What becomes of the pods; without it, why a node does not start.

    On a single node they come in order, on several as `simulate` gives pods to a fleet.
    """
    try:
        if fleet.is_single(chosen):
            return fleet.on_each(chosen, items, start), ()
        return fleet.spread(chosen, items, start), ()
    except CpuplanError as error:
        return None, error.diagnostics
    except UnfitError:
        return None, ()
