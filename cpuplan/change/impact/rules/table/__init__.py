"""All rules of what a change costs, each with its source. docs/impact.md is made of them."""

from collections.abc import Mapping
from itertools import chain

from cpuplan.change.impact.rules.table import nodes, openshift, others
from cpuplan.facts.settings.costs import Rule

#: By title, in the order of the page.
SECTIONS: Mapping[str, tuple[Rule, ...]] = {
    "OpenShift": openshift.RULES,
    "Nodes without an operator": nodes.RULES,
    "Deliveries, other platforms and objects": others.RULES,
}
RULES: Mapping[str, Rule] = {rule.id: rule for rule in chain.from_iterable(SECTIONS.values())}
