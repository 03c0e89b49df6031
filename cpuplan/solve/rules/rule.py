"""A rule, what rules are built from, and the problem that they make."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cpuplan.cpuset import CpuSet
from cpuplan.diagnostics import Reason
from cpuplan.model.rulebook import EXPERT_RULES
from cpuplan.model.topology import UNKNOWN, Topology
from cpuplan.plan import NodeClass
from cpuplan.solve.constraints import Constraint
from cpuplan.solve.layout import Scope
from cpuplan.solve.said import said
from cpuplan.text import joined


class Rule(NamedTuple):
    """One statement: what it demands (all of `constraints`), why, and its `field` below the
    intent's spec.
    """

    name: str  # of the set that it is about; empty for all
    field: str
    reason: Reason
    constraints: tuple[Constraint, ...]

    @property
    def is_built_in(self) -> bool:
        """Whether nobody wrote it; `rules` of the intent is where somebody would."""
        return self.field.startswith("rules.")


class Problem(NamedTuple):
    """What is solved: the CPUs of a machine among the sets of these names, so that all rules
    hold.
    """

    topology: Topology
    names: tuple[str, ...]
    rules: tuple[Rule, ...]

    def having(self, rules: Iterable[Rule]) -> "Problem":
        """The same with other rules."""
        return self._replace(rules=tuple(rules))


class Statements:
    """An intent's statements on a class of machines, for the functions of RULES."""

    def __init__(self, node_class: NodeClass) -> None:
        self.node_class = node_class
        self.topology = node_class.topology
        self.sets = said(node_class)
        self._switched: dict[str, bool] = {}
        for switch in node_class.spec.rules:
            self._switched[switch.disable or switch.enable or ""] = switch.disable is None

    def is_on(self, name: str) -> bool:
        """Does the expert rule of this name hold here?"""
        return self._switched.get(name, EXPERT_RULES[name].on)

    def rule(self, name: str, field: str, text: str, *constraints: Constraint) -> Rule:
        """A statement that is written at `field`."""
        return Rule(name, field, self.node_class.reason(text, field), constraints)


def built_in(name: str, rule: str, text: str, *constraints: Constraint) -> Rule:
    """A rule that nobody wrote; a switch is where an intent would speak of it."""
    return Rule(name, f"rules.{rule}", Reason(text, f"rule {rule}"), constraints)


def machine(topology: Topology) -> Scope:
    """All CPUs."""
    return Scope("the machine", topology.online)


def scopes_of(topology: Topology, level: str) -> list[Scope]:
    """The machine, or each socket, NUMA node or last-level cache that has online CPUs."""
    parts: dict[str, tuple[str, dict[int, CpuSet]]] = {
        "socket": ("socket", topology.sockets),
        "numaNode": ("NUMA node", topology.numa_nodes),
        "cache": ("cache", topology.uncore_caches),
    }
    if level not in parts:
        return [machine(topology)]
    word, found = parts[level]
    return [
        Scope(f"{word} {number}", cpus)
        for number, cpus in found.items()
        if number != UNKNOWN or len(found) == 1
    ]


def named(scopes: Sequence[str]) -> str:
    """`NUMA node 1`, `each of NUMA nodes 0-3`: the names of scopes in words."""
    numbers: dict[str, list[int]] = {}
    for name in scopes:
        word, _, number = name.rpartition(" ")
        if len(scopes) == 1 or not number.isdigit():
            return joined(scopes)
        numbers.setdefault(word, []).append(int(number))
    return joined([f"each of {word}s {CpuSet(found)}" for word, found in numbers.items()])
