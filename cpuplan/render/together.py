"""What is told of many classes of nodes: one line for each, or for what they have in common."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import NamedTuple, TypeVar

from cpuplan.base.text import counted

Item = TypeVar("Item")

#: Lines that fit on a screen, with what stands around them.
MOST = 30


class Member(NamedTuple):
    """The class that something is told of."""

    cluster: str
    intent: str
    name: str


class Line(NamedTuple):
    """What is told in one line: of a class, or of several."""

    title: str
    members: tuple[Member, ...]


def together(
    items: Iterable[Item], of: Callable[[Item], Member], *, every: bool = False
) -> dict[Line, list[Item]]:
    """The items of each line: of each class, while they are few or `every` one is asked for.

    Else of each intent in a cluster, or of each intent, or cluster: the first of these that is few,
    and the shortest where none is.
    """
    given = [(of(item), item) for item in items]
    classes = list(dict.fromkeys(member for member, _ in given))
    rule = _Rule(lambda member: (member.cluster, member.name), _class)
    if len(classes) > MOST and not every:
        numbers = [len(set(map(each.key, classes))) for each in _RULES]
        few = [each for each, number in zip(_RULES, numbers, strict=True) if number <= MOST]
        rule = few[0] if few else _RULES[numbers.index(min(numbers))]
    members: dict[Hashable, list[Member]] = {}
    for member in classes:
        members.setdefault(rule.key(member), []).append(member)
    lines = {key: Line(rule.title(own), tuple(own)) for key, own in members.items()}
    found: dict[Line, list[Item]] = {line: [] for line in lines.values()}
    for member, item in given:
        found[lines[rule.key(member)]].append(item)
    return found


def interval(numbers: Iterable[int]) -> str:
    """`7`, `5 to 7`; a line for numbers that nobody knows."""
    found = sorted(set(numbers))
    if not found:
        return "-"
    return str(found[0]) if len(found) == 1 else f"{found[0]} to {found[-1]}"


class _Rule(NamedTuple):
    """What the classes of a line have in common, and what they are called."""

    key: Callable[[Member], Hashable]
    title: Callable[[Sequence[Member]], str]


def _class(members: Sequence[Member]) -> str:
    return f"{members[0].cluster}/{members[0].name}"


def _in_cluster(members: Sequence[Member]) -> str:
    first = members[0]
    return _with_number(f"{first.cluster}/{first.intent}", members)


def _of_intent(members: Sequence[Member]) -> str:
    clusters = {member.cluster for member in members}
    return _with_number(f"{members[0].intent}, {counted(len(clusters), 'cluster')}", members)


def _of_cluster(members: Sequence[Member]) -> str:
    intents = {member.intent for member in members}
    return _with_number(f"{members[0].cluster}, {counted(len(intents), 'intent')}", members)


def _with_number(title: str, members: Sequence[Member]) -> str:
    return f"{title} ({counted(len(members), 'class')})"


_RULES = (
    _Rule(lambda member: (member.cluster, member.intent), _in_cluster),
    _Rule(lambda member: member.intent, _of_intent),
    _Rule(lambda member: member.cluster, _of_cluster),
)
