"""What `verify` of intents cannot be: CP670 to CP672."""

import re
from collections.abc import Container, Iterator, Sequence

from cpuplan.backends.verify import arrival, states
from cpuplan.diagnostics import Diagnostic, Label, diagnose
from cpuplan.model.verify import Verify
from cpuplan.plan import ConfiguredPlan, NodePlan
from cpuplan.source import Locate, Position

#: Namespaces of the cluster itself.
_OF_THE_CLUSTER = re.compile(r"default|(kube|openshift)(-.*)?")
#: Fields of `verify` that the one Job of a cluster has from its intents.
_OF_THE_JOB = {"image": "image", "namespace": "namespace", "waitFor": "wait_for"}


def check_cluster(plans: Sequence[ConfiguredPlan], locate: Locate) -> Iterator[Diagnostic]:
    """CP670 and CP671, for all classes of a cluster; each intent once."""
    shared = {name for plan in plans for name in plan.spec.runtime.shared_namespaces}
    of_intents = {plan.node_class.intent: plan for plan in plans}
    for plan in of_intents.values():
        yield from _namespace(plan, shared, locate)
    yield from _jobs(arrival.asking(list(of_intents.values())), locate)


def _namespace(plan: NodePlan, shared: Container[str], locate: Locate) -> Iterator[Diagnostic]:
    """CP671 for a namespace that is somebody else's."""
    verify = plan.spec.verify
    if verify is None:
        return
    name = verify.namespace
    if _OF_THE_CLUSTER.fullmatch(name):
        problem = "is one of the cluster itself"
    elif name in shared:
        problem = "is among runtime.sharedNamespaces, whose pods share CPUs"
    else:
        return
    yield diagnose("CP671", _place(plan, "namespace", locate), namespace=name, problem=problem)


def check_size(plan: NodePlan, state: str, locate: Locate) -> Iterator[Diagnostic]:
    """CP672 for an expected state that no ConfigMap has room for."""
    size = len(state.encode())
    if size > states.MOST:
        yield diagnose(
            "CP672",
            locate(plan.node_class.place("verify")),
            name=plan.node_class.name,
            size=f"{-(-size // 10_000) * 10:,}",
            limit=f"{states.MOST // 1000:,}",
        )


def _jobs(asking: Sequence[tuple[NodePlan, Verify]], locate: Locate) -> Iterator[Diagnostic]:
    """CP670 where intents of a cluster want different Jobs: it has one."""
    for plan, verify in asking[1:]:
        first, of_first = asking[0]
        for key, field in _OF_THE_JOB.items():
            mine, other = getattr(verify, field), getattr(of_first, field)
            if mine != other:
                position = _place(first, key, locate)
                text = f"intent {first.node_class.intent}"
                yield diagnose(
                    "CP670",
                    _place(plan, key, locate),
                    labels=[Label(position, text)] if position else [],
                    cluster=plan.node_class.cluster,
                    key=key,
                    mine=mine,
                    other=other,
                    first=first.node_class.intent,
                )


def _place(plan: NodePlan, key: str, locate: Locate) -> Position | None:
    """The field of `verify`; the whole where only the default says so."""
    place = plan.node_class.place
    return locate(place(f"verify.{key}")) or locate(place("verify"))
