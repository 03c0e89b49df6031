"""Room for the workloads that must fit: the exclusive CPUs of their pods, by their sums."""

from collections.abc import Iterator, Sequence

from cpuplan.base.text import counted, joined
from cpuplan.facts import versions
from cpuplan.facts.settings.kubelet import FEATURE_GATES
from cpuplan.language.model.pools import Workload
from cpuplan.language.read.pods import template_of
from cpuplan.plan import NodeClass
from cpuplan.solve.constraints import Amount, bounded
from cpuplan.solve.layout import Scope
from cpuplan.solve.rules.placement import allowed_scopes
from cpuplan.solve.rules.rule import Rule, Statements, machine
from cpuplan.upstream.kubernetes.kube_features import LATEST, Gates
from cpuplan.upstream.kubernetes.pod import Pod, apply_defaults, read_pod
from cpuplan.upstream.kubernetes.qos import pod_guaranteed_cpus


def pod_of_workload(workload: Workload) -> Pod | None:
    """The pod of the workload's manifest, which must be right; None without a manifest."""
    found = template_of(workload.manifest)
    return read_pod(found[1]) if found else None


def exclusive_cpus(node_class: NodeClass, workload: Workload) -> int:
    """The exclusive CPUs of each pod: of all its containers at once, as the kubelet counts them.

    A pod that is not Guaranteed, or requests no whole CPUs, has none.
    """
    pod = pod_of_workload(workload)
    if pod is None:
        return workload.cpus or 0
    given = node_class.spec.kubelet.configuration.get(FEATURE_GATES.head) or {}
    gates = Gates(given, versions.kubernetes_version(node_class.target) or LATEST)
    return pod_guaranteed_cpus(apply_defaults(pod, gates), gates)


def parts_of_workload(statements: Statements, workload: Workload) -> Sequence[Scope]:
    """The parts of the machine that each have the workload's number of pods."""
    return allowed_scopes(statements, statements.sets[workload.pool], workload.per or "machine")


def workloads_fit(statements: Statements) -> Iterator[Rule]:
    """The isolated pool, and each partition, has the exclusive CPUs of its workloads on one node.

    The sums, of the machine and of the NUMA nodes that have pods of their own, are necessary and
    not sufficient: the place of each container depends on kubelet policies.
    """
    for name in statements.sets:
        indexes, workloads = [], []
        for index, workload in enumerate(statements.node_class.spec.workloads):
            if workload.pool == name or workload.pool.startswith(f"{name}."):
                indexes.append(index)
                workloads.append(workload)
        if workloads:
            words = [_words(statements.node_class, workload) for workload in workloads]
            field = f"workloads.{indexes[0]}" if len(indexes) == 1 else "workloads"
            amounts = _amounts(statements, name, workloads)
            text = f"{joined(words)} must fit into {name}"
            yield statements.rule(name, field, text, *amounts)


def _amounts(statements: Statements, name: str, workloads: Sequence[Workload]) -> Iterator[Amount]:
    """What the machine must have for all pods, and each NUMA node for its own."""
    total = 0
    by_part: dict[Scope, int] = {}
    for workload in workloads:
        wanted = exclusive_cpus(statements.node_class, workload) * workload.pods
        parts = parts_of_workload(statements, workload)
        total += wanted * len(parts)
        if workload.per == "numaNode":
            for part in parts:
                by_part[part] = by_part.get(part, 0) + wanted
    for scope, cpus in ((machine(statements.topology), total), *by_part.items()):
        least = bounded(cpus)
        yield Amount(name, scope, "CPUs", least, max(least, len(scope.cpus)))


def _words(node_class: NodeClass, workload: Workload) -> str:
    cpus = counted(exclusive_cpus(node_class, workload), "CPU")
    each = " per NUMA node" if workload.per == "numaNode" else ""
    if workload.pods == 1 and not each:
        return f"{workload.name} ({cpus})"
    return f"{counted(workload.pods, 'pod')} {workload.name} of {cpus}{each}"
