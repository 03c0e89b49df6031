"""What became of pods on the nodes of each class: a line for each, and the nodes that differ."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from cpuplan.name_ranges import fold_names
from cpuplan.render.columns import table
from cpuplan.simulate.alike import alike, workload
from cpuplan.simulate.fleet import Result, Simulated
from cpuplan.text import counted, listed

_HEAD = ("CLASS", "NODES", "PODS", "REFUSED", "CPUS LEFT", "LARGEST REQUEST")
#: Ranges of names in a line, and lines of refusals, before the others are only counted.
_MOST_RANGES, _MOST_REASONS = 4, 10


def by_class(result: Result) -> str:
    """The table of several classes, and why pods were refused; nothing for a single class."""
    classes: dict[str, list[Simulated]] = {}
    for node in result.nodes:
        classes.setdefault(_name(node), []).append(node)
    if len(classes) < 2:
        return ""
    lines = [table([_HEAD, *(_row(name, nodes) for name, nodes in classes.items())]).rstrip("\n")]
    for name, nodes in classes.items():
        lines += _outliers(name, nodes)
    lines += _reasons(result.nodes)
    return "\n".join(lines) + "\n"


def _name(node: Simulated) -> str:
    return node.plan.node_class.full_name


def _row(name: str, nodes: Sequence[Simulated]) -> tuple[str, ...]:
    """Numbers of each node, from the least to the most, where they differ."""
    left = [node.outcome.remainder.left for node in nodes]
    return (
        name,
        str(_count(nodes)),
        _range(_admitted(node) for node in nodes),
        str(sum(_refused(node) * len(node.nodes) for node in nodes)),
        _range(each.cpus.bit_count() for each in left if each),
        _range(each.largest for each in left if each),
    )


def _range(numbers: Iterable[int]) -> str:
    """`7`, `5 to 7`; a line for numbers that nobody knows."""
    found = sorted(set(numbers))
    if not found:
        return "-"
    return str(found[0]) if len(found) == 1 else f"{found[0]} to {found[-1]}"


def _count(nodes: Iterable[Simulated]) -> int:
    return sum(len(node.nodes) for node in nodes)


def _refused(node: Simulated) -> int:
    return sum(bool(outcome.refused) for outcome in node.outcome.outcomes)


def _admitted(node: Simulated) -> int:
    return len(node.outcome.outcomes) - _refused(node)


def _outliers(name: str, nodes: Sequence[Simulated]) -> Iterator[str]:
    """The nodes of a class that are in another state than most of it."""
    states = sorted(alike(nodes, across_classes=False), key=lambda node: -len(node.nodes))
    for state in states[1:]:
        ranges = listed(fold_names(state.nodes), _MOST_RANGES)
        left = state.outcome.remainder.left
        free = f", {counted(left.cpus.bit_count(), 'CPU')} left" if left else ""
        no = f", {_refused(state)} refused" if _refused(state) else ""
        yield f"not as most of {name}: {ranges}: {counted(_admitted(state), 'pod')}{no}{free}"


def _reasons(nodes: Iterable[Simulated]) -> Iterator[str]:
    """Refusals by workload and reason, with the classes of the nodes that gave them."""
    found: dict[tuple[str, str], Counter[str]] = {}
    for node in nodes:
        for outcome in node.outcome.outcomes:
            if outcome.refused:
                pods = "/".join(filter(None, workload(outcome.pod)))
                reason = f"{outcome.refused.reason}: {outcome.refused.message}"
                found.setdefault((pods, reason), Counter())[_name(node)] += len(node.nodes)
    for (pods, reason), classes in list(found.items())[:_MOST_REASONS]:
        where = [f"{number} on {name}" for name, number in classes.items()]
        yield f"refused: {pods} ({listed(where, _MOST_RANGES)}): {reason}"
    if len(found) > _MOST_REASONS:
        yield f"and {len(found) - _MOST_REASONS} other reasons; -v shows them"
