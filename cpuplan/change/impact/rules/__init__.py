"""What each platform does when what was compiled for its nodes changes: a rule with its source."""

from collections.abc import Iterator

from cpuplan.change.impact.rule_table import RULES
from cpuplan.change.impact.rules import api_objects, unmanaged
from cpuplan.change.impact.rules.inputs import Cluster, Context, Half, changed, halves
from cpuplan.change.impact.rules.openshift import pools as openshift
from cpuplan.change.impact.snapshot import Pair, Snapshot
from cpuplan.facts.settings.costs import Impact, Step

#: A cluster of which nothing is known but what was compiled.
_ALONE = Cluster()


def steps(
    pair: Pair, before: Snapshot, after: Snapshot, context: Context | None = None
) -> Iterator[Step]:
    """What happens to the nodes of a pair, in the order in which it happens.

    `context` is what their clusters have beside what was compiled; `context.of` reads it.
    """
    old, new = halves(pair, before, after)
    cluster = (context or {}).get(pair.cluster, _ALONE)
    yield from sorted(_steps(old, new, pair.cluster, cluster), key=_order)


def _order(step: Step) -> int:
    """A drain comes first; a reboot, which puts all into force, last."""
    return -1 if step.impact is Impact.DRAIN else step.impact


def _steps(before: Half, after: Half, name: str, cluster: Cluster) -> Iterator[Step]:
    changes = changed(before, after)
    yield from api_objects.steps(before, after, name)
    was, is_now = _platform(before), _platform(after)
    if was and is_now and was != is_now:
        yield RULES["other-platform"].step("the platform of the target", before=was, after=is_now)
    elif "openshift" in (was, is_now):
        yield from openshift.steps(before, after, changes, name, cluster)
    else:
        yield from unmanaged.steps(before, after, changes)


def _platform(half: Half) -> str:
    """The platform of a class; "" where its expected state does not say it."""
    state = half.state
    return state.release.platform if state else ""
