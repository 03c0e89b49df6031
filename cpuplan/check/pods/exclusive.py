"""The steps about CPUs that somebody has alone: containers with their quotas, and partitions.

Containers are compared with the kubelet's state file and with what its policies promise: whole
cores, few NUMA nodes.
"""

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from cpuplan.base.cpuset import CpuSet, cpus_text, union
from cpuplan.base.text import at_most
from cpuplan.base.topology import Topology
from cpuplan.check.pods import container_cpus
from cpuplan.check.pods.cgroups import MOUNT, PARTITION_FILE, Quota, Tree, above, troubles
from cpuplan.check.pods.container_cpus import (
    Assigned,
    Lost,
    Misplaced,
    Pair,
    View,
    cpuset,
    state_file,
    view,
)
from cpuplan.check.roots.root import Root
from cpuplan.check.subject import Subject
from cpuplan.check.threads.tasks import cpu_list
from cpuplan.components import derived, kubelet
from cpuplan.components.host import partitions as component
from cpuplan.components.koordinator import node
from cpuplan.facts.settings.crio import INFRA_CTR_CPUSET
from cpuplan.facts.settings.kubelet import (
    CPU_MANAGER_OPTIONS,
    CPU_MANAGER_POLICY,
    TOPOLOGY_MANAGER_POLICY,
    TOPOLOGY_MANAGER_SCOPE,
)
from cpuplan.facts.settings.openshift import PLATFORM_CPUS
from cpuplan.plan.expected.evidence import Answer, Heals
from cpuplan.plan.setting import Setting, Value

SINGLE, RESTRICTED, BY_POD = "single-numa-node", "restricted", "pod"
_OPTIONS = CPU_MANAGER_OPTIONS.head


class Promise(NamedTuple):
    """What the planned configuration of the kubelet promises to each container, or each pod."""

    whole_cores: bool
    #: The policy of the topology manager, where it refuses pods.
    numa: str
    is_by_pod: bool


def promise(values: Mapping[str, Value]) -> Promise:
    """What settings of the kubelet promise, by their key.

    With align-by-socket more masks are preferred, and nothing is promised of NUMA nodes.
    """
    policy = str(values.get(TOPOLOGY_MANAGER_POLICY.key, ""))
    is_strict = policy in (SINGLE, RESTRICTED) and not _is_on(values, "align-by-socket")
    scope = values.get(TOPOLOGY_MANAGER_SCOPE.key, "")
    return Promise(_is_on(values, "full-pcpus-only"), policy if is_strict else "", scope == BY_POD)


def _is_on(values: Mapping[str, Value], option: str) -> bool:
    """Whether an option is on, in a setting of its own or in one of all options."""
    all_options = values.get(_OPTIONS, {})
    given = all_options.get(option, "") if isinstance(all_options, dict) else ""
    return str(values.get(f"{_OPTIONS}.{option}", given)).lower() in ("1", "t", "true")


class Misaligned(NamedTuple):
    """Exclusive CPUs that break a promise."""

    who: str
    cpus: CpuSet
    observed: str
    wanted: str


def misaligned(
    state: Assigned, topology: Topology, online: CpuSet, promised: Promise
) -> Iterator[Misaligned]:
    """Containers with parts of cores; in other pods, containers or pods on too many NUMA nodes."""
    for pod, entries in sorted(state.entries.items()):
        halves = list(_halves(topology, online, pod, entries)) if promised.whole_cores else []
        yield from halves
        if promised.numa and not halves:
            yield from _of_numa(topology, online, _groups(pod, entries, promised))


def _halves(
    topology: Topology, online: CpuSet, pod: str, entries: Mapping[str, CpuSet]
) -> Iterator[Misaligned]:
    for name, cpus in sorted(entries.items()):
        alone = cpus - _whole(topology, online, cpus)
        if alone:
            observed = f"without the siblings of {cpus_text(alone)}"
            yield Misaligned(f"container {name} of pod {pod}", cpus, observed, "whole cores")


