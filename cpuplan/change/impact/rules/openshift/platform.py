"""All that happens to the nodes of an OpenShift cluster."""

from collections.abc import Iterator, Sequence

from cpuplan.change.impact.impact import Step
from cpuplan.change.impact.rules import nodes
from cpuplan.change.impact.rules.context import Cluster
from cpuplan.change.impact.rules.differences import Changed, Half, origin_of, told, unequal
from cpuplan.change.impact.rules.openshift import pool as of_pool
from cpuplan.change.impact.rules.table import RULES
from cpuplan.components import runtimeclass
from cpuplan.components.openshift import performanceprofile, pool, tuned
from cpuplan.components.published import nrt

#: Components whose settings no MachineConfig and no KubeletConfig has.
_APART = frozenset({runtimeclass.NAME, tuned.NAME, nrt.NAME, pool.NAME, performanceprofile.NAME})


def steps(
    before: Half, after: Half, changes: tuple[Changed, ...], cluster: str, context: Cluster
) -> Iterator[Step]:
    """What operators do to the nodes of a pair."""
    of_tuned = [each for each in changes if each.component == tuned.NAME]
    if _is_hosted(after if after.key else before):
        yield from _hosted(before, after, changes, of_tuned)
        return
    yield from nodes.of_settings(each for each in changes if each.component == runtimeclass.NAME)
    if of_tuned:
        yield RULES["nto-tuned"].step(told(of_tuned), origin_of(of_tuned))
    made = list(of_pool.steps(before, after, changes, cluster, context))
    yield from made
    yield from _of_profile(before, after, changes, [*made, *of_tuned])


def _is_hosted(half: Half) -> bool:
    """Whether nodes are in a NodePool: only pools of the machine config operator have labels."""
    return half.value(pool.NAME, pool.LABELS) is None


def _hosted(
    before: Half, after: Half, changes: tuple[Changed, ...], of_tuned: Sequence[Changed]
) -> Iterator[Step]:
    if of_tuned:
        yield RULES["hosted-tuned"].step(told(of_tuned), origin_of(of_tuned))
    rolled = [each for each in changes if each.component not in _APART]
    files = _files(before, after)
    if rolled or files:
        because = told(rolled) or ", ".join(files)
        yield RULES["hosted-node-pool"].step(because, origin_of(rolled))


def _files(before: Half, after: Half) -> tuple[str, ...]:
    old, new = before.state, after.state
    return unequal(old.files if old else {}, new.files if new else {})


def _of_profile(
    before: Half, after: Half, changes: tuple[Changed, ...], made: Sequence[object]
) -> Iterator[Step]:
    """What a PerformanceProfile costs beyond the objects that are made from it."""
    own = [each for each in changes if each.component == performanceprofile.NAME]
    is_profile = any(
        entry["component"] == performanceprofile.NAME for entry in after.plan.get("settings", ())
    )
    if is_profile and _is_renamed(before, after):
        yield RULES["nto-renamed"].step(f"Intent {before.plan['intent']}")
    elif own and not made:
        yield RULES["nto-same"].step(told(own), origin_of(own))


def _is_renamed(before: Half, after: Half) -> bool:
    """Whether the nodes have a profile of another name in the same pool."""
    if not (before.key and after.key) or before.plan.get("pool") != after.plan.get("pool"):
        return False
    return bool(before.plan["intent"] != after.plan["intent"])
