"""Whether a kubelet runs, and whether it started before its files were written."""

import os
from pathlib import Path

import pytest

from cpuplan.check.kubelet import unit
from cpuplan.plan.expected.evidence import Answer, Verdict
from tests import checked
from tests.hosts import make_root
from tests.unit.check.kubelet.nodes import NO_UNIT, UNIT, planned, running

BOOTED, STARTED, CAPTURED = 1_000, 2_000, 9_000
TIMES = {
    "proc/stat": f"btime {BOOTED}\n",
    "proc/uptime": f"{CAPTURED - BOOTED}.00 1.00\n",
    "proc/901/stat": f"901 (kubelet) S {'0 ' * 18}{(STARTED - BOOTED) * 100} 0\n",
}
MANY = {f"proc/{number}/comm": "kworker/0:1\n" for number in range(2, 20)}
KUBELET = {UNIT: "[Service]\nExecStart=/usr/bin/kubelet\n"}


def node(root: Path, changes: dict[str, str]) -> Path:
    made = make_root(planned(), root, with_kubelet=True)
    for path, text in changes.items():
        (made / path).parent.mkdir(parents=True, exist_ok=True)
        (made / path).write_text(text)
    return made


def sole(checks: list[Answer]) -> Answer:
    (answer,) = checks
    return answer


@pytest.mark.parametrize(
    ("written", "verdict"),
    [
        (STARTED - 10, Verdict.HELD),
        (STARTED + 10, Verdict.DIFFERS),
        # The time of a copy, not of the node.
        (CAPTURED + 10, Verdict.HELD),
    ],
)
def test_age(tmp_path: Path, written: int, verdict: Verdict) -> None:
    root = node(tmp_path, {**running(), **TIMES})
    for path in root.rglob("*"):
        os.utime(path, (BOOTED, BOOTED))
    os.utime(root / "etc/kubernetes/kubelet.conf.d/90-cpuplan.conf", (written, written))
    answer = sole(list(unit.restarted(checked.subject(root, planned()))))
    assert answer.verdict is verdict
    assert answer.finding is None or answer.finding.code == "CP827"


@pytest.mark.parametrize("changes", [running(), {}])
def test_age_that_is_not_known(tmp_path: Path, changes: dict[str, str]) -> None:
    root = node(tmp_path, changes)
    answer = sole(list(unit.restarted(checked.subject(root, planned()))))
    assert answer.verdict is Verdict.UNVERIFIABLE


def shown(state: str, detail: str) -> dict[str, str]:
    text = f"Id=kubelet.service\nActiveState={state}\nSubState={detail}\nResult=exit-code\n"
    return {"cpuplan/systemctl-show": text}


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        (running(), Verdict.HELD),
        ({}, Verdict.UNVERIFIABLE),
        (KUBELET, Verdict.UNVERIFIABLE),
        ({**KUBELET, **MANY}, Verdict.DIFFERS),
        ({**NO_UNIT, **MANY}, Verdict.UNVERIFIABLE),
        (shown("failed", "failed"), Verdict.DIFFERS),
        (shown("activating", "auto-restart"), Verdict.DIFFERS),
        (
            {"cpuplan/systemctl-show": "Id=kubelet.service\nLoadState=not-found\n"},
            Verdict.DIFFERS,
        ),
        ({**running(), **shown("activating", "auto-restart")}, Verdict.DIFFERS),
        ({"sys/fs/cgroup/system.slice/kubelet.service/cgroup.procs": ""}, Verdict.DIFFERS),
    ],
)
def test_runs(tmp_path: Path, changes: dict[str, str], verdict: Verdict) -> None:
    root = node(tmp_path, changes)
    answer = sole(list(unit.runs(checked.subject(root, planned()))))
    assert answer.verdict is verdict
    assert answer.finding is None or answer.finding.code == "CP828"
