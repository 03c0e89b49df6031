"""Steps by what a setting costs alone: rules that tests of everything else can predict."""

from collections.abc import Iterator, Mapping

from cpuplan.change.impact.snapshot import Pair, Snapshot
from cpuplan.facts.settings.costs import Cost, Impact, Step
from cpuplan.plan.expected.state import Expected
from cpuplan.plan.setting import Setting

_IMPACTS = {
    Cost.NOTHING: Impact.LIVE,
    Cost.SYSTEMD_RELOAD: Impact.LIVE,
    Cost.REBOOT: Impact.REBOOT,
}


def _settings(state: Expected | None) -> Mapping[tuple[str, str], Setting]:
    settings = state.settings if state else ()
    return {(setting.component, setting.key): setting for setting in settings}


def steps(pair: Pair, before: Snapshot, after: Snapshot, context: object = None) -> Iterator[Step]:
    """A step for each setting that differs; none for nodes that come or go.

    `context` is for the rules of platforms: what clusters have beside what was compiled.
    """
    del context
    if pair.before is None or pair.after is None:
        return
    states = before.state(pair.before), after.state(pair.after)
    old, new = map(_settings, states)
    for key in sorted(old.keys() | new.keys()):
        was, now = old.get(key), new.get(key)
        some = now or was
        if some and some.effect and (was and was.value) != (now and now.value):
            cost = some.effect.change_costs
            impact = _IMPACTS.get(cost, Impact.RESTART)
            origin = some.reasons[0].origin
            yield Step(impact, cost.value, " ".join(key), f"cost/{cost.name.lower()}", origin)