def _whole(topology: Topology, online: CpuSet, cpus: CpuSet) -> CpuSet:
    """Those of the CPUs whose siblings, as far as they run, are all among them."""
    known = cpus & topology.online
    return CpuSet(cpu for cpu in known if topology.siblings(cpu) & online <= cpus)


def _groups(
    pod: str, entries: Mapping[str, CpuSet], promised: Promise
) -> Iterable[tuple[str, CpuSet]]:
    """What the policy aligns: the CPUs of each container, or of all together."""
    if promised.is_by_pod:
        return [(f"pod {pod}", union(entries.values()))]
    return [(f"container {name} of pod {pod}", cpus) for name, cpus in sorted(entries.items())]


def _of_numa(
    topology: Topology, online: CpuSet, groups: Iterable[tuple[str, CpuSet]]
) -> Iterator[Misaligned]:
    """Both policies admit only as few nodes as have enough CPUs, reserved ones counted."""
    nodes = {node: cpus & online for node, cpus in topology.numa_nodes.items() if cpus & online}
    for who, cpus in groups:
        used = [node for node, of_node in nodes.items() if of_node & cpus]
        least = fewest(list(nodes.values()), len(cpus))
        if len(used) > least:
            numbers = ", ".join(map(str, used))
            wanted = "one NUMA node" if least == 1 else f"{least} NUMA nodes"
            yield Misaligned(who, cpus, f"on NUMA nodes {numbers}", wanted)


def remote(tree: Tree, pairs: Iterable[Pair], topology: Topology) -> Iterator[Misaligned]:
    """Containers whose memory must come from NUMA nodes that none of their CPUs is on."""
    for pair in pairs:
        given = cpu_list(tree.read(pair.running.container.path, "cpuset.mems"))
        used = (node for node, cpus in topology.numa_nodes.items() if cpus & pair.exclusive)
        own = CpuSet(used)
        if given and own and given.isdisjoint(own):
            observed = f"with memory of NUMA node {given} alone"
            yield Misaligned(pair.described, pair.exclusive, observed, f"memory of NUMA node {own}")


def fewest(nodes: list[CpuSet], count: int) -> int:
    """The smallest number of NUMA nodes that have `count` CPUs together."""
    sizes = sorted(map(len, nodes), reverse=True)
    return next((few for few in range(1, len(sizes) + 1) if sum(sizes[:few]) >= count), len(sizes))


_PATH = component.CGROUP.removeprefix(f"{MOUNT}/")
_BOOTED = "sys/devices/system/cpu/isolated"
PARTITIONS_FACT = "CPUs that control groups keep for themselves"


def planned_partition(subject: Subject) -> Iterator[Answer]:
    """CP863: the partition of isolcpus is there and valid; reading it is the only way to know."""
    setting = _setting(subject)
    if setting is None:
        return
    tree = view(subject).tree
    evidence = f"{tree.folder(_PATH)}/{PARTITION_FILE}"
    if tree.problem or tree.is_v1:
        reason = tree.problem or "control groups of version 1 have no partitions"
        yield subject.unverifiable(setting, evidence, reason)
        return
    state = tree.read(_PATH, PARTITION_FILE) or "missing"
    others = [cpus for cpus in _cpus(tree) if cpus != setting.value]
    if state == "isolated" and not others:
        yield subject.held(setting, evidence)
        return
    shown = state if state != "isolated" else f"{state} with {cpus_text(others[0])}"
    yield subject.differs(
        setting, "CP863", evidence, observed=shown, expected=str(setting.value), state=shown
    )


def _cpus(tree: Tree) -> list[CpuSet]:
    """The CPUs of the planned partition, as far as they are shown: its own ones first."""
    own = cpu_list(tree.read(_PATH, "cpuset.cpus.exclusive.effective"))
    others = (tree.cpus(_PATH), tree.effective(_PATH))
    return [own, *(cpus for cpus in others if cpus)]


def _setting(subject: Subject) -> Setting | None:
    settings = subject.expected.settings.of(component.NAME)
    return next((setting for setting in settings if setting.key == component.THREADS), None)


