"""One machine or another: all that the inventory says of it, and one finding for what differs.

That is the processor and how the kernel groups its CPUs: cores, sockets, dies, clusters, caches
and NUMA nodes.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from cpuplan.base.cpuset import EMPTY, CpuSet, cpus_text
from cpuplan.base.topology import UNKNOWN, Cpu
from cpuplan.check.machine.presence import (
    NODES,
    SYSTEM,
    cpu_file,
    cpu_list,
    is_another_machine,
    number,
)
from cpuplan.check.subject import Subject
from cpuplan.components.derived import CPU_MODEL, CPU_VENDOR, MODEL_NUMBER, ONLINE
from cpuplan.plan.expected.evidence import Answer


def by_label(labels: Mapping[int, object]) -> dict[object, CpuSet]:
    """The CPUs of each label."""
    bits: dict[object, int] = {}
    for cpu, label in labels.items():
        bits[label] = bits.get(label, 0) | 1 << cpu
    return {label: CpuSet.from_bits(mask) for label, mask in bits.items()}


def displaced(wanted: Mapping[int, object], actual: Mapping[int, object]) -> CpuSet:
    """The CPUs whose neighbours in a group are others than those that are wanted."""
    cpus = wanted.keys() & actual.keys()
    expected = by_label({cpu: wanted[cpu] for cpu in cpus})
    seen = by_label({cpu: actual[cpu] for cpu in cpus})
    if set(expected.values()) == set(seen.values()):
        return EMPTY
    return CpuSet(cpu for cpu in cpus if expected[wanted[cpu]] != seen[actual[cpu]])


def renumbered(wanted: Mapping[int, int], actual: Mapping[int, int]) -> CpuSet:
    """The CPUs with another number where most have theirs.

    Where most differ, the inventory has numbers of its own: a machine that a few counts describe
    has 0, 1, 2 where the kernel may have gaps.
    """
    cpus = wanted.keys() & actual.keys()
    others = [cpu for cpu in cpus if wanted[cpu] != actual[cpu]]
    return CpuSet(others) if len(others) * 2 < len(cpus) else EMPTY


#: The level of the caches that a layout keeps together.
_UNCORE_LEVEL = "3"
#: Numbers of clusters that mean that none is known.
_NO_CLUSTERS = (-1, 0xFFFF)
_NODE = re.compile(r"node([0-9]{1,5})")


class Look(NamedTuple):
    """What a look at one kind of group found: nothing to read, nothing else, or a difference."""

    fact: str
    path: str
    #: Why nothing could be compared; "" where something was.
    problem: str = ""
    #: In words; "" where all is as in the inventory.
    difference: str = ""
    #: Whether the inventory says nothing that could be compared.
    is_unplanned: bool = False


def layout_looks(subject: Subject, online: CpuSet) -> Iterator[Look]:
    """Each kind of group, of the CPUs that are online and should be."""
    cpus = online & subject.expected.cpus(ONLINE)
    known = {cpu.cpu: cpu for cpu in subject.expected.topology.cpus if cpu.cpu in cpus}
    for look in _LOOKS:
        yield look(subject, known)


Known = Mapping[int, Cpu]


def _ids(subject: Subject, cpus: Known, name: str) -> dict[int, int]:
    """A number of each CPU's folder `topology`, of those that have it."""
    numbers = ((cpu, number(subject, f"{SYSTEM}/cpu{cpu}/topology/{name}")) for cpu in cpus)
    return {cpu: identifier for cpu, identifier in numbers if identifier is not None}


def _sets(subject: Subject, cpus: Known, name: str) -> dict[int, CpuSet]:
    """A list of each CPU's folder, of those that have it."""
    lists = ((cpu, cpu_file(subject, f"cpu{cpu}/{name}")) for cpu in cpus)
    return {cpu: members for cpu, members in lists if members is not None}


def _path(cpus: CpuSet, cpu: int, name: str) -> str:
    """The file of the first CPU that differs, else of the first CPU."""
    return f"{SYSTEM}/cpu{cpus.first if cpus else cpu}/{name}"


def _compared(fact: str, name: str, cpus: CpuSet, text: str, cpu: int) -> Look:
    return Look(fact, _path(cpus, cpu, name), "", text if cpus else "")


def _siblings(subject: Subject, cpus: Known) -> Look:
    fact, name = "machine siblings", "topology/thread_siblings_list"
    actual = _sets(subject, cpus, name)
    if not actual:
        return Look(fact, f"{SYSTEM}/cpu0/{name}", "there are no siblings here")
    online = CpuSet(cpus)
    wanted = {cpu: subject.expected.topology.siblings(cpu) & online for cpu in actual}
    # A CPU that is online and should not be is a finding of its own.
    extra = (cpu_file(subject, "online") or EMPTY) - online
    others = CpuSet(cpu for cpu in actual if actual[cpu] - extra != wanted[cpu])
    first = others.first if others else min(actual)
    text = f"the core of CPU {first} is {actual[first]} instead of {wanted[first]}"
    return _compared(fact, name, others, text, first)


