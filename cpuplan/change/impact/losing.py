"""Pods that lose CPUs of their own where another mechanism gives out the CPUs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from cpuplan.change.impact.comparison import Change
from cpuplan.change.impact.sides import Side
from cpuplan.components import derived
from cpuplan.components.dra import driver
from cpuplan.components.nri import balloons, topologyaware
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.fleet.before import Key
from cpuplan.plan import ConfiguredPlan
from cpuplan.plan.expected.state import Expected
from cpuplan.simulate.manifests import Item
from cpuplan.simulate.mechanisms import adapted, promises
from cpuplan.simulate.names import full_name

#: What gives out CPUs, by the component whose settings say so.
_BY_COMPONENT = {
    balloons.NAME: promises.BALLOONS,
    topologyaware.NAME: promises.TOPOLOGY_AWARE,
    driver.NAME: promises.DRA,
}


def check(
    changes: Iterable[Change],
    before: Side,
    plans: Mapping[Key, ConfiguredPlan],
    items: Sequence[Item],
) -> Iterator[tuple[Diagnostic, str]]:
    """CP628 for each pod and class whose mechanism changes, with the name of that class."""
    for change in changes:
        old, new = change.pair.before, change.pair.after
        state = before.state(old) if old else None
        if state is None or new is None or new not in plans:
            continue
        node_class = plans[new].node_class
        was, now = mechanism_of(state), node_class.target.mechanism
        for item in items if was != now else ():
            if adapted.is_served(item.pod, was) and not adapted.is_served(item.pod, now):
                yield _lost(item, was, now), node_class.full_name


def mechanism_of(state: Expected) -> str:
    """The mechanism that a class was compiled for."""
    if state.facts.get(derived.KOORDLET):
        return promises.KOORDINATOR
    for component, mechanism in _BY_COMPONENT.items():
        if state.settings.of(component):
            return mechanism
    return promises.KUBELET


def _lost(item: Item, was: str, now: str) -> Diagnostic:
    return diagnose(
        "CP628",
        item.place(),
        pod=full_name(item.pod),
        before=promises.words(was),
        after=promises.words(now),
        wanted=adapted.wanted(now) or "whole CPUs, and limits that equal its requests",
    )
