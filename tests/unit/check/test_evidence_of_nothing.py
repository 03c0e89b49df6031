"""A root whose folders are empty shows nothing: no fact of any platform is held there."""

from pathlib import Path
from typing import Any

import pytest

from cpuplan.check.host import check
from cpuplan.check.roots.openings import root_of
from cpuplan.plan.expected import evidence
from cpuplan.plan.expected.evidence import Situation, Verdict
from tests.live import Cluster
from tests.machines.plans import no_position, plan, regular

PAGES = {"hugePages": {"pages": [{"size": "1G", "count": 2}]}}
MIXED = {"runtime": {"mixedCpus": True, "sharedNamespaces": ["du"]}}
PLANS: dict[str, dict[str, Any]] = {
    "openshift": {"version": "4.20", "shared": "1,9", "spec": {**PAGES, **MIXED}},
    "kubernetes": {"platform": "kubernetes", "version": "1.35", "spec": PAGES},
    "rke2": {"platform": "rke2", "version": "1.33"},
    "k3s": {"platform": "k3s", "version": "1.33"},
}
for _mechanism in ("koordinator", "balloons", "dra"):
    PLANS[_mechanism] = {
        "platform": "kubernetes",
        "version": "1.35",
        "target": {"mechanism": _mechanism},
    }


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize(
    "folders",
    [
        "sys",
        "sys/devices proc etc",
        "sys/fs/cgroup proc/1 etc var/lib/kubelet usr run",
        "sys/module sys/class/net proc/irq proc/sys/kernel",
        "sys/devices/system/cpu sys/devices/system/node etc/kubernetes etc/crio",
    ],
)
def test_nothing_is_held(tmp_path: Path, name: str, folders: str) -> None:
    root = tmp_path / "worker-0"
    for folder in folders.split():
        (root / folder).mkdir(parents=True, exist_ok=True)
    (root / "sys/notes").write_text("")
    made = plan(regular(sockets=2, cores=4, threads=2), reserved="0,8", **PLANS[name])
    expected = Cluster(made).expected[0]
    answers = check(root_of(root, "worker-0"), expected, "worker-0", no_position)
    assert [answer.fact for answer in answers if answer.verdict is Verdict.HELD] == []
    assert len(answers) > 10


@pytest.mark.parametrize("isolation", [{}, {"by": "partitions"}])
@pytest.mark.parametrize("name", PLANS)
def test_a_machine_without_a_plan_holds_none(
    tmp_path: Path, name: str, isolation: dict[str, Any]
) -> None:
    """Its CPUs are those of the inventory, and nothing of others is in the way."""
    made = plan(regular(sockets=2, cores=4, threads=2), reserved="0,8", **PLANS[name])
    if isolation:
        spec = {
            "pools": {"reserved": {"cores": 1}, "isolcpus": {"cores": 1}, "isolated": "rest"},
            "isolation": {
                "by": "partitions",
                **dict.fromkeys(("managedIrq", "nohzFull", "rcuNocbs", "irqAffinity"), False),
            },
            "kubelet": {"cpuManagerPolicy": "none"},
        }
        made = plan(
            regular(sockets=2, cores=4, threads=2),
            reserved="0,8",
            isolcpus="1,9",
            platform="kubernetes",
            version="1.33",
            spec=spec,
        )
    expected = Cluster(made).expected[0]
    for file, text in {
        **dict.fromkeys(("online", "present", "possible"), "0-15\n"),
        "../../../../proc/cmdline": "quiet\n",
    }.items():
        path = tmp_path / "worker-0/sys/devices/system/cpu" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "worker-0/proc").mkdir(exist_ok=True)
        path.write_text(text)
    answers = check(root_of(tmp_path / "worker-0", "worker-0"), expected, "worker-0", no_position)
    assert Verdict.HELD in {answer.verdict for answer in answers}
    assert evidence.standing(answers) is not Situation.HELD
