"""Rules of components cost at least what the components say of their settings."""

import pytest

from cpuplan.backends import BACKENDS
from cpuplan.change.impact.impact import Impact
from cpuplan.change.impact.rules.nodes import BY_COMPONENT
from cpuplan.change.impact.rules.table import RULES
from cpuplan.components.base import Component
from cpuplan.plan.expected.evidence import Heals, heals_by

_IMPACTS = {Heals.LIVE: Impact.NOTHING, Heals.RESTART: Impact.RESTART, Heals.REBOOT: Impact.REBOOT}
COMPONENTS = BACKENDS["kubernetes"].COMPONENTS


@pytest.mark.parametrize("component", COMPONENTS, ids=lambda component: component.NAME)
def test_a_rule_costs_no_less_than_its_component(component: Component) -> None:
    rule = BY_COMPONENT[component.NAME]
    if component.EFFECT and rule:
        impact = RULES[rule].impact
        assert impact is not None
        assert impact >= _IMPACTS[heals_by(component.EFFECT.change_costs)]


def test_each_component_has_a_rule() -> None:
    assert {component.NAME for component in COMPONENTS} == BY_COMPONENT.keys()
