"""A rule, the statements that rules are built from, and the problem that they make."""

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from functools import lru_cache
from typing import NamedTuple

from cpuplan.base.cpuset import CpuSet
from cpuplan.base.text import joined
from cpuplan.base.topology import UNKNOWN, Topology
from cpuplan.diagnostics import Reason
from cpuplan.language.model.vocabulary import EXPERT_RULES
from cpuplan.plan import NodeClass
from cpuplan.solve.constraints import Amount, Constraint, Share
from cpuplan.solve.layout import Scope, set_specs, with_siblings


class Rule(NamedTuple):
    """One statement: its constraints, the reason, and its `field` below the intent's spec."""

    name: str  # the set that it is about; empty for all
    field: str
    reason: Reason
    constraints: tuple[Constraint, ...]
    #: Whether the set has its CPUs because of it; not of what nearly every layout does by itself.
    is_reason: bool = True

    def __hash__(self) -> int:
        """Of the texts: constraints on many parts of a machine take long, and say no more."""
        return hash((self.name, self.field, self.reason.text))

    @property
    def is_built_in(self) -> bool:
        """Whether no intent has it; an intent switches it in `rules`."""
        return self.field.startswith("rules.")

    @property
    def amounts(self) -> list[Amount]:
        return [constraint for constraint in self.constraints if isinstance(constraint, Amount)]

    @property
    def beside_amounts(self) -> list[Constraint]:
        """The constraints that are no amounts."""
        return [constraint for constraint in self.constraints if not isinstance(constraint, Amount)]

    @property
    def shares(self) -> list[Share]:
        return [constraint for constraint in self.constraints if isinstance(constraint, Share)]


class Problem(NamedTuple):
    """What is solved: the CPUs of a machine are divided among sets so that all rules hold."""

    topology: Topology
    names: tuple[str, ...]
    rules: tuple[Rule, ...]

    def having(self, rules: Iterable[Rule]) -> "Problem":
        """The same problem with other rules."""
        return self._replace(rules=tuple(rules))


class Statements:
    """An intent's statements on a class of machines, for the functions of RULES."""

    def __init__(self, node_class: NodeClass) -> None:
        self.node_class = node_class
        self.topology = node_class.topology
        self.sets = set_specs(node_class)
        self.one_thread = with_siblings(self.sets)
        self._switched: dict[str, bool] = {}
        for switch in node_class.spec.rules:
            self._switched[switch.disable or switch.enable or ""] = switch.disable is None

    def with_numbers(self, name: str, update: Mapping[str, int]) -> "Statements":
        """The same statements, with other numbers of one set: no other set depends on them."""
        made = copy(self)
        spec = self.sets[name]
        made.sets = {**self.sets, name: spec._replace(pool=spec.pool.model_copy(update=update))}
        return made

    def is_on(self, name: str) -> bool:
        """Whether the expert rule of this name holds here."""
        return self._switched.get(name, EXPERT_RULES[name].on)

    def rule(self, name: str, field: str, text: str, *constraints: Constraint) -> Rule:
        """A statement that is written at `field`."""
        return Rule(name, field, self.node_class.reason(text, field), constraints)


def built_in(name: str, rule: str, text: str, *constraints: Constraint, field: str = "") -> Rule:
    """A rule that no intent has; without a `field` it stands where an intent would switch it."""
    return Rule(name, field or f"rules.{rule}", Reason(text, f"rule {rule}"), constraints)


def machine(topology: Topology) -> Scope:
    """All CPUs."""
    return Scope("the machine", topology.online)


@lru_cache(maxsize=32)
def scopes_of(topology: Topology, level: str) -> tuple[Scope, ...]:
    """The machine, or each socket, NUMA node, die or last-level cache that has online CPUs.

    It is the same tuple each time, which thousands of statements share.
    """
    if level == "die":
        return tuple(_dies(topology))
    levels: dict[str, tuple[str, dict[int, CpuSet]]] = {
        "socket": ("socket", topology.sockets),
        "numaNode": ("NUMA node", topology.numa_nodes),
        "cache": ("cache", topology.uncore_caches),
    }
    if level not in levels:
        return (machine(topology),)
    word, parts = levels[level]
    return tuple(
        Scope(f"{word} {number}", cpus)
        for number, cpus in parts.items()
        if number != UNKNOWN or len(parts) == 1
    )


def _dies(topology: Topology) -> list[Scope]:
    """Each die of each socket; none where the machine's dies are not known."""
    scopes = []
    for socket, cpus in topology.sockets.items():
        dies = {die: cpus & others for die, others in topology.dies.items() if die != UNKNOWN}
        scopes += [
            Scope(f"die {die} of socket {socket}", part) for die, part in dies.items() if part
        ]
    return scopes


def named(scopes: Sequence[str]) -> str:
    """`NUMA node 1`, `each of NUMA nodes 0-3`: the names of scopes in words."""
    numbers: dict[str, list[int]] = {}
    for name in scopes:
        word, _, number = name.rpartition(" ")
        if len(scopes) == 1 or not number.isdigit():
            return joined(scopes)
        numbers.setdefault(word, []).append(int(number))
    return joined([f"each of {word}s {CpuSet(same)}" for word, same in numbers.items()])