def foreign_partitions(subject: Subject) -> Iterator[Answer]:
    """CP839: partitions of others and invalid ones, and CPUs that are isolated for nobody."""
    seen = view(subject)
    tree = seen.tree
    if tree.problem or tree.is_v1:
        if not tree.is_v1:
            yield subject.unverifiable(PARTITIONS_FACT, tree.folder(""), tree.problem)
        return
    own = _PATH if _setting(subject) else ""
    by_plan = subject.expected.cpus(derived.UNBALANCED)
    booted = cpu_list(subject.root.read(_BOOTED) or "") | by_plan
    # What runs though it should not is no loss.
    online = seen.online & subject.expected.cpus(derived.ONLINE)
    problems = list(troubles(tree, seen.partitions, own, online, booted))
    for trouble in problems:
        yield subject.differs(
            PARTITIONS_FACT,
            "CP839",
            trouble.path,
            observed=trouble.problem,
            expected="no partition but those of the plan and of containers",
            heals=Heals.REBOOT if trouble.is_leak else Heals.LIVE,
        )
    if problems:
        return
    if tree.effective("") is None:
        yield subject.unverifiable(
            PARTITIONS_FACT, tree.folder(""), "the CPUs of the root group are not here"
        )
    else:
        yield subject.held(PARTITIONS_FACT, f"{tree.folder('')}/cpuset.cpus.effective")


#: Where CRI-O puts what `exec` starts; it has a quota of its own.
_EXEC = "exec"


class Throttled(NamedTuple):
    """Containers whose quota is too small, or has stopped one of them."""

    pairs: tuple[Pair, ...]
    quota: Quota
    #: In how many periods it stopped one; 0 if the quota alone is too small.
    periods: int


def throttled(tree: Tree, pairs: Iterable[Pair]) -> list[Throttled]:
    """Containers whose smallest quota, above, of, or in their control group, is not enough.

    The smallest ratio of quota and period wins (cri-o/cri-o#9251). Each quota is there once.
    """
    by_path: dict[str, Throttled] = {}
    for pair in pairs:
        slowed = _throttled(tree, pair)
        if slowed:
            known = by_path.get(slowed.quota.path, slowed._replace(pairs=()))
            by_path[slowed.quota.path] = known._replace(pairs=(*known.pairs, pair))
    return list(by_path.values())


def _throttled(tree: Tree, pair: Pair) -> Throttled | None:
    path = pair.running.container.path
    inner = [group for group in tree.below(path) if group.rpartition("/")[2] != _EXEC]
    quotas = [
        (quota, group) for group in (*above(path), path, *inner) if (quota := tree.quota(group))
    ]
    if not quotas:
        return None
    least = min((quota for quota, _ in quotas), key=lambda quota: quota.cpus)
    if least.cpus < len(pair.wanted):
        return Throttled((pair,), least, 0)
    own = ((quota, tree.throttled(group)) for quota, group in quotas if group in (path, *inner))
    return next((Throttled((pair,), quota, count) for quota, count in own if count), None)


EXCLUSIVE, POOLED = "containers with exclusive CPUs", "containers of the shared pool"
QUOTAS, ALIGNMENT = "quotas of exclusive CPUs", "alignment of exclusive CPUs"
#: Seconds within which the kubelet gives containers of the shared pool a changed set (its
#: period of reconciliation), and some more.
_SETTLING = 15


def containers(subject: Subject) -> Iterator[Answer]:
    """CP857: every container has the CPUs that the state file gives it, and all its threads."""
    seen = view(subject)
    if reason := _unknown(seen):
        if _is_static(subject):
            yield subject.unread(EXCLUSIVE, state_file(subject), reason)
            yield subject.unread(POOLED, state_file(subject), reason)
        return
    lost = Lost(
        seen.online, union(partition.cpus for partition in seen.partitions if partition.is_valid)
    )
    misplaced = [
        *container_cpus.exclusive(seen.tree, seen.pairs, lost),
        *container_cpus.gone(seen.state, seen.tree.pods(), state_file(subject)),
    ]
    yield from _answers(subject, EXCLUSIVE, misplaced)
    yield from _pooled(subject, seen, lost)


