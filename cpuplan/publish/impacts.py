"""What a published change costs, for the message of its commit."""

from collections.abc import Iterator, Mapping

import yaml

from cpuplan.impact import pairs, rules
from cpuplan.impact.impact import Impact, worst
from cpuplan.impact.rules.context import Context
from cpuplan.impact.sides import Side
from cpuplan.text import counted


def lines(
    before: Mapping[str, bytes], after: Mapping[str, bytes], context: Context
) -> Iterator[str]:
    """The impact on the nodes of each class that was on the branch before, a line each.

    A class that is damaged on the branch can be compared with nothing, and the line says so.
    """
    sides = Side(before), Side(after)
    try:
        for pair in pairs.pairs(*sides):
            impact = worst(rules.steps(pair, *sides, context)) if pair.before else Impact.NOTHING
            if impact is not Impact.NOTHING:
                key = pair.after or pair.before or ("", "")
                yield f"{'/'.join(key)}: {counted(len(pair.nodes), 'node')}: {impact.word}"
    except (ValueError, KeyError, TypeError, AttributeError, yaml.YAMLError):
        yield "what this costs the nodes is not known: a compiled file on the branch is damaged"