def _sockets(subject: Subject, cpus: Known) -> Look:
    fact, name = "machine sockets", "physical_package_id"
    actual = _ids(subject, cpus, name)
    if not actual or any(cpu.socket == UNKNOWN for cpu in cpus.values()):
        return Look(fact, f"{SYSTEM}/cpu0/topology/{name}", "no sockets are known")
    wanted = {cpu: info.socket for cpu, info in cpus.items()}
    others = displaced(wanted, actual) | renumbered(wanted, actual)
    return _compared(
        fact, f"topology/{name}", others, _moved("socket", others, wanted, actual), min(actual)
    )


def _moved(what: str, cpus: CpuSet, wanted: Mapping[int, int], actual: Mapping[int, int]) -> str:
    """`CPUs 4-7 are on socket 1 instead of 0`, of the first number that is another."""
    if not cpus:
        return ""
    first = (CpuSet(cpu for cpu in cpus if wanted[cpu] != actual[cpu]) or cpus).first
    moved = CpuSet(
        cpu for cpu in cpus if (wanted[cpu], actual[cpu]) == (wanted[first], actual[first])
    )
    are = "are" if len(moved) > 1 else "is"
    if wanted[first] == actual[first]:
        return f"{what} {actual[first]} of {cpus_text(moved)} has other CPUs"
    return f"{cpus_text(moved)} {are} on {what} {actual[first]} instead of {wanted[first]}"


def _dies(subject: Subject, cpus: Known) -> Look:
    """Dies count in each socket. Where the inventory has one in each, it may know of no more."""
    fact, name = "machine dies", "die_id"
    actual = _ids(subject, cpus, name)
    if not actual or any(cpu.die == UNKNOWN for cpu in cpus.values()):
        return Look(fact, f"{SYSTEM}/cpu0/topology/{name}", "no dies are known")
    wanted = {cpu: info.die for cpu, info in cpus.items()}
    places = {cpu: (cpus[cpu].socket, wanted[cpu]) for cpu in actual}
    seen = {cpu: (cpus[cpu].socket, actual[cpu]) for cpu in actual}
    sizes = {len(members) for members in by_label(seen).values()}
    if len(set(wanted.values())) == 1 and len(sizes) == 1:
        return Look(fact, f"{SYSTEM}/cpu{min(actual)}/topology/{name}")
    others = displaced(places, seen)
    return _compared(
        fact, f"topology/{name}", others, _moved("die", others, wanted, actual), min(actual)
    )


def _clusters(subject: Subject, cpus: Known) -> Look:
    fact, name = "machine clusters", "topology/cluster_cpus_list"
    wanted = {cpu: info.cluster for cpu, info in cpus.items()}
    if all(info.cluster in (info.core, UNKNOWN) for info in cpus.values()):
        return Look(
            fact, f"{SYSTEM}/cpu0/{name}", "the inventory has no clusters", is_unplanned=True
        )
    ids = _ids(subject, cpus, "cluster_id")
    actual = {
        cpu: (members & CpuSet(cpus)).first
        for cpu, members in _sets(subject, cpus, name).items()
        if members & CpuSet(cpus) and ids.get(cpu, 0) not in _NO_CLUSTERS
    }
    if not actual:
        return Look(fact, f"{SYSTEM}/cpu0/{name}", "no clusters are known here")
    others = displaced(wanted, actual)
    return _compared(fact, name, others, f"{cpus_text(others)} are in other clusters", min(actual))


def _caches(subject: Subject, cpus: Known) -> Look:
    fact, path = "machine L3 caches", f"{SYSTEM}/cpu0/cache"
    wanted = {cpu: info.uncore_cache for cpu, info in cpus.items() if info.uncore_cache != UNKNOWN}
    if not wanted:
        return Look(fact, path, "the inventory has no L3 caches", is_unplanned=True)
    index = _index(subject, min(wanted))
    actual = _sets(subject, cpus, f"cache/{index}/shared_cpu_list") if index else {}
    if not actual:
        return Look(fact, path, "no L3 cache shows here")
    online = CpuSet(cpus)
    groups = by_label(wanted)
    others = CpuSet(
        cpu for cpu in actual if cpu in wanted and actual[cpu] & online != groups[wanted[cpu]]
    )
    if not others:
        return _cache_ids(subject, cpus, index, wanted)
    first = others.first
    text = (
        f"the L3 cache of CPU {first} is that of {cpus_text(actual[first])} instead of "
        f"{groups[wanted[first]] if first in wanted else EMPTY}"
    )
    return _compared(fact, f"cache/{index}/shared_cpu_list", others, text, first)


