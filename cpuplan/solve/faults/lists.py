"""Lists of CPUs: CPUs that the machine does not have, that several lists have, and split cores."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations

from cpuplan.base.cpuset import EMPTY, CpuSet, cpus_text, union
from cpuplan.base.text import joined
from cpuplan.diagnostics import Diagnostic, Label, diagnose
from cpuplan.diagnostics.source import At
from cpuplan.plan import NodeClass
from cpuplan.solve.rules.rule import Statements
from cpuplan.solve.sets import SetSpec, beside
from cpuplan.solve.sharing import shared_out


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
