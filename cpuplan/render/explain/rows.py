"""Tables of two columns, and what every explanation ends with: reasons and alternatives."""

from collections.abc import Iterable, Iterator, Sequence

from cpuplan.diagnostics import Reason
from cpuplan.diagnostics.source import Locate
from cpuplan.solve.alternatives import Alternative, Moves


def table(rows: Sequence[tuple[str, str]]) -> list[str]:
    """Rows of two columns; a first column that repeats is written once."""
    width = max((len(first) for first, _ in rows), default=0)
    lines = []
    before = None
    for first, second in rows:
        lines.append(f"  {'' if first == before else first:<{width}}  {second}")
        before = first
    return lines


def because(reasons: Iterable[Reason], locate: Locate) -> list[str]:
    """Each reason once, with the line that it comes from; nothing without reasons."""
    rows = list(dict.fromkeys(_located(reason, locate) for reason in reasons))
    return ["", "because", *table(rows)] if rows else []


def alternative_lines(alternatives: Iterable[Alternative], locate: Locate) -> Iterator[str]:
    """What else could be, and its price: the goals that get worse, or what forbids it."""
    for alternative in alternatives:
        yield ""
        if not alternative.is_known:
            yield f"{alternative.wish}: not known within the limit (--time-limit)"
        elif alternative.conflict:
            doubt = "" if alternative.is_proven else " (perhaps not all of it is needed)"
            yield f"{alternative.wish}: there is no such layout, because{doubt}"
            yield from table([_located(reason, locate) for reason in alternative.conflict])
        else:
            doubt = "" if alternative.is_proven else " of what was found within the limit"
            yield f"{alternative.wish}, at best{doubt}"
            yield from table([*_differences(alternative), *map(_moved, alternative.moves)])


def _differences(alternative: Alternative) -> Iterator[tuple[str, str]]:
    for difference in alternative.differences:
        yield f"{'worse' if difference.is_worse else 'better'} {difference.goal}", difference.text
    if not alternative.differences:
        yield "no goal", "distinguishes it from this layout, which is the canonical choice"
    elif not alternative.differences[0].is_worse:
        text = "because it is committed; `cpuplan compile --resolve` takes the better one"
        yield "kept", text


def _moved(moves: Moves) -> tuple[str, str]:
    words = [f"loses {moves.loses}"] if moves.loses else []
    words += [f"gets {moves.gets}"] if moves.gets else []
    return moves.name, ", ".join(words)


def _located(reason: Reason, locate: Locate) -> tuple[str, str]:
    """The text, and `intents/ran.yaml:14:7`, or `built-in rule whole-cores` if no file says it."""
    if ":" not in reason.origin:
        return reason.text, f"built-in {reason.origin or 'rule'}"
    return reason.text, str(locate(reason.origin) or reason.origin)
