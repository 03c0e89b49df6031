"""Slices of pods on a node: drop-ins that add up, and what is in force."""

from pathlib import Path

import pytest

from cpuplan.check.pods.slices import limits, unplanned
from cpuplan.plan.expected.evidence import Answer, Verdict
from tests import checked, kubepods
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


def narrowing(root: Path, *changes: tuple[str, str, str]) -> list[Answer]:
    """Answers on limits that no plan has, after files of control groups have other texts."""
    node = plan(platform="kubernetes", version="1.33", sets={"bestEffort": "4-5"})
    make_root(node, root)
    kubepods.write_root(root, "0-7")
    for group, file, text in changes:
        (root / kubepods.MOUNT / group / file).write_text(f"{text}\n")
    return list(unplanned(checked.subject(root, node)))


@pytest.mark.parametrize(
    ("change", "observed"),
    [
        ((kubepods.PODS, "cpuset.cpus", "0-6"), "0-6"),
        ((kubepods.PODS, "cpuset.cpus", "0-7"), None),
        ((kubepods.PODS, "cpuset.mems", "1"), "NUMA nodes 1"),
        ((kubepods.PODS, "cpuset.mems", "0"), None),
        ((f"{kubepods.PODS}/kubepods-burstable.slice", "cpuset.cpus", "1"), "1"),
        # That of the plan has its own check.
        ((f"{kubepods.PODS}/kubepods-besteffort.slice", "cpuset.cpus", "1"), None),
    ],
)
def test_limits_that_no_plan_has(
    tmp_path: Path, change: tuple[str, str, str], observed: str | None
) -> None:
    [answer] = narrowing(tmp_path, change)
    if observed is None:
        assert answer.verdict is Verdict.HELD
    else:
        assert answer.observed == observed
        assert answer.finding is not None
        assert answer.finding.code == "CP862"


def test_why_nothing_is_known_of_pods(tmp_path: Path) -> None:
    """No control groups at all, or none of pods among them."""
    node = plan(platform="kubernetes", version="1.33")
    make_root(node, tmp_path)
    reasons = [answer.reason for answer in unplanned(checked.subject(tmp_path, node))]
    assert reasons == ["there are no control groups to read"]
    kubepods.write_group(tmp_path, "system.slice", "", "0-7")
    (tmp_path / kubepods.MOUNT / "cgroup.controllers").write_text("cpuset\n")
    reasons = [answer.reason for answer in unplanned(checked.subject(tmp_path, node))]
    assert reasons == ["there is no control group of pods"]
