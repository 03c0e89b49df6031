"""What heals a node costs what `explain` says of a change on its platform."""

from pathlib import Path

import pytest

from cpuplan.change.impact.setting_rules import rule_on
from cpuplan.facts.settings.kubelet import RESERVED_CPUS
from cpuplan.plan.expected.evidence import Heals, heals_by
from tests import checked, hosts
from tests.machines.plans import plan, regular


@pytest.mark.parametrize(
    ("platform", "version", "heals"),
    [("openshift", "4.20", Heals.REBOOT), ("kubernetes", "1.34", Heals.RESTART)],
)
def test_another_reservation(platform: str, version: str, heals: Heals, tmp_path: Path) -> None:
    made = plan(regular(cores=8), platform=platform, version=version, reserved="0-1")
    root = hosts.make_root(made, tmp_path)
    edited = [
        path
        for path in root.rglob("*")
        if path.is_file() and f"{RESERVED_CPUS.key}: 0-1" in path.read_text()
    ]
    for path in edited:
        path.write_text(path.read_text().replace(f"{RESERVED_CPUS.key}: 0-1", "podPidsLimit: 99"))
    fact = f"kubelet {RESERVED_CPUS.key}"
    [answer] = [answer for answer in checked.answers(root, made) if answer.fact == fact]
    setting = made.settings.find(RESERVED_CPUS)
    rule = rule_on(made.node_class.platform, made.settings, setting) if setting else None
    assert rule
    assert answer.heals is heals is heals_by(rule.cost)
