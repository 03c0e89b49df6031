"""What a change of a setting costs is said once: `explain`, `check`, `plan` and the docs agree."""

import pytest

from cpuplan.change.impact.rule_table import RULES
from cpuplan.change.impact.setting_rules import rule_on
from cpuplan.facts.settings.costs import UNREAD, Impact
from cpuplan.facts.settings.table import row_of
from tests import named_cases
from tests.pages import impact as page
from tests.unit.change.impact.rules import projects

ROWS = projects.rows()


@pytest.mark.parametrize("row", ROWS, ids=[row.id for row in ROWS])
def test_explain_says_what_plan_does(row: projects.Row) -> None:
    """Of each setting that a change gives another value."""
    outcome = projects.outcome(row)
    rules = {step.rule: step.impact for step in outcome.steps}
    if "mco-policy" in rules:
        pytest.skip("a node disruption policy of the cluster decides, file by file")
    for rule in projects.explained(row):
        # A pool tells the first of several causes, and a role restarts services in one step.
        is_one = rule.id.startswith("mco-") or "ansible-restarts" in rules
        assert rule.id in rules or (is_one and rule.impact in rules.values()), (rule.id, rules)
        assert rules.get(rule.id, rule.impact) == rule.impact


@pytest.mark.parametrize("name", named_cases.CASES)
def test_each_setting_of_each_platform_has_a_rule(name: str) -> None:
    """The docs list it; `check` heals by what the program itself needs, which is no more."""
    text = page.page()
    for node in named_cases.compiled(name).plan.nodes:
        for setting in node.settings:
            row, rule = (
                row_of(setting.component, setting.key),
                rule_on(node.node_class.platform, node.settings, setting),
            )
            assert row is not None, setting
            if rule is None:
                assert row.cost in (None, UNREAD) or node.node_class.platform.name in _LEAVE_OUT
                continue
            assert setting.effect is not None
            assert f"| `{rule.id}` |" in text
            assert RULES[rule.id] is rule
            own = row.cost.impact if row.cost else None
            assert rule.impact is None or own is None or own <= rule.impact or row.operator_cost


#: Platforms whose nodes take some of the settings only.
_LEAVE_OUT = ("talos", "bottlerocket")


def test_services_that_run_keep_their_cpus() -> None:
    row = row_of("systemd", "CPUAffinity")
    assert row is not None
    assert row.cost is RULES["systemd-affinity"]
    assert row.cost.impact is Impact.REBOOT


def test_claims_of_pods_do_not_survive_other_reserved_cpus() -> None:
    row = row_of("dra-driver", "reservedCPUs")
    assert row is not None
    assert row.cost is RULES["dra-driver"]
    assert row.cost.impact is Impact.DRAIN