def _cache_ids(subject: Subject, cpus: Known, index: str, wanted: Mapping[int, int]) -> Look:
    """The kubelet groups CPUs by the number of their cache, not by its list of CPUs."""
    name = f"cache/{index}/id"
    numbers = ((cpu, number(subject, f"{SYSTEM}/cpu{cpu}/{name}")) for cpu in cpus)
    actual = {cpu: cache for cpu, cache in numbers if cache is not None}
    others = displaced(wanted, actual)
    numbered = f"has the L3 cache {actual[others.first]}" if others else ""
    text = f"CPU {others.first} {numbered}, which others share" if others else ""
    path = f"{SYSTEM}/cpu{others.first if others else min(cpus)}/cache/{index}"
    name = f"{path}/id" if others else f"{path}/shared_cpu_list"
    return Look("machine L3 caches", name, "", text)


def _index(subject: Subject, cpu: int) -> str:
    """The folder of a CPU's L3 cache; the same for all CPUs of a machine. "" without one."""
    folder = f"{SYSTEM}/cpu{cpu}/cache"
    names = [name for name in subject.root.names(folder) if name.startswith("index")]
    levels = ((name, subject.root.read(f"{folder}/{name}/level") or "") for name in names)
    return next((name for name, level in levels if level.strip() == _UNCORE_LEVEL), "")


def _core_ids(subject: Subject, cpus: Known) -> Look:
    """By its numbers and sockets the kubelet finds the cores."""
    fact, name = "machine core ids", "core_id"
    actual = _ids(subject, cpus, name)
    if not actual:
        return Look(fact, f"{SYSTEM}/cpu0/topology/{name}", "there are no core ids here")
    wanted = {cpu: info.core_id for cpu, info in cpus.items()}
    places = {cpu: (cpus[cpu].socket, wanted[cpu]) for cpu in actual}
    seen = {cpu: (cpus[cpu].socket, actual[cpu]) for cpu in actual}
    others = displaced(places, seen) | renumbered(wanted, actual)
    text = _moved("core", others, wanted, actual)
    return _compared(fact, f"topology/{name}", others, text, min(actual))


def _numa_nodes(subject: Subject, cpus: Known) -> Look:
    fact, topology = "machine NUMA nodes", subject.expected.topology
    matches = (_NODE.fullmatch(name) for name in subject.root.names(NODES))
    nodes = sorted(int(match[1]) for match in matches if match)
    actual = {node: cpu_list(subject, f"{NODES}/node{node}/cpulist") for node in nodes}
    if topology.kubelet.no_numa_nodes or not any(
        node_cpus is not None for node_cpus in actual.values()
    ):
        return Look(fact, NODES, "no NUMA nodes are here")
    online = CpuSet(cpus)
    for node in sorted({*nodes, *topology.numa_facts}):
        wanted = topology.numa_nodes.get(node, EMPTY) & online
        seen = actual.get(node)
        if node not in topology.numa_facts or node not in actual:
            where = "only the node" if node in actual else "only the inventory"
            return Look(fact, NODES, "", f"{where} has NUMA node {node}")
        if seen is not None and seen & online != wanted:
            text = f"NUMA node {node} has {cpus_text(seen)} instead of {wanted or 'none'}"
            return Look(fact, f"{NODES}/node{node}/cpulist", "", text)
    return Look(fact, NODES)


def _distances(subject: Subject, _cpus: Known) -> Look:
    fact = "machine NUMA distances"
    rows = {
        node: facts.distances
        for node, facts in subject.expected.topology.numa_facts.items()
        if facts.distances
    }
    compared = False
    for node, wanted in rows.items():
        path = f"{NODES}/node{node}/distance"
        actual = (subject.root.read(path) or "").split()
        compared |= bool(actual)
        if actual and actual != list(map(str, wanted)):
            row = " ".join(map(str, wanted))
            text = f"the distances of NUMA node {node} are {' '.join(actual)} instead of {row}"
            return Look(fact, path, "", text)
    if not compared:
        return Look(fact, NODES, "no distances of NUMA nodes are here, or in the inventory")
    return Look(fact, NODES)


_LOOKS: tuple[Callable[[Subject, Known], Look], ...] = (
    _siblings,
    _core_ids,
    _sockets,
    _dies,
    _clusters,
    _caches,
    _numa_nodes,
    _distances,
)


_CPUINFO = "proc/cpuinfo"
_FIELD = re.compile(r"^([A-Za-z_ ]+?)\s*:\s*(.*?)\s*$", re.MULTILINE)
#: Characters of the first processor's lines.
_ENOUGH = 16_384
_WORD = re.compile(r"[a-z0-9]+")
#: In names of CPUs; they say nothing about which one it is.
_COMMON = frozenset(("r", "tm", "cpu", "processor", "intel", "amd", "with", "core", "cores"))


