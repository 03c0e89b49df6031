"""The pods of an intent's workloads: their exclusive CPUs, and the parts that have them."""

from collections.abc import Sequence

from cpuplan.language.model.workloads import Workload
from cpuplan.language.read.pods import template_of
from cpuplan.plan import NodeClass
from cpuplan.platforms import versions
from cpuplan.solve.layout import Scope
from cpuplan.solve.rules.parts import allowed_scopes
from cpuplan.solve.rules.rule import Statements
from cpuplan.upstream.kubernetes.kube_features import LATEST, Gates
from cpuplan.upstream.kubernetes.pod import Pod, apply_defaults, read_pod
from cpuplan.upstream.kubernetes.qos import pod_guaranteed_cpus


def pod_of(workload: Workload) -> Pod | None:
    """The pod of the workload's manifest, which must be right; None without a manifest."""
    found = template_of(workload.manifest)
    return read_pod(found[1]) if found else None


def exclusive_cpus(node_class: NodeClass, workload: Workload) -> int:
    """The exclusive CPUs of each pod: of all its containers at once, as the kubelet counts them.

    A pod that is not Guaranteed, or requests no whole CPUs, has none.
    """
    pod = pod_of(workload)
    if pod is None:
        return workload.cpus or 0
    given = node_class.spec.kubelet.configuration.get("featureGates") or {}
    gates = Gates(given, versions.kubernetes_version(node_class.target) or LATEST)
    return pod_guaranteed_cpus(apply_defaults(pod, gates), gates)


def parts(statements: Statements, workload: Workload) -> Sequence[Scope]:
    """The parts of the machine that each have the workload's number of pods."""
    return allowed_scopes(statements, statements.sets[workload.pool], workload.per or "machine")
