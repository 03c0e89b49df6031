"""Slices of pods on a node: drop-ins that add up, and what is in force."""

from pathlib import Path

import pytest

from cpuplan.check.pods.slices import limits
from tests import checked
from tests.hosts import make_root
from tests.machines.plans import plan

SYSTEM = "etc/systemd/system"
OWN = f"{SYSTEM}/kubepods-besteffort.slice.d/99-cpuplan.conf"
CGROUP = "sys/fs/cgroup/kubepods.slice/kubepods-besteffort.slice/cpuset.cpus"
ADDING = "[Slice]\nAllowedCPUs=7\n"


@pytest.mark.parametrize(
    ("path", "text", "code", "words"),
    [
        pytest.param(OWN, None, "CP860", "limits kubepods-besteffort.slice to CPUs 4-5", id="none"),
        pytest.param(OWN, ADDING, "CP861", "allow 7", id="edited"),
        pytest.param(
            f"{SYSTEM}/kubepods-besteffort.slice.d/99-d.conf", ADDING, "CP861", "4-5,7", id="later"
        ),
        pytest.param(
            "run/systemd/system/kubepods-.slice.d/99-x.conf", ADDING, "CP861", "4-5,7", id="prefix"
        ),
        pytest.param(f"{SYSTEM}/slice.d/50-x.conf", ADDING, "", "", id="earlier"),
        pytest.param(
            "run/systemd/transient/kubepods-besteffort.slice.d/50-AllowedCPUs.conf",
            "[Slice]\nAllowedCPUs=0-7\n",
            "",
            "",
            id="set by a program",
        ),
        pytest.param(CGROUP, "0-7\n", "CP862", "has 0-7; it should be 4-5", id="not in force"),
        pytest.param(CGROUP, "\n", "CP862", "has all CPUs", id="not limited"),
        pytest.param(CGROUP, "4-5\n", "", "", id="in force"),
    ],
)
def test_one_change(tmp_path: Path, path: str, text: str | None, code: str, words: str) -> None:
    node = plan(platform="kubernetes", version="1.33", sets={"bestEffort": "4-5"})
    root = make_root(node, tmp_path)
    if text is None:
        (root / path).unlink()
    else:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    answers = list(limits(checked.subject(root, node)))
    findings = [answer.finding for answer in answers if answer.finding]
    assert [finding.code for finding in findings] == [code] * bool(code)
    assert words in "".join(finding.message for finding in findings)