#: Of `smt/control`: siblings are off, and stay so.
_OFF = ("off", "forceoff")


def processor_looks(subject: Subject) -> Iterator[Look]:
    """Maker, number and name of the model, then SMT."""
    text = (subject.root.read(_CPUINFO) or "")[:_ENOUGH].partition("\n\n")[0]
    fields: dict[str, str] = {}
    for key, value in _FIELD.findall(text):
        fields.setdefault(key.strip(), value)
    for fact, key, words in (
        (CPU_VENDOR, "vendor_id", "its CPUs are of {} instead of {}"),
        (MODEL_NUMBER, "model", "its CPUs have model number {} instead of {}"),
        (CPU_MODEL, "model name", "its CPUs are {} instead of {}"),
    ):
        yield _field(subject, fact, fields.get(key, ""), words)
    yield _smt(subject)


def _field(subject: Subject, fact: str, actual: str, words: str) -> Look:
    wanted = subject.expected.facts.get(fact, "")
    about = f"machine {fact}"
    if wanted == "":
        return Look(about, _CPUINFO, "the inventory does not say it", is_unplanned=True)
    if not actual:
        return Look(about, _CPUINFO, "there is nothing of it here")
    if actual == str(wanted) or (fact == CPU_MODEL and _is_same(actual, str(wanted))):
        return Look(about, _CPUINFO)
    return Look(about, _CPUINFO, "", words.format(actual, wanted))


def _is_same(text: str, other: str) -> bool:
    """Whether two names are of one model: the words of one that mean something are in the other."""
    words, others = _words(text), _words(other)
    return not words or not others or words <= others or others <= words


def _words(name: str) -> set[str]:
    """`Intel(R) Xeon(R) Gold 6338N CPU @ 2.00GHz`: xeon, gold, 6338n."""
    return set(_WORD.findall(name.partition("@")[0].lower())) - _COMMON


def _smt(subject: Subject) -> Look:
    """`smt/active` is 1 where some core has two threads online."""
    fact, path = "machine SMT", f"{SYSTEM}/smt/active"
    text = (subject.root.read(path) or "").strip()
    if text not in ("0", "1"):
        return Look(fact, path, "there is no such file here")
    control = f"{SYSTEM}/smt/control"
    if (subject.root.read(control) or "").strip() in _OFF:
        text, path = "0", control
    topology, online = subject.expected.topology, subject.expected.cpus(ONLINE)
    wanted = any(len(siblings & online) > 1 for siblings in topology.cores.values())
    if wanted == (text == "1") or (text == "1" and topology.threads_per_core > 1):
        return Look(fact, path)
    words = ("on", "off") if text == "1" else ("off", "on")
    return Look(fact, path, "", f"SMT is {words[0]} instead of {words[1]}")


_SIBLINGS = "machine siblings"


def machine(subject: Subject) -> Iterator[Answer]:
    """Groups of CPUs, caches, NUMA nodes and the model, as in the inventory."""
    if is_another_machine(subject):
        return  # said of its CPUs: what follows from another machine is no finding of its own
    online = cpu_file(subject, "online") or subject.expected.cpus(ONLINE)
    looks = [*layout_looks(subject, online), *processor_looks(subject)]
    for look in looks:
        if look.problem:
            tell = subject.unshown if look.is_unplanned else subject.unverifiable
            yield tell(look.fact, look.path, look.problem)
        elif not look.difference:
            yield subject.held(look.fact, look.path)
    different = [look for look in looks if look.difference]
    if [look.fact for look in different] == [_SIBLINGS]:
        yield _other_siblings(subject, different[0], online)
    elif different:
        yield from _differences(subject, different)


def _other_siblings(subject: Subject, look: Look, online: CpuSet) -> Answer:
    """CP804: the first core whose siblings differ; the rest follow from the same cause."""
    folder = look.path.removeprefix(f"{SYSTEM}/cpu").partition("/")[0]
    cpu = int(folder)
    siblings = cpu_file(subject, look.path.removeprefix(f"{SYSTEM}/"))
    wanted = subject.expected.topology.siblings(cpu) & online
    actual = str(siblings)
    return subject.differs(
        look.fact, "CP804", look.path, observed=actual, expected=str(wanted), cpu=cpu
    )


def _differences(subject: Subject, different: list[Look]) -> Iterator[Answer]:
    """One finding: a setting of the firmware, or another machine, changes several at once."""
    text = "; ".join(look.difference for look in different)
    first = subject.differs(
        different[0].fact,
        "CP818",
        different[0].path,
        observed=text,
        expected=f"hardware {subject.expected.hardware}",
        hardware=subject.expected.hardware,
        differences=text,
    )
    yield first
    for look in different[1:]:
        path = subject.root.shown(look.path)
        yield first._replace(fact=look.fact, evidence=path, observed=look.difference, finding=None)
