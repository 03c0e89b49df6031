"""Tables of what there is: classes of a plan, server models, the releases that are known."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from cpuplan.base.cpuset import cpus_text
from cpuplan.base.naming import fold_names
from cpuplan.base.text import counted, listed
from cpuplan.facts.programs import Known, Program
from cpuplan.fleet import hardware
from cpuplan.language.model.inventory import HardwareSpec
from cpuplan.language.model.pools import POOLS
from cpuplan.language.read.documents import Document
from cpuplan.plan import NodeClass, NodePlan
from cpuplan.render.text import MOST, Line, Member, interval, table, together

_CLASSES = ("CLUSTER", "NODES", "INTENT", "HARDWARE", "CPUS", *(pool.upper() for pool in POOLS))
#: Ranges of names in a line before the others are only counted.
_MOST_RANGES = 2
#: Server models in a line, lines of what is special, and classes in one of these.
_MOST_MODELS, _MOST_NOTES, _MOST_NAMED = 2, 10, 4
_PROGRAMS = ("PROGRAM", "RELEASES", "KNOWN BY", "UP TO")
_MODELS = ("NAME", "SOCKETS", "CORES", "CPUS", "NUMA NODES", "L3", "MODEL")


def classes(plans: Sequence[NodePlan], *, every: bool = False) -> str:
    """A line for each class: its nodes, intent and hardware, and how many CPUs each pool has.

    Where something is special about a class, a last column says what. Of many classes, unless
    `every` one is asked for, a line for what they have in common, and what is special by its name.
    """
    notes = special_of(plans)
    lines = together(plans, _member, every=every)
    if any(len(line.members) > 1 for line in lines):
        return "".join(_summed(lines, dict(zip(map(id, plans), notes, strict=True))))
    rows = [_class(plan) for plan in plans]
    if any(notes):
        rows = [(*row, note) for row, note in zip(rows, notes, strict=True)]
        return table([(*_CLASSES, "SPECIAL"), *rows])
    return table([_CLASSES, *rows])


def _member(plan: NodePlan) -> Member:
    of = plan.node_class
    return Member(of.cluster, of.intent, of.name)


def _summed(lines: Mapping[Line, Sequence[NodePlan]], notes: Mapping[int, str]) -> Iterator[str]:
    """A line for several classes each, and those about which something is special, by id."""
    shown = list(lines.items())[:MOST]
    rows = [_several(line.title, plans) for line, plans in shown]
    yield table([("CLASSES", "NODES", "HARDWARE", "CPUS", *_CLASSES[5:]), *rows])
    plans = [plan for members in lines.values() for plan in members]
    yield from _rest(lines, len(shown))
    noted = [text for line, members in lines.items() for text in _noted(line, members, notes)]
    yield from noted[:_MOST_NOTES]
    if len(noted) > _MOST_NOTES:
        yield f"and {len(noted) - _MOST_NOTES} more that are special\n"
    nodes = sum(len(plan.node_class.nodes) for plan in plans)
    number = f"{counted(nodes, 'node')} in {counted(len(plans), 'class')}"
    yield f"{number}; -v shows each class, and a name one node\n"


def _noted(line: Line, plans: Sequence[NodePlan], notes: Mapping[int, str]) -> Iterator[str]:
    """What is special about all classes of a line, or about some of them, which are named."""
    names: dict[str, list[str]] = {}
    for plan in plans:
        names.setdefault(notes[id(plan)], []).append(plan.node_class.full_name)
    for note, own in names.items():
        if note:
            whose = line.title if len(own) == len(plans) else listed(own, _MOST_NAMED)
            yield f"{whose}: {note}\n"


def _rest(lines: Mapping[Line, Sequence[NodePlan]], shown: int) -> Iterator[str]:
    if rest := [plan for plans in list(lines.values())[shown:] for plan in plans]:
        nodes = sum(len(plan.node_class.nodes) for plan in rest)
        yield f"and {counted(nodes, 'node')} in {counted(len(rest), 'class')} more\n"


def _several(title: str, plans: Sequence[NodePlan]) -> tuple[str, ...]:
    nodes = sum(len(plan.node_class.nodes) for plan in plans)
    models = list(dict.fromkeys(plan.node_class.hardware for plan in plans))
    sizes = [_sizes(plans, pool) for pool in POOLS]
    cpus = interval(len(plan.topology.online) for plan in plans)
    return (title, str(nodes), listed(models, _MOST_MODELS), cpus, *sizes)


def _sizes(plans: Sequence[NodePlan], pool: str) -> str:
    return interval(len(plan.pool(pool).cpus) for plan in plans)


def special_of(plans: Sequence[NodePlan]) -> list[str]:
    """What is special about each class; nothing of most."""
    kin: dict[tuple[str, str, str], list[NodeClass]] = {}
    classes = [plan.node_class for plan in plans]
    for of in classes:
        kin.setdefault((of.cluster, of.intent, of.hardware), []).append(of)
    return [", ".join(_special(of, kin[of.cluster, of.intent, of.hardware])) for of in classes]


def _special(node_class: NodeClass, kin: Sequence[NodeClass]) -> Iterator[str]:
    """What distinguishes a class: it is paused, or unlike most nodes of its hardware."""
    if node_class.spec.paused:
        yield "paused"
    usual = max(kin, key=lambda other: len(other.nodes))
    if usual is node_class:
        return
    missing = usual.topology.online - node_class.topology.online
    more = node_class.topology.online - usual.topology.online
    if missing:
        yield f"{cpus_text(missing)} offline"
    if more:
        yield f"{cpus_text(more)} online"
    if usual.devices != node_class.devices:
        yield "other devices"
    if not (missing or more) and usual.devices == node_class.devices:
        yield f"unlike {usual.name}"


def models(entries: Iterable[Document]) -> str:
    """A line for each server model: its name, and what it has."""
    return table([_MODELS, *(_model(entry.name, entry.spec) for entry in entries)])


def _class(plan: NodePlan) -> tuple[str, ...]:
    node_class = plan.node_class
    nodes = listed(fold_names(node_class.nodes), _MOST_RANGES)
    if len(node_class.nodes) > 1:
        nodes += f" ({len(node_class.nodes)})"
    cpus = str(len(plan.topology.online))
    sizes = [str(len(plan.pool(pool).cpus)) for pool in POOLS]
    return (node_class.cluster, nodes, node_class.intent, node_class.hardware, cpus, *sizes)


def _model(name: str, spec: HardwareSpec) -> tuple[str, ...]:
    sizes = [""] * 5
    topology, _ = hardware.build(spec)
    if topology is not None:
        caches = topology.uncore_caches
        groups = (topology.sockets, topology.cores, topology.cpus, topology.numa_facts, caches)
        sizes = [str(len(group)) for group in groups]
    return (name, *sizes, spec.model or "")


def programs(chosen: Sequence[Program], *, every: bool = False) -> str:
    """A line for each release, or for the neighbours that are known in the same way."""
    rows = [row for program in chosen for row in _releases(program, every=every)]
    return table([_PROGRAMS, *rows])


def _releases(program: Program, *, every: bool) -> Iterator[tuple[str, ...]]:
    for _, group in groupby(program.releases, key=lambda known: _key(known, every=every)):
        together = list(group)
        names = Program(*program[:4], tuple(together)).span.removeprefix("from ")
        yield program.name, _with_state(names, together), _how(together), program.until


def _key(known: Known, *, every: bool) -> tuple[str, ...]:
    if every:
        return (known.name,)
    of = "" if known.is_certain else known.of
    return known.basis, of, known.state


def _with_state(names: str, together: Sequence[Known]) -> str:
    state = together[0].state
    return f"{names} ({state})" if state else names


def _how(together: Sequence[Known]) -> str:
    """The words of one release; of several what they share."""
    first = together[0]
    if len(together) == 1 or not first.is_certain:
        return first.words
    return f"{first.words.split(' at ')[0]} of each"


def programs_data(chosen: Sequence[Program]) -> dict[str, Any]:
    """The whole table."""
    return {"programs": [_program(program) for program in chosen]}


def _program(program: Program) -> dict[str, Any]:
    return {
        "name": program.name,
        "title": program.title,
        "project": program.project,
        "until": program.until,
        "releases": [_release(known) for known in program.releases],
    }


def _release(known: Known) -> dict[str, Any]:
    row = {"name": known.name, "basis": known.basis.value, "of": known.of, "how": known.words}
    if known.kubernetes:
        row["kubernetes"] = ".".join(map(str, known.kubernetes))
    return row | ({"state": known.state} if known.state else {})
