"""What all texts share: columns, colours, differences, and one line for many classes."""

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from difflib import unified_diff
from typing import NamedTuple, TypeVar

from cpuplan.base.text import counted, inert_in_logs, printable_lines, printable_values

#: The basic sixteen colours, so that a terminal's own theme holds. Pools: blue, yellow and cyan
#: differ to every kind of colour blindness in hue or in brightness.
STYLES = {
    "error": "1;31",
    "warning": "1;33",
    "note": "1;36",
    "place": "34",
    "added": "32",
    "removed": "31",
    "bold": "1",
    "dim": "2",
    "reserved": "97;44",
    "shared": "30;43",
    "isolated": "30;46",
    "isolcpus": "30;47",
    "offlined": "97;100",
    "offline": "2",
}
#: Partitions of isolated: its cyan, greens, underlined and bold, to have some with eight colours.
_PARTITIONS = (
    "30;42 30;106 30;102 4;30;46 4;30;42 4;30;106 4;30;102 "
    "1;30;46 1;30;42 1;30;106 1;30;102 1;4;30;46"
)
#: Containers with exclusive CPUs: magenta and red, which no pool has.
_OWNERS = "97;45 97;41 30;105 30;101 4;97;45 4;97;41"
STYLES |= {f"partition{number}": style for number, style in enumerate(_PARTITIONS.split())}
STYLES |= {f"owner{number}": style for number, style in enumerate(_OWNERS.split())}


def paint(text: str, style: str, colour: bool) -> str:
    """`text`, printable, in a style of STYLES; plain without colour and for another style."""
    text = printable_lines(text)
    if not colour or not text or style not in STYLES:
        return text
    return f"\x1b[{STYLES[style]}m{text}\x1b[0m"


def on_terminal(text: str, *, colour: bool, has_own_commands: bool = False) -> str:
    """All that is printed, without terminal controls except for the colours of STYLES.

    Nor does it tell a CI system to do something, unless it `has_own_commands`.
    """
    text = inert_in_logs(text, has_own_commands=has_own_commands)
    if not colour:
        return printable_lines(text)
    codes = "|".join({"0", *STYLES.values()})
    parts = re.split(f"(\x1b\\[(?:{codes})m)", text)  # every second one is a colour
    parts[::2] = map(printable_lines, parts[::2])
    return "".join(parts)


def table(rows: Sequence[tuple[str, ...]]) -> str:
    """Columns as wide as they need."""
    rows = printable_values(tuple(rows))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        lines.append("  ".join(cells).rstrip() + "\n")
    return "".join(lines)


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
        numbers = [len(set(map(rule.key, classes))) for rule in _RULES]
        few = [rule for rule, number in zip(_RULES, numbers, strict=True) if number <= MOST]
        rule = few[0] if few else _RULES[numbers.index(min(numbers))]
    members: dict[Hashable, list[Member]] = {}
    for member in classes:
        members.setdefault(rule.key(member), []).append(member)
    lines = {key: Line(rule.title(own), tuple(own)) for key, own in members.items()}
    by_line: dict[Line, list[Item]] = {line: [] for line in lines.values()}
    for member, item in given:
        by_line[lines[rule.key(member)]].append(item)
    return by_line


def interval(numbers: Iterable[int]) -> str:
    """`7`, `5 to 7`; a line for numbers that nobody knows."""
    values = sorted(set(numbers))
    if not values:
        return "-"
    return str(values[0]) if len(values) == 1 else f"{values[0]} to {values[-1]}"


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


_STYLES = {"+": "added", "-": "removed", "@": "place"}


def unified(path: str, before: str | None, after: str, *, colour: bool) -> str:
    """The difference of two texts of the file at `path`; `before` is None for a new file."""
    start = "/dev/null" if before is None else path
    lines = unified_diff((before or "").splitlines(), after.splitlines(), start, path, lineterm="")
    text = ""
    for number, line in enumerate(lines):
        style = "bold" if number < 2 else _STYLES.get(line[:1], "")
        text += paint(line, style, colour) + "\n"
    return text
