"""Small machines as the NRI plugins read them, and policies on them."""

from cpuplan.upstream.kubernetes.bits import bits_of, parse_cpus
from cpuplan.upstream.nri.balloons.balloons_policy import Policy
from cpuplan.upstream.nri.balloons.setup import decode
from cpuplan.upstream.nri.pods import Container, Pod, Resources, container
from cpuplan.upstream.nri.system import (
    DATA,
    INSTRUCTION,
    UNIFIED,
    CacheFiles,
    CpuFiles,
    Files,
    NodeFiles,
)


def regular(sockets: int, cores: int, threads: int = 2, caches: int = 1) -> Files:
    """Sockets of one node each; siblings are far apart, `caches` L3 caches in each socket."""
    total = sockets * cores
    cpus, cache_files, node_cpus = [], [], [0] * sockets
    for core in range(total):
        siblings = bits_of(core + thread * total for thread in range(threads))
        socket = core // cores
        node_cpus[socket] |= siblings
        cache_files += [
            CacheFiles(level, kind, core, siblings)
            for level, kind in ((1, DATA), (1, INSTRUCTION), (2, UNIFIED))
        ]
        cpus += [
            CpuFiles(cpu, socket, 0, 65535, core % cores, socket, siblings)
            for cpu in range(core, total * threads, total)
        ]
    width = cores // caches
    for number in range(sockets * caches):
        mine = range(number * width, (number + 1) * width)
        behind = bits_of(core + thread * total for core in mine for thread in range(threads))
        cache_files.append(CacheFiles(3, UNIFIED, number, behind))
    nodes = [
        NodeFiles(node, on, 1 << 34, tuple(10 if node == other else 21 for other in range(sockets)))
        for node, on in enumerate(node_cpus)
    ]
    online = bits_of(range(total * threads))
    return Files(tuple(sorted(cpus)), tuple(cache_files), tuple(nodes), online, online)


def policy(files: Files, spec: str) -> Policy:
    """The balloons policy with a spec, written as a flow mapping without braces."""
    return Policy(files, decode(f"spec: {{{spec}}}"))


def arriving(
    name: str,
    milli: int = 0,
    namespace: str = "default",
    qos: str = "Burstable",
    **annotations: str,
) -> Container:
    """A container of a pod of its own; `balloon=` names the type that it is annotated with."""
    scoped = {f"{key}.balloons.resource-policy.nri.io": text for key, text in annotations.items()}
    pod = Pod(name, namespace, qos, {}, scoped)
    return container(pod, "c", Resources(max(2, milli * 1024 // 1000)))


def isolated(files: Files, cpus: str) -> Files:
    """The machine with kernel-isolated CPUs."""
    return files._replace(isolated=parse_cpus(cpus))
