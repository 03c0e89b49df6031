"""irqbalance: what it leaves alone by itself, and what its files say without its environment."""

from pathlib import Path

import pytest

from cpuplan.check import irqbalance
from cpuplan.plan.expected.evidence import Verdict
from tests import processes
from tests.checked import subject
from tests.hosts import CPU
from tests.machines.plans import plan, regular

ENVIRONMENT, FILE = "proc/50/environ", "etc/default/irqbalance"


@pytest.mark.parametrize(
    ("nohz_full", "files", "verdict"),
    [
        ("2-7", {ENVIRONMENT: "LANG=C\0"}, Verdict.HELD),
        ("2-3", {ENVIRONMENT: "LANG=C\0"}, Verdict.DIFFERS),
        ("2-7", {ENVIRONMENT: "IRQBALANCE_BANNED_CPUS=0\0"}, Verdict.DIFFERS),
        ("2-7", {}, Verdict.UNVERIFIABLE),
        ("2-7", {FILE: "IRQBALANCE_BANNED_CPULIST=2-7\n"}, Verdict.UNVERIFIABLE),
        ("2-7", {FILE: "IRQBALANCE_BANNED_CPULIST=2-3\n"}, Verdict.DIFFERS),
        ("2-7", {FILE: "# IRQBALANCE_BANNED_CPULIST=2-3\n"}, Verdict.UNVERIFIABLE),
    ],
)
def test_bans(tmp_path: Path, nohz_full: str, files: dict[str, str], verdict: Verdict) -> None:
    spec = {"isolation": {"globallyDisableIrqLoadBalancing": True}}
    made = plan(regular(cores=8), version="4.20", spec=spec)
    processes.write(tmp_path, processes.Thread(50, "irqbalance", "0-1", "/system.slice/i.service"))
    for path, text in {f"{CPU}/nohz_full": f"{nohz_full}\n", **files}.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    assert [answer.verdict for answer in irqbalance.environment(subject(tmp_path, made))] == [
        verdict
    ]
