"""What a published change costs, for the message of its commit."""

from collections.abc import Iterator, Mapping

from cpuplan.base.text import counted
from cpuplan.change.impact import earlier, pairs, rules
from cpuplan.change.impact.impact import Impact, worst
from cpuplan.change.impact.rules.context import Context
from cpuplan.change.impact.sides import Side


def lines(
    before: Mapping[str, bytes], after: Mapping[str, bytes], context: Context
) -> Iterator[str]:
    """The impact on the nodes of each class that was on the branch before, a line each.

    A file that is damaged on the branch can be compared with nothing, and the line says so.
    """
    damaged = next(earlier.damaged(before, after), None)
    if damaged:
        yield f"what this costs the nodes is not known: {damaged} on the branch is damaged"
        return
    sides = Side(before), Side(after)
    for pair in pairs.pairs(*sides):
        impact = worst(rules.steps(pair, *sides, context)) if pair.before else Impact.NOTHING
        if impact is not Impact.NOTHING:
            key = pair.after or pair.before or ("", "")
            yield f"{'/'.join(key)}: {counted(len(pair.nodes), 'node')}: {impact.word}"
