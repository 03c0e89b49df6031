"""Which CPUs move, in a line for each way that they go."""

from collections.abc import Iterable, Iterator, Sequence

from cpuplan.changes import Afresh, Change, Dropped, Resolved
from cpuplan.cpuset import cpus_text
from cpuplan.diagnostics import Reason
from cpuplan.pipeline import Moves
from cpuplan.solve.moves import Move
from cpuplan.source import Locate
from cpuplan.text import first_of, joined

#: More nodes are not named.
_MOST = 5


def lines(found: Iterable[Moves], locate: Locate) -> Iterator[str]:
    """`lab/du-xeon: CPUs 4,36 move from isolated to reserved: reserved takes 4 whole cores
    (intents/a.yaml:12)`.
    """
    for each in found:
        name = f"{each.node_class.cluster}/{each.node_class.name}{_of(each.nodes)}"
        for move in each.moves:
            why = "; ".join(_reason(reason, locate) for reason in move.because)
            yield f"{name}: {_told(move)}" + (f": {why}" if why else "")


def _of(nodes: Sequence[str]) -> str:
    return f" ({first_of(nodes, _MOST)})" if nodes else ""


def changes(found: Iterable[Change]) -> Iterator[str]:
    """What is to be known of a compilation beside CPUs that move."""
    for each in found:
        name = "/".join(each.key)
        match each:
            case Afresh(nodes=nodes, was=was, cpus=cpus):
                why = f"its layout is for CPUs {cpus}" if cpus else "its layout is not in the lock"
                had = f"although {first_of(nodes, _MOST)} had a layout in {was}"
                yield f"{name}: solved from scratch, {had}: {why}"
            case Resolved(before=before, now=now):
                yield f"{name}: solved by OR-Tools {now}; the previous layout by {before}"
            case Dropped(nodes=nodes):
                are = "is" if len(nodes) == 1 else "are"
                yield f"{name}: {first_of(nodes, _MOST)} {are} no longer compiled"


def _told(move: Move) -> str:
    one, shown = len(move.cpus) == 1, cpus_text(move.cpus)
    before, after = (joined(names) for names in (move.before, move.after))
    if not before:
        return f"{shown} {'comes' if one else 'come'} into {after}"
    if not after:
        return f"{shown} {'leaves' if one else 'leave'} {before}"
    return f"{shown} {'moves' if one else 'move'} from {before} to {after}"


def _reason(reason: Reason, locate: Locate) -> str:
    place = locate(reason.origin)
    if place:
        return f"{reason.text} ({place.path}:{place.line})"
    return f"{reason.text} ({reason.origin})" if reason.origin.startswith("rule ") else reason.text
