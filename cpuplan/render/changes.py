"""What a compilation changes, a line each: CPUs that move, layouts that are solved again."""

from collections.abc import Hashable, Iterable, Iterator

from cpuplan.base.cpuset import cpus_text
from cpuplan.base.text import counted, first_of, joined
from cpuplan.diagnostics import Reason
from cpuplan.diagnostics.source import Locate
from cpuplan.pipeline import Moves
from cpuplan.pipeline.lock_diff import Afresh, Change, Dropped, Resolved
from cpuplan.solve.moves import Move

#: More nodes are not named.
_MOST = 5
#: Classes whose CPUs move for one reason that have a line each.
_FEW_ALIKE = 4


def move_lines(changed: Iterable[Moves], locate: Locate, *, every: bool = False) -> Iterator[str]:
    """`lab/du: CPUs 4,36 move from isolated to reserved: reserved is 0-4 (intents/a.yaml:12)`.

    Of many classes whose CPUs move for one reason the first is told, unless `every` one is.
    """
    groups: dict[Hashable, list[tuple[Moves, Move]]] = {}
    for moves in changed:
        for move in moves.moves:
            cluster = moves.node_class.cluster
            key = cluster, move.before, move.after, move.because, bool(moves.nodes)
            groups.setdefault(key, []).append((moves, move))
    for group in groups.values():
        shown = group if every or len(group) <= _FEW_ALIKE else group[:1]
        rest = len({moves.node_class.key for moves, _ in group[len(shown) :]})
        likewise = f", and those of {counted(rest, 'class')} more likewise" if rest else ""
        for moves, move in shown:
            nodes = f" ({first_of(moves.nodes, _MOST)})" if moves.nodes else ""
            reasons = [_reason(reason, locate) for reason in move.because]
            parts = [f"{moves.node_class.full_name}{nodes}", f"{direction(move)}{likewise}"]
            yield ": ".join([*parts, "; ".join(reasons)] if reasons else parts)


def change_lines(changes: Iterable[Change]) -> Iterator[str]:
    """What else changes."""
    for change in changes:
        name = "/".join(change.key)
        match change:
            case Afresh(nodes=nodes, was=was, cpus=cpus):
                why = f"its layout is for CPUs {cpus}" if cpus else "its layout is not in the lock"
                had = f"although {first_of(nodes, _MOST)} had a layout in {was}"
                yield f"{name}: solved from scratch, {had}: {why}"
            case Resolved(before=before, now=now):
                yield f"{name}: solved by OR-Tools {now}; the previous layout by {before}"
            case Dropped(nodes=nodes):
                verb = "is" if len(nodes) == 1 else "are"
                yield f"{name}: {first_of(nodes, _MOST)} {verb} no longer compiled"


def direction(move: Move) -> str:
    """`CPUs 4,36 move from isolated to reserved`."""
    cpus, ending = cpus_text(move.cpus), "s" if len(move.cpus) == 1 else ""
    before, after = joined(move.before), joined(move.after)
    if not before:
        return f"{cpus} come{ending} into {after}"
    if not after:
        return f"{cpus} leave{ending} {before}"
    return f"{cpus} move{ending} from {before} to {after}"


def _reason(reason: Reason, locate: Locate) -> str:
    place = locate(reason.origin)
    if place:
        return f"{reason.text} ({place.path}:{place.line})"
    return f"{reason.text} ({reason.origin})" if reason.origin.startswith("rule ") else reason.text
