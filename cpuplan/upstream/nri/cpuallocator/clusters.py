"""Taking whole clusters, on hybrid machines only (takeIdleClusters)."""

from collections import Counter
from functools import cmp_to_key

from cpuplan.upstream.nri.cpuallocator.groups import Cluster
from cpuplan.upstream.nri.cpuallocator.request import Request


def take_idle_clusters(request: Request) -> None:
    """The best single fit if it is exact, else whole clusters as long as they fit.

    Nothing is taken when the first cluster is larger than the request.
    """
    if len(request.topology.clusters) <= 1:
        return
    offline = request.topology.system.offline
    idle: list[tuple[Cluster, int]] = []
    for cluster in request.topology.clusters:
        cpus = cluster.cpus & ~offline
        if request.accepts(cluster.kind) and cpus and not cpus & ~request.free:
            idle.append((cluster, cpus))
    for _, cpus in _sorted(idle, request.count):
        if request.count < cpus.bit_count():
            return
        request.take(cpus)
        if not request.count:
            return


def _sorted(idle: list[tuple[Cluster, int]], count: int) -> list[tuple[Cluster, int]]:
    """Tightest first: clusters that hold the request, then those of such dies, then packages."""
    on_package: Counter[int] = Counter()
    on_die: Counter[tuple[int, int]] = Counter()
    for cluster, cpus in idle:
        on_package[cluster.package] += cpus.bit_count()
        on_die[cluster.package, cluster.die] += cpus.bit_count()

    def sizes(entry: tuple[Cluster, int]) -> tuple[int, int, int]:
        cluster, cpus = entry
        die = on_die[cluster.package, cluster.die]
        return cpus.bit_count(), die, on_package[cluster.package]

    def compare(left: tuple[Cluster, int], right: tuple[Cluster, int]) -> int:
        for mine, theirs in zip(sizes(left), sizes(right), strict=True):
            if mine >= count and theirs >= count:
                return mine - theirs or _order(left[0], right[0])
            if mine >= count or theirs >= count:
                return -1 if mine >= count else 1
        return 0

    return sorted(idle, key=cmp_to_key(compare))


def _order(cluster: Cluster, rival: Cluster) -> int:
    mine = (cluster.package, cluster.die, cluster.cluster)
    theirs = (rival.package, rival.die, rival.cluster)
    return (mine > theirs) - (mine < theirs)
