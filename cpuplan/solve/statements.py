"""What can be said against the pools of an intent before any layout is sought."""

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

from cpuplan.cpuset import CpuSet, cpus_text, union
from cpuplan.diagnostics import Diagnostic, Label, diagnose
from cpuplan.intent import Pool
from cpuplan.plan import NodeClass
from cpuplan.solve.rules import pools_of
from cpuplan.source import Position

Locate = Callable[[str], Position | None]


def check(node_class: NodeClass, locate: Locate) -> list[Diagnostic]:
    """All of it in one run: errors, with which `solver.solve` finds no layout, and warnings."""

    def at(field: str) -> Position | None:
        return locate(node_class.reason("", f"pools.{field}").origin)

    pools = pools_of(node_class)
    return [
        *_two_rests(pools, at),
        *_empty_reserved(node_class, pools["reserved"], at),
        *_overlaps(pools, at),
        *_absent_cpus(node_class, pools, at),
        *_split_cores(node_class, pools, at),
        *_boot_cpu(node_class, pools, at),
    ]


def _two_rests(pools: dict[str, Pool], at: Locate) -> Iterator[Diagnostic]:
    rests = [name for name, pool in pools.items() if pool.rest]
    if len(rests) > 1:
        labels = [
            Label(position, f"{name} takes the rest too") for name in rests[1:] if (position := at(f"{name}.rest"))
        ]
        label = f"{rests[0]} takes the rest"
        yield diagnose("CP213", at(f"{rests[0]}.rest"), label=label, labels=labels, pools=joined(rests))


def _empty_reserved(node_class: NodeClass, reserved: Pool, at: Locate) -> Iterator[Diagnostic]:
    size = next((name for name in ("cpus", "count", "cores") if getattr(reserved, name) is not None), None)
    if size and not getattr(reserved, size) and node_class.spec.kubelet.cpu_manager_policy == "static":
        yield diagnose("CP212", at(f"reserved.{size}"))


def _overlaps(pools: dict[str, Pool], at: Locate) -> Iterator[Diagnostic]:
    for (first, a), (second, b) in combinations(_lists(pools).items(), 2):
        if both := a & b:
            other = at(f"{first}.cpus")
            yield diagnose(
                "CP211",
                at(f"{second}.cpus"),
                label=f"{second} lists {cpus_text(b)}",
                labels=[Label(other, f"{first} lists {cpus_text(a)}")] if other else [],
                cpus=cpus_text(both),
                are="is" if len(both) == 1 else "are",
                them=_them(both),
                first=first,
                second=second,
            )


def _absent_cpus(node_class: NodeClass, pools: dict[str, Pool], at: Locate) -> Iterator[Diagnostic]:
    topology = node_class.topology
    present = topology.online | topology.offline
    for name, cpus in _lists(pools).items():
        place = at(f"{name}.cpus")
        if lacking := cpus - present:
            yield diagnose(
                "CP350",
                place,
                pool=name,
                cpus=cpus_text(lacking),
                them=_them(lacking),
                hardware=node_class.hardware,
                present=cpus_text(present),
            )
        if offline := cpus & topology.offline:
            yield diagnose(
                "CP351",
                place,
                pool=name,
                cpus=cpus_text(offline),
                they="it is" if len(offline) == 1 else "they are",
                them=_them(offline),
                name=node_class.name,
            )


def _split_cores(node_class: NodeClass, pools: dict[str, Pool], at: Locate) -> Iterator[Diagnostic]:
    topology = node_class.topology
    for name, cpus in _lists(pools).items():
        split = topology.split_cores(cpus)
        if split and pools[name].whole_cores:
            cores = union(split)
            yield diagnose(
                "CP352",
                at(f"{name}.cpus"),
                pool=name,
                cpus=cpus_text(cores & cpus),
                siblings=cpus_text(cores - cpus),
                cores="core" if len(split) == 1 else "cores",
                whole=(cpus & topology.online) | cores,
            )


def _boot_cpu(node_class: NodeClass, pools: dict[str, Pool], at: Locate) -> Iterator[Diagnostic]:
    """CPU 0 where reserved is a list without it, or where the list of another pool has it."""
    if 0 not in node_class.topology.online:
        return
    lists = _lists(pools)
    if "reserved" in lists and 0 not in lists["reserved"]:
        yield diagnose("CP214", at("reserved.cpus"), cpu=0)
        return
    for name, cpus in lists.items():
        if name != "reserved" and 0 in cpus and "reserved" not in lists:
            yield diagnose("CP214", at(f"{name}.cpus"), label=f"{name} lists it", cpu=0)


def _lists(pools: dict[str, Pool]) -> dict[str, CpuSet]:
    return {name: pool.cpus for name, pool in pools.items() if pool.cpus is not None}


def _them(cpus: CpuSet) -> str:
    return "it" if len(cpus) == 1 else "them"


def joined(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
