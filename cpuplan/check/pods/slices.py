"""The control groups of slices, and those of pods that have CPUs taken away."""

from collections.abc import Iterable

from cpuplan.base.cpuset import CpuSet
from cpuplan.check.pods.tree import Tree
from cpuplan.upstream.kubelet.qossets import ALL_PODS

KEY = "AllowedCPUs"


def cgroup(name: str) -> str:
    """The control group of a slice or scope, below the mount point."""
    return f"{ALL_PODS}/{name}" if name.startswith("kubepods-") else name


def narrowed(tree: Tree, planned: Iterable[str], online: CpuSet) -> list[tuple[str, CpuSet]]:
    """(control group, CPUs) of all pods, or of a QoS class, from which CPUs are taken away.

    Those that the plan limits have their own check.
    """
    limited = {cgroup(name) for name in planned}
    tops = tree.all_pods()
    classes = [path for top in tops for path in tree.below(top) if _is_class(path, top)]
    found = ((path, tree.cpus(path)) for path in (*tops, *classes) if path not in limited)
    return [(path, cpus) for path, cpus in found if cpus and online - cpus]


def _is_class(path: str, top: str) -> bool:
    """Whether a control group is directly below the one of all pods, and not a pod's."""
    above, _, name = path.rpartition("/")
    return above == top and name.removesuffix(".slice").endswith(("burstable", "besteffort"))