def _unknown(seen: View) -> str:
    """Why nothing can be said of containers; empty if it can."""
    if seen.state.problem or seen.tree.problem:
        return seen.state.problem or seen.tree.problem
    if not seen.tree.all_pods():
        return "there is no control group of pods"
    return "" if seen.state.exclusive else "the kubelet gives no exclusive CPUs"


def _is_static(subject: Subject) -> bool:
    return subject.expected.settings.values(kubelet.NAME).get(CPU_MANAGER_POLICY.key) == "static"


def _pooled(subject: Subject, seen: View, lost: Lost) -> Iterator[Answer]:
    """Of containers without exclusive CPUs. A pod with CPUs of its own has a pool of its own."""
    if subject.expected.settings.of(node.NAME):
        return  # koordlet writes their cpusets by itself
    if _is_settling(subject.root, state_file(subject)):
        reason = "the kubelet has just changed its state file, and containers follow"
        yield subject.unverifiable(POOLED, state_file(subject), reason)
        return
    own = {pair.running.container.path for pair in seen.pairs}
    others = [
        container
        for container in seen.containers
        if container.container.path not in own
        and container.container.pod not in seen.state.pods
        and not container.is_pause
        and container.cpus != cpuset(subject, INFRA_CTR_CPUSET)
    ]
    pinned = cpuset(subject, PLATFORM_CPUS)
    misplaced = container_cpus.pooled(seen.tree, others, seen.state.default, pinned, lost)
    yield from _answers(subject, POOLED, list(misplaced))


def _is_settling(root: Root, path: str) -> bool:
    """Whether a kubelet that runs has changed its state a moment ago."""
    written = root.mtime(path) if root.is_running else None
    return written is not None and 0 <= time.time() - written < _SETTLING


def _answers(subject: Subject, fact: str, misplaced: list[Misplaced]) -> Iterator[Answer]:
    for container in misplaced:
        yield subject.differs(
            fact,
            "CP857",
            container.path,
            observed=container.observed,
            expected=container.wanted,
            who=container.who,
        )
    if not misplaced:
        yield subject.held(fact, state_file(subject))


def throttling(subject: Subject) -> Iterator[Answer]:
    """CP858: no quota stops a container with exclusive CPUs."""
    seen = view(subject)
    if not seen.pairs:
        return
    throttled_pods = throttled(seen.tree, seen.pairs)
    for throttle in throttled_pods:
        quota = f"{throttle.quota.quota} of {throttle.quota.period} µs"
        stopped = f", and has stopped it in {throttle.periods} periods" if throttle.periods else ""
        need = max(len(pair.wanted) for pair in throttle.pairs)
        who = at_most([pair.described for pair in throttle.pairs], container_cpus.FEW)
        yield subject.differs(
            QUOTAS,
            "CP858",
            throttle.quota.path,
            observed=f"{quota}{stopped}",
            expected=f"no quota, or one of {need} CPUs",
            who=who,
            cpus=cpus_text(union(pair.wanted for pair in throttle.pairs)),
        )
    if not throttled_pods:
        yield subject.held(QUOTAS, seen.tree.folder(seen.tree.all_pods()[0]))


def aligned(subject: Subject) -> Iterator[Answer]:
    """CP859: exclusive CPUs are whole cores, and on few NUMA nodes, where policies promise it."""
    seen, expected = view(subject), subject.expected
    promised = promise(expected.settings.values(kubelet.NAME))
    if seen.state.problem or not seen.state.entries:
        return
    misaligned_pods = list(misaligned(seen.state, expected.topology, seen.online, promised))
    misaligned_pods += remote(seen.tree, seen.pairs, expected.topology)
    for container in misaligned_pods:
        yield subject.differs(
            ALIGNMENT,
            "CP859",
            state_file(subject),
            observed=container.observed,
            expected=container.wanted,
            who=container.who,
            cpus=cpus_text(container.cpus),
        )
    if not misaligned_pods:
        yield subject.held(ALIGNMENT, state_file(subject))
