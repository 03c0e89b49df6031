"""What is wrong in the statements of an intent by themselves, before a layout is solved.

Names that are unknown, lists of CPUs that overlap or split cores, places and devices that the
machine does not have, and manifests that are no pods.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from cpuplan.base.cpuset import EMPTY, CpuSet, cpus_text, union
from cpuplan.base.text import joined
from cpuplan.base.topology import Topology
from cpuplan.diagnostics import Diagnostic, Label, diagnose, errors
from cpuplan.diagnostics.source import At, Field, Locate, Position
from cpuplan.language.model.base import attributes
from cpuplan.language.model.pools import DIVIDED, IDLE, QOS_SETS, Near, Pool
from cpuplan.language.model.vocabulary import PARTITION
from cpuplan.language.read.pods import (
    misplaced,
    problem_of,
    problems_of,
    template_of,
    templates_in,
    unread_of,
)
from cpuplan.plan import NodeClass
from cpuplan.solve.layout import SetSpec, SetSpecs, beside, is_like_host, sibling_of
from cpuplan.solve.rules import sizes
from cpuplan.solve.rules.placement import PART_WORDS, PLACES, device_words, matching, parts_of
from cpuplan.solve.rules.rule import Statements, scopes_of

#: The pods of one node that are simulated. Kubernetes is tested with 110 (Considerations for large
#: clusters).
_MOST_SIMULATED = 2000


class _Places(NamedTuple):
    """The places of a manifest that is written in the intent."""

    at: At
    field: str

    def value_at(self, field: Field) -> Position | None:
        return self.at(".".join([self.field, *map(str, field)]))


def wrong_manifests(statements: Statements, at: At) -> Iterator[Diagnostic]:
    """CP720: manifests that cannot be simulated; CP314: those that need no room.

    CP4150: pods that need no room are bounded by nothing else.
    """
    for index, workload in enumerate(statements.node_class.spec.workloads):
        if workload.manifest is None:
            continue
        field = f"workloads.{index}.manifest"
        places, template = _Places(at, field), template_of(workload.manifest)
        if template is None:
            yield problem_of(places, (), _why_no_pod(workload.manifest))
            continue
        problems = list(problems_of(places, *template))
        yield from problems
        yield from misplaced(places, (), workload.manifest, template[0])
        if not problems and not sizes.exclusive_cpus(statements.node_class, workload):
            yield diagnose("CP314", at(field), workload=workload.name)
            most = _most_pods(statements.node_class)
            if workload.pods > most:
                place = at(f"workloads.{index}.pods")
                name, pods = workload.name, workload.pods
                yield diagnose("CP4150", place, workload=name, pods=pods, most=most)


def _why_no_pod(manifest: Mapping[str, Any]) -> str:
    if several := len(templates_in(manifest)):
        return f"has {several} templates of pods, not one"
    why = unread_of(manifest)
    return f"is of no pod: {why}" if why else "is of no pod"


def _most_pods(node_class: NodeClass) -> int:
    """The pods that a kubelet admits: maxPods, as far as it is simulated."""
    given = node_class.spec.kubelet.configuration.get("maxPods")
    most = given if isinstance(given, int) and given > 0 else node_class.platform.max_pods
    return min(most, _MOST_SIMULATED)


def two_rests(statements: Statements, at: At) -> Iterator[Diagnostic]:
    """CP213: several pools, or several partitions, take the rest."""
    rests = [spec for spec in statements.sets.values() if spec.pool.rest]
    by_host: dict[str, list[SetSpec]] = {host: [] for host in ("", *DIVIDED)}
    for spec in rests:
        if spec.is_pool:
            by_host[""].append(spec)
        elif spec.is_partition and spec.host in by_host:
            by_host[spec.host].append(spec)
    for same in by_host.values():
        if len(same) > 1:
            yield _two_rests(same, at)


def _two_rests(rests: list[SetSpec], at: At) -> Diagnostic:
    first, *others = rests
    labels = []
    for spec in others:
        position = at(f"{spec.field}.rest")
        if position:
            labels.append(Label(position, f"{spec.name} takes the rest too"))
    pools = joined([spec.name for spec in rests])
    label = f"{first.name} takes the rest"
    return diagnose("CP213", at(f"{first.field}.rest"), label=label, labels=labels, pools=pools)


def unknown_sets(statements: Statements, at: At) -> Iterator[Diagnostic]:
    """CP215 to CP217, CP315: sets that the intent does not have, or that cannot be meant."""
    known = statements.sets
    named: list[tuple[str, str]] = []
    for spec in known.values():
        named += _named_sets(spec, known)
        sibling = None if is_like_host(spec, known) else spec.pool.sibling
        if sibling is not None and _cannot_share(spec.name, sibling_of(spec.pool) or ""):
            yield diagnose("CP216", at(f"{spec.field}.sibling"), pool=spec.name, sibling=sibling)
        if spec.pool.of == spec.name:
            yield diagnose("CP315", at(f"{spec.field}.of"), pool=spec.name)
    for index, workload in enumerate(statements.node_class.spec.workloads):
        field, pool = f"workloads.{index}.pool", workload.pool
        named.append((field, pool))
        if pool != "isolated" and not pool.startswith(PARTITION):
            yield diagnose("CP217", at(field), workload=workload.name, pool=pool)
    yield from _interrupts(statements, at)
    for field, name in named:
        if name not in known:
            yield diagnose("CP215", at(field), name=name, known=joined(list(known)))


def _interrupts(statements: Statements, at: At) -> Iterator[Diagnostic]:
    """CP215, CP320: CPUs for interrupts that the intent does not have, or that are of pods."""
    name, field = statements.node_class.spec.isolation.interrupts, "isolation.interrupts"
    if name is None:
        return
    spec = statements.sets.get(name)
    if spec is None:
        yield diagnose("CP215", at(field), name=name, known=joined(list(statements.sets)))
    elif spec.host not in ("reserved", "shared"):
        yield diagnose("CP320", at(field), pool=name)


def _named_sets(spec: SetSpec, known: SetSpecs) -> Iterator[tuple[str, str]]:
    """The fields of a statement that name other sets, with the names."""
    for relation in ("apart", "together"):
        for other in getattr(spec.pool, relation):
            yield f"{spec.field}.{relation}.{other}:", other
    if spec.pool.of is not None:
        yield f"{spec.field}.of", spec.pool.of
    sibling = spec.pool.sibling
    if sibling is not None and sibling != IDLE and not is_like_host(spec, known):
        yield f"{spec.field}.sibling", sibling


def _cannot_share(host: str, target: str) -> bool:
    """Whether threads of a core cannot be in both: one pool, a pool and its part, or QoS sets."""
    if host in QOS_SETS or target in QOS_SETS or target == host:
        return True
    return target.startswith(f"{host}.")


def empty_reserved(statements: Statements, at: At) -> Iterator[Diagnostic]:
    """CP212: a reserved pool of size 0 under the static policy."""
    pool = statements.sets["reserved"].pool
    keys = ("cpus", "count", "cores", "wholeCaches", "max")
    sizes = [key for key in keys if getattr(pool, attributes(Pool)[key]) is not None]
    static = statements.node_class.cpu_manager_policy == "static"
    if not sizes or not static or not statements.is_on("reserved-not-empty"):
        return
    if not getattr(pool, attributes(Pool)[sizes[0]]):
        yield diagnose("CP212", at(f"pools.reserved.{sizes[0]}"))


def absent_places(statements: Statements, at: At) -> Iterator[Diagnostic]:
    """CP353: NUMA nodes, sockets, dies, caches and core types that the machine does not have."""
    topology, hardware = statements.topology, statements.node_class.hardware
    types = {cpu.core_type for cpu in topology.cpus}
    for spec in statements.sets.values():
        for field, what, word, known in _absent(spec, topology, types):
            yield diagnose(
                "CP353",
                at(f"{spec.field}.{field}"),
                pool=spec.name,
                what=what,
                hardware=hardware,
                word=word,
                known=known or "none",
            )


def _absent(
    spec: SetSpec, topology: Topology, types: set[str]
) -> Iterator[tuple[str, str, str, str]]:
    """(field, the absent parts, the word for one, the parts that the machine has)."""
    for key, attribute, word in PLACES:
        numbers: CpuSet | None = getattr(spec.pool, attribute)
        parts = parts_of(topology, key)
        lacking = CpuSet(number for number in numbers or () if number not in parts)
        if lacking:
            known = CpuSet(number for number in parts if number >= 0)
            yield key, f"{word} {lacking}", word, str(known)
    for name in spec.pool.core_types or ():
        if name not in types:
            yield "coreTypes", f"{name} cores", "core type", joined(sorted(types - {""}))
    for field, level in _levels(spec):
        if level in ("cache", "die") and not scopes_of(topology, level):
            yield field, f"{PART_WORDS[level]}s", PART_WORDS[level], ""


def _levels(spec: SetSpec) -> Iterator[tuple[str, str]]:
    """The fields of a statement that are about parts of a level, with the level."""
    yield "per", spec.pool.per
    if spec.pool.within:
        yield "within", spec.pool.within
    if spec.pool.whole_caches is not None:
        yield "wholeCaches", "cache"
    for relation in ("apart", "together"):
        levels: dict[str, str] = getattr(spec.pool, relation)
        yield from ((f"{relation}.{other}", level) for other, level in levels.items())


def absent_devices(statements: Statements, at: At) -> Iterator[Diagnostic]:
    """CP354: devices that the machine does not have, or whose NUMA node is not known.

    CP312: some of the devices that a size is for have no NUMA node.
    """
    for spec in statements.sets.values():
        for key, near in (("near", spec.pool.near), ("perDevice", spec.pool.per_device)):
            if near is not None:
                yield from _absent_devices(statements, spec, key, near, at)


def _absent_devices(
    statements: Statements, spec: SetSpec, key: str, near: Near, at: At
) -> Iterator[Diagnostic]:
    nodes, devices = statements.topology.numa_nodes, matching(statements.node_class, near)
    lost = [device for device in devices if device.numa_node not in nodes]
    place, hardware = at(f"{spec.field}.{key}"), statements.node_class.hardware
    if len(lost) == len(devices):
        yield diagnose(
            "CP354",
            place,
            key=key,
            pool=spec.name,
            devices=device_words(near),
            hardware=hardware,
            what="has no NUMA node with CPUs for any of them" if devices else "has none",
        )
    elif lost and key == "perDevice":
        names = [device.name or device.address for device in lost]
        yield diagnose("CP312", place, pool=spec.name, devices=joined(names), hardware=hardware)


def shared_out(topology: Topology, lists: Mapping[str, CpuSet]) -> dict[str, CpuSet]:
    """The lists with whole cores: each goes to one list that has a thread of it.

    Cores of several lists go to one that is still shorter than before, so sizes stay if possible.
    """
    shared: list[tuple[CpuSet, list[str]]] = []
    wholes = dict.fromkeys(lists, EMPTY)
    for core in topology.cores.values():
        owners = [name for name, cpus in lists.items() if cpus & core]
        if len(owners) == 1:
            wholes[owners[0]] |= core
        elif owners:
            shared.append((core, owners))
    for core, owners in shared:
        short = [name for name in owners if len(wholes[name]) < len(lists[name])]
        wholes[(short or owners)[0]] |= core
    return wholes


def overlaps(statements: Statements, at: At) -> Iterator[Diagnostic]:
    """CP211: CPUs in the lists of two pools or partitions, except of one and its own."""
    listed = [spec for spec in _lists(statements) if not spec.is_qos]
    for first, second in combinations(listed, 2):
        both = _cpus(first) & _cpus(second)
        is_part = second.is_partition and second.host == first.name
        if not both or is_part:
            continue
        other = at(f"{first.field}.cpus")
        text = f"{first.name} lists {cpus_text(_cpus(first))}"
        yield diagnose(
            "CP211",
            at(f"{second.field}.cpus"),
            label=f"{second.name} lists {cpus_text(_cpus(second))}",
            labels=[Label(other, text)] if other else [],
            cpus=cpus_text(both),
            are="is" if len(both) == 1 else "are",
            them=_them(both),
            first=first.name,
            second=second.name,
        )


def absent_cpus(statements: Statements, at: At) -> Iterator[Diagnostic]:
    """CP350, CP351: CPUs that the machine does not have, or that are offline."""
    topology, node_class = statements.topology, statements.node_class
    present = topology.online | topology.offline
    for spec in _lists(statements):
        cpus, place = _cpus(spec), at(f"{spec.field}.cpus")
        absent, offline = cpus - present, cpus & topology.offline
        if absent:
            yield diagnose(
                "CP350",
                place,
                pool=spec.name,
                cpus=cpus_text(absent),
                them=_them(absent),
                hardware=node_class.hardware,
                present=cpus_text(present),
            )
        if offline:
            yield diagnose(
                "CP351",
                place,
                pool=spec.name,
                cpus=cpus_text(offline),
                they="it is" if len(offline) == 1 else "they are",
                them=_them(offline),
                name=node_class.name,
            )


def split_cores(
    statements: Statements,
    at: At,
    mend: Callable[[NodeClass, Sequence[SetSpec]], Mapping[str, str]],
) -> Iterator[Diagnostic]:
    """CP352: lists with only some threads of a core that must be whole."""
    split = [spec for spec in _lists(statements) if _splits(statements, spec)]
    hints = mend(statements.node_class, split) if split else {}
    for spec in split:
        cores = statements.topology.split_cores(_cpus(spec))
        yield diagnose(
            "CP352",
            at(f"{spec.field}.cpus"),
            pool=spec.name,
            cpus=cpus_text(union(cores) & _cpus(spec)),
            siblings=cpus_text(union(cores) - _cpus(spec)),
            cores="core" if len(cores) == 1 else "cores",
            hint=hints[spec.name],
        )


def _splits(statements: Statements, spec: SetSpec) -> bool:
    """Whether a list has only some threads of a core that must be whole."""
    pool = spec.pool
    if spec.is_qos or not pool.whole_cores or pool.sibling:
        return False
    if not statements.is_on("whole-cores") or beside(
        spec.name, statements.sets, statements.one_thread
    ):
        return False
    return bool(statements.topology.split_cores(_cpus(spec)))


def cores_split_by_profile(statements: Statements, at: At) -> Iterator[Diagnostic]:
    """CP355: cores split between pools of a PerformanceProfile, which the operator accepts.

    Each core is reported at the first of its pools.
    """
    if not statements.node_class.written_as:
        return
    pools = {}
    for spec in _lists(statements):
        if spec.is_pool and spec.name != "offlined":
            pools[spec.name] = spec
    reported = EMPTY
    for name, spec in pools.items():
        cpus = _cpus(spec)
        used = union(_cpus(other) for other in pools.values() if other is not spec)
        split = statements.topology.split_cores(cpus - reported)
        split = [core for core in split if core & used]
        if split:
            cores = union(split)
            reported |= cores
            siblings = (cores & used) - cpus
            yield diagnose(
                "CP355",
                at(f"{spec.field}.cpus"),
                pool=name,
                cpus=cpus_text(cores & cpus),
                siblings=cpus_text(siblings),
                hint=_hint(statements, name, pools, siblings),
                cores="core" if len(split) == 1 else "cores",
            )


def _hint(statements: Statements, name: str, pools: Mapping[str, SetSpec], siblings: CpuSet) -> str:
    """The pool to move siblings to; new lists for all where another pool would become empty."""
    lists = {other: _cpus(spec) & statements.topology.online for other, spec in pools.items()}
    emptied = [
        other for other, cpus in lists.items() if other != name and cpus and not cpus - siblings
    ]
    if not emptied:
        return f"move {siblings} to {name}"
    shared = shared_out(statements.topology, lists)
    return "write " + joined([f'{other}: "{cpus}"' for other, cpus in shared.items()])


def boot_cpu(statements: Statements, at: At) -> Iterator[Diagnostic]:
    """CP214: a list of reserved without CPU 0, or of another pool or partition with it."""
    if 0 not in statements.topology.online or not statements.is_on("cpu0-reserved"):
        return
    lists = {spec.name: spec for spec in _lists(statements) if not spec.is_qos}
    if "reserved" in lists:
        if 0 not in _cpus(lists["reserved"]):
            yield diagnose("CP214", at("pools.reserved.cpus"), cpu=0)
        return
    elsewhere = [spec for spec in lists.values() if 0 in _cpus(spec)]
    if elsewhere:
        label = f"{elsewhere[0].name} lists it"
        yield diagnose("CP214", at(f"{elsewhere[0].field}.cpus"), label=label, cpu=0)


def _lists(statements: Statements) -> list[SetSpec]:
    """The statements that list their CPUs."""
    return [spec for spec in statements.sets.values() if spec.pool.cpus is not None]


def _cpus(spec: SetSpec) -> CpuSet:
    return spec.pool.cpus or EMPTY


def _them(cpus: CpuSet) -> str:
    return "it" if len(cpus) == 1 else "them"


#: Finds what to write under each of a class's sets whose lists split cores.
Mend = Callable[[NodeClass, Sequence[SetSpec]], Mapping[str, str]]


def _untried(_node_class: NodeClass, split: Sequence[SetSpec]) -> dict[str, str]:
    return {spec.name: "give each core to one pool" for spec in split}


def check(node_class: NodeClass, locate: Locate, mend: Mend = _untried) -> list[Diagnostic]:
    """All faults at once: errors, with which `solver.solve` finds no layout, and warnings."""
    statements = Statements(node_class)

    def at(field: str) -> Position | None:
        return locate(node_class.place(field))

    return [
        *two_rests(statements, at),
        *unknown_sets(statements, at),
        *empty_reserved(statements, at),
        *wrong_manifests(statements, at),
        *overlaps(statements, at),
        *absent_cpus(statements, at),
        *absent_places(statements, at),
        *absent_devices(statements, at),
        *split_cores(statements, at, mend),
        *cores_split_by_profile(statements, at),
        *boot_cpu(statements, at),
    ]


def errors_of(node_class: NodeClass) -> list[Diagnostic]:
    """The errors of a class without positions, for changes that are tried."""
    return errors(check(node_class, lambda _place: None))
