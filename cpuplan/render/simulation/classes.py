"""What became of pods on the nodes of each class: a line for each, and the nodes that differ."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from cpuplan.base.naming import fold_names
from cpuplan.base.text import counted, listed
from cpuplan.render.text import MOST, Line, Member, interval, table, together
from cpuplan.simulate.fleet import Result, Simulated, groups_of_nodes, number_of_nodes, workload_of

_HEAD = ("CLASS", "NODES", "PODS", "REFUSED", "CPUS LEFT", "LARGEST REQUEST")
_NUMBER = re.compile(r"\d+")
#: Ranges of names in a line, and lines of refusals, before the others are only counted.
_MOST_RANGES, _MOST_REASONS = 4, 10
#: Lines of what is unlike the others.
_MOST_OUTLIERS = 10


def by_class(result: Result) -> str:
    """The table of several classes, and why pods were refused; nothing for a single class.

    Of many classes a line for what they have in common.
    """
    found = together(result.nodes, _member)
    classes = {member for line in found for member in line.members}
    if len(classes) < 2:
        return ""
    shown = list(found.items())[:MOST]
    head = _HEAD if len(classes) == len(found) else ("CLASSES", *_HEAD[1:])
    lines = [table([head, *(_row(line.title, nodes) for line, nodes in shown)]).rstrip("\n")]
    if rest := [node for nodes in list(found.values())[MOST:] for node in nodes]:
        lines.append(f"and {counted(number_of_nodes(rest), 'node')} more")
    outliers = [text for line, nodes in found.items() for text in _told(line, nodes)]
    lines += outliers[:_MOST_OUTLIERS]
    if len(outliers) > _MOST_OUTLIERS:
        lines.append(f"and {len(outliers) - _MOST_OUTLIERS} more that differ; -v shows them")
    lines += _reasons(result.nodes)
    return "\n".join(lines) + "\n"


def _member(node: Simulated) -> Member:
    of = node.plan.node_class
    return Member(of.cluster, of.intent, of.name)


def _name(node: Simulated) -> str:
    return node.plan.node_class.full_name


def _row(name: str, nodes: Sequence[Simulated]) -> tuple[str, ...]:
    """Numbers of each node, from the least to the most, where they differ."""
    left = [node.outcome.remainder.left for node in nodes]
    return (
        name,
        str(number_of_nodes(nodes)),
        interval(_admitted(node) for node in nodes),
        str(sum(_refused(node) * len(node.nodes) for node in nodes)),
        interval(each.cpus.bit_count() for each in left if each),
        interval(each.largest for each in left if each),
    )


def _told(line: Line, nodes: Sequence[Simulated]) -> Iterator[str]:
    """The few classes of a line with refusals, or without, then nodes unlike their class."""
    by_class: dict[str, list[Simulated]] = {}
    for node in nodes:
        by_class.setdefault(_name(node), []).append(node)
    refusing = [name for name, own in by_class.items() if any(map(_refused, own))]
    others = [name for name in by_class if name not in refusing]
    if refusing and others:
        few, which = (refusing, "refusals") if len(refusing) < len(others) else (others, "all fits")
        yield f"{which} in {line.title}: {listed(few, _MOST_RANGES)}"
    for name, own in by_class.items():
        yield from _outliers(name, own)


def _refused(node: Simulated) -> int:
    outcomes = node.outcome.outcomes
    return sum(outcome.refused is not None and not outcome.is_unknown for outcome in outcomes)


def _admitted(node: Simulated) -> int:
    return sum(not outcome.refused for outcome in node.outcome.outcomes)


def _outliers(name: str, nodes: Sequence[Simulated]) -> Iterator[str]:
    """The nodes of a class that are in another state than most of it."""
    states = sorted(groups_of_nodes(nodes, across_classes=False), key=lambda node: -len(node.nodes))
    for state in states[1:]:
        ranges = listed(fold_names(state.nodes), _MOST_RANGES)
        left = state.outcome.remainder.left
        free = f", {counted(left.cpus.bit_count(), 'CPU')} left" if left else ""
        no = f", {_refused(state)} refused" if _refused(state) else ""
        yield f"not as most of {name}: {ranges}: {counted(_admitted(state), 'pod')}{no}{free}"


def _reasons(nodes: Iterable[Simulated]) -> Iterator[str]:
    """Refusals by workload and reason, with the classes of the nodes that gave them.

    Reasons that differ in their numbers are one: machines of other sizes give other numbers.
    """
    found: dict[tuple[str, str], Counter[str]] = {}
    reasons: dict[tuple[str, str], set[str]] = {}
    for node in nodes:
        for outcome in node.outcome.outcomes:
            if outcome.refused and not outcome.is_unknown:
                pods = "/".join(filter(None, workload_of(outcome.pod)))
                reason = f"{outcome.refused.reason}: {outcome.refused.message}"
                key = pods, _NUMBER.sub("0", reason)
                found.setdefault(key, Counter())[_name(node)] += len(node.nodes)
                reasons.setdefault(key, set()).add(reason)
    for key, classes in list(found.items())[:_MOST_REASONS]:
        where = [f"{number} on {name}" for name, number in classes.items()]
        more = " (elsewhere with other numbers)" if len(reasons[key]) > 1 else ""
        yield f"refused: {key[0]} ({listed(where, _MOST_RANGES)}): {min(reasons[key])}{more}"
    if len(found) > _MOST_REASONS:
        yield f"and {len(found) - _MOST_REASONS} other reasons; -v shows them"
