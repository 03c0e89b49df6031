"""Which CPUs move, in a line for each way that they go."""

from collections.abc import Callable, Iterable, Iterator

from cpuplan.cpuset import cpus_text
from cpuplan.diagnostics import Reason
from cpuplan.pipeline import Moves
from cpuplan.solve.moves import Move
from cpuplan.source import Position


def lines(found: Iterable[Moves], locate: Callable[[str], Position | None]) -> Iterator[str]:
    """`lab/du-xeon: CPUs 4,36 move from isolated to reserved: reserved takes 4 whole cores (intents/a.yaml:12)`."""
    for each in found:
        name = f"{each.node_class.cluster}/{each.node_class.name}"
        for move in each.moves:
            why = "; ".join(_reason(reason, locate) for reason in move.because)
            yield f"{name}: {_told(move)}" + (f": {why}" if why else "")


def _told(move: Move) -> str:
    one, shown = len(move.cpus) == 1, cpus_text(move.cpus)
    before, after = (" and ".join(names) for names in (move.before, move.after))
    if not before:
        return f"{shown} {'comes' if one else 'come'} into {after}"
    if not after:
        return f"{shown} {'leaves' if one else 'leave'} {before}"
    return f"{shown} {'moves' if one else 'move'} from {before} to {after}"


def _reason(reason: Reason, locate: Callable[[str], Position | None]) -> str:
    place = locate(reason.origin)
    if place:
        return f"{reason.text} ({place.path}:{place.line})"
    return f"{reason.text} ({reason.origin})" if reason.origin.startswith("rule ") else reason.text
