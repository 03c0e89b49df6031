"""What can be said against the pools of an intent before any layout is sought."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations

from cpuplan.cpuset import EMPTY, CpuSet, cpus_text, union
from cpuplan.diagnostics import Diagnostic, Label, diagnose
from cpuplan.model.pools import IDLE, PARTITION, QOS_SETS
from cpuplan.plan import NodeClass
from cpuplan.solve.rules.places import PLACES, device_words, matching, parts_of
from cpuplan.solve.rules.rule import Statements
from cpuplan.solve.said import Said, beside, is_like_isolated, sibling_of
from cpuplan.solve.sharing import shared_out
from cpuplan.source import Locate, Position
from cpuplan.text import joined

#: What to write under each of the sets of a class whose lists split cores.
Mend = Callable[[NodeClass, Sequence[Said]], Mapping[str, str]]


def _untried(_node_class: NodeClass, split: Sequence[Said]) -> dict[str, str]:
    return {each.name: "give each core to one pool" for each in split}


def check(node_class: NodeClass, locate: Locate, mend: Mend = _untried) -> list[Diagnostic]:
    """All of it in one run: errors, with which `solver.solve` finds no layout, and warnings."""
    statements = Statements(node_class)

    def at(field: str) -> Position | None:
        return locate(node_class.place(field))

    return [
        *_two_rests(statements, at),
        *_unknown_sets(statements, at),
        *_empty_reserved(statements, at),
        *_overlaps(statements, at),
        *_absent_cpus(statements, at),
        *_absent_places(statements, at),
        *_absent_devices(statements, at),
        *_split_cores(statements, at, mend),
        *_cores_split_by_profile(statements, at),
        *_boot_cpu(statements, at),
    ]


def _two_rests(statements: Statements, at: Locate) -> Iterator[Diagnostic]:
    """Among the pools, and among the partitions."""
    for inner in (False, True):
        rests = [
            each
            for each in statements.sets.values()
            if each.pool.rest and (each.name.startswith(PARTITION) if inner else each.is_pool)
        ]
        if len(rests) > 1:
            labels = [
                Label(position, f"{each.name} takes the rest too")
                for each in rests[1:]
                if (position := at(f"{each.field}.rest"))
            ]
            names = joined([each.name for each in rests])
            label = f"{rests[0].name} takes the rest"
            yield diagnose(
                "CP213", at(f"{rests[0].field}.rest"), label=label, labels=labels, pools=names
            )


def _has_no_use(host: str, target: str) -> bool:
    """Whether the threads of a core cannot be in both: they are one pool, a pool and its part, or
    QoS sets.
    """
    return (
        host in QOS_SETS
        or target in (host, *QOS_SETS)
        or (host == "isolated" and target.startswith(PARTITION))
    )


def _unknown_sets(statements: Statements, at: Locate) -> Iterator[Diagnostic]:
    """Names of pools that the intent has not, and siblings that no pool could have."""
    known = statements.sets
    named: list[tuple[str, str]] = []
    for each in known.values():
        named += [(f"{each.field}.apart.{other}:", other) for other in each.pool.apart]
        named += [(f"{each.field}.together.{other}:", other) for other in each.pool.together]
        sibling = None if is_like_isolated(each, known) else each.pool.sibling
        if sibling not in (None, IDLE):
            named.append((f"{each.field}.sibling", sibling or ""))
        if sibling is not None and _has_no_use(each.name, sibling_of(each.pool) or ""):
            yield diagnose("CP216", at(f"{each.field}.sibling"), pool=each.name, sibling=sibling)
    for index, workload in enumerate(statements.node_class.spec.workloads):
        named.append((f"workloads.{index}.pool", workload.pool))
        if workload.pool != "isolated" and not workload.pool.startswith(PARTITION):
            yield diagnose(
                "CP217", at(f"workloads.{index}.pool"), workload=workload.name, pool=workload.pool
            )
    for field, name in named:
        if name not in known:
            yield diagnose("CP215", at(field), name=name, known=joined(list(known)))


def _empty_reserved(statements: Statements, at: Locate) -> Iterator[Diagnostic]:
    pool = statements.sets["reserved"].pool
    size = next(
        (name for name in ("cpus", "count", "cores", "max") if getattr(pool, name) is not None),
        None,
    )
    static = statements.node_class.spec.kubelet.cpu_manager_policy == "static"
    if size and not getattr(pool, size) and static and statements.is_on("reserved-not-empty"):
        yield diagnose("CP212", at(f"pools.reserved.{size}"))


def _overlaps(statements: Statements, at: Locate) -> Iterator[Diagnostic]:
    """Lists of pools and partitions that have a CPU in common, but for those of isolated and its
    partitions.
    """
    for first, second in combinations(_lists(statements), 2):
        both = _cpus(first) & _cpus(second)
        is_part = first.name == "isolated" and second.name.startswith(PARTITION)
        if both and not is_part and not {first.name, second.name} & set(QOS_SETS):
            other = at(f"{first.field}.cpus")
            yield diagnose(
                "CP211",
                at(f"{second.field}.cpus"),
                label=f"{second.name} lists {cpus_text(_cpus(second))}",
                labels=[Label(other, f"{first.name} lists {cpus_text(_cpus(first))}")]
                if other
                else [],
                cpus=cpus_text(both),
                are="is" if len(both) == 1 else "are",
                them=_them(both),
                first=first.name,
                second=second.name,
            )


def _absent_cpus(statements: Statements, at: Locate) -> Iterator[Diagnostic]:
    topology, node_class = statements.topology, statements.node_class
    present = topology.online | topology.offline
    for each in _lists(statements):
        cpus, place = _cpus(each), at(f"{each.field}.cpus")
        if lacking := cpus - present:
            yield diagnose(
                "CP350",
                place,
                pool=each.name,
                cpus=cpus_text(lacking),
                them=_them(lacking),
                hardware=node_class.hardware,
                present=cpus_text(present),
            )
        if offline := cpus & topology.offline:
            yield diagnose(
                "CP351",
                place,
                pool=each.name,
                cpus=cpus_text(offline),
                they="it is" if len(offline) == 1 else "they are",
                them=_them(offline),
                name=node_class.name,
            )


def _absent_places(statements: Statements, at: Locate) -> Iterator[Diagnostic]:
    """NUMA nodes, sockets, dies, caches and core types that the machine has not."""
    topology, hardware = statements.topology, statements.node_class.hardware
    types = {cpu.core_type for cpu in topology.cpus}
    for each in statements.sets.values():
        for key, attribute, word in PLACES:
            numbers: CpuSet | None = getattr(each.pool, attribute)
            known = parts_of(topology, key)
            if lacking := [number for number in numbers or () if number not in known]:
                shown = str(CpuSet(number for number in known if number >= 0)) or "none"
                place, what = at(f"{each.field}.{key}"), f"{word} {CpuSet(lacking)}"
                yield diagnose(
                    "CP353",
                    place,
                    pool=each.name,
                    what=what,
                    hardware=hardware,
                    word=word,
                    known=shown,
                )
        for name in each.pool.core_types or ():
            if name not in types:
                shown = joined(sorted(types - {""})) if types - {""} else "none"
                place, what = at(f"{each.field}.coreTypes"), f"{name} cores"
                word = "core type"
                yield diagnose(
                    "CP353",
                    place,
                    pool=each.name,
                    what=what,
                    hardware=hardware,
                    word=word,
                    known=shown,
                )
        by_cache = [
            f"{key}.{other}" for key in ("apart", "together") for other in _by_cache(each, key)
        ]
        for field in (*(["per"] if each.pool.per == "cache" else []), *by_cache):
            if not topology.uncore_caches:
                word = "last-level cache"
                place, what = at(f"{each.field}.{field}"), "last-level caches"
                yield diagnose(
                    "CP353",
                    place,
                    pool=each.name,
                    what=what,
                    hardware=hardware,
                    word=word,
                    known="none",
                )


def _by_cache(each: Said, key: str) -> list[str]:
    pairs: dict[str, str] = getattr(each.pool, key)
    return [other for other, level in pairs.items() if level == "cache"]


def _absent_devices(statements: Statements, at: Locate) -> Iterator[Diagnostic]:
    """Devices that the machine has not, or of which nobody knows the NUMA node."""
    node_class = statements.node_class
    for each in statements.sets.values():
        if each.pool.near is None:
            continue
        found = matching(node_class, each.pool.near)
        if not any(device.numa_node in statements.topology.numa_nodes for device in found):
            what = (
                "has none" if not found else "does not tell a NUMA node with CPUs for any of them"
            )
            place, devices = at(f"{each.field}.near"), device_words(each.pool.near)
            hardware = node_class.hardware
            yield diagnose(
                "CP354", place, pool=each.name, devices=devices, hardware=hardware, what=what
            )


def _split_cores(statements: Statements, at: Locate, mend: Mend) -> Iterator[Diagnostic]:
    split = [each for each in _lists(statements) if _splits(statements, each)]
    ways = mend(statements.node_class, split) if split else {}
    for each in split:
        found = statements.topology.split_cores(_cpus(each))
        yield diagnose(
            "CP352",
            at(f"{each.field}.cpus"),
            pool=each.name,
            cpus=cpus_text(union(found) & _cpus(each)),
            siblings=cpus_text(union(found) - _cpus(each)),
            cores="core" if len(found) == 1 else "cores",
            hint=ways[each.name],
        )


def _splits(statements: Statements, each: Said) -> bool:
    """Does a list have some threads only of a core that is to be whole?"""
    if (
        each.name in QOS_SETS
        or not each.pool.whole_cores
        or each.pool.sibling
        or not statements.is_on("whole-cores")
    ):
        return False
    return bool(statements.topology.split_cores(_cpus(each))) and not _may_share(
        statements, each.name
    )


def _cores_split_by_profile(statements: Statements, at: Locate) -> Iterator[Diagnostic]:
    """Cores with threads in two pools of a PerformanceProfile, which the operator takes. Told at
    the first pool.
    """
    if not statements.node_class.written_as:
        return
    pools = {
        each.name: each for each in _lists(statements) if each.is_pool and each.name != "offlined"
    }
    told = EMPTY
    for name, each in pools.items():
        cpus = _cpus(each)
        used = union(_cpus(other) for other in pools.values() if other is not each)
        split = [core for core in statements.topology.split_cores(cpus - told) if core & used]
        if split:
            cores = union(split)
            told |= cores
            yield diagnose(
                "CP355",
                at(f"{each.field}.cpus"),
                pool=name,
                cpus=cpus_text(cores & cpus),
                siblings=cpus_text((cores & used) - cpus),
                hint=_moved(statements, name, pools, (cores & used) - cpus),
                cores="core" if len(split) == 1 else "cores",
            )


def _moved(statements: Statements, name: str, pools: Mapping[str, Said], cpus: CpuSet) -> str:
    """Where to move the siblings; new lists for all where another pool would have nothing left."""
    lists = {other: _cpus(each) & statements.topology.online for other, each in pools.items()}
    if all(other == name or not listed or listed - cpus for other, listed in lists.items()):
        return f"move {cpus} to {name}"
    shared = shared_out(statements.topology, lists)
    return "write " + joined([f'{other}: "{listed}"' for other, listed in shared.items()])


def _may_share(statements: Statements, name: str) -> bool:
    """Does a `sibling` statement speak of the pool?"""
    return bool(beside(name, statements.sets))


def _boot_cpu(statements: Statements, at: Locate) -> Iterator[Diagnostic]:
    """CPU 0 where the list of another pool or of a partition has it, or where reserved is a list
    without it.
    """
    if 0 not in statements.topology.online or not statements.is_on("cpu0-reserved"):
        return
    lists = {each.name: each for each in _lists(statements) if each.name not in QOS_SETS}
    if "reserved" in lists:
        if 0 not in _cpus(lists["reserved"]):
            yield diagnose("CP214", at("pools.reserved.cpus"), cpu=0)
    elif elsewhere := next((each for each in lists.values() if 0 in _cpus(each)), None):
        yield diagnose(
            "CP214", at(f"{elsewhere.field}.cpus"), label=f"{elsewhere.name} lists it", cpu=0
        )


def _lists(statements: Statements) -> list[Said]:
    """The statements that list their CPUs."""
    return [each for each in statements.sets.values() if each.pool.cpus is not None]


def _cpus(each: Said) -> CpuSet:
    return each.pool.cpus or CpuSet()


def _them(cpus: CpuSet) -> str:
    return "it" if len(cpus) == 1 else "them"
