"""Files of CDI with the CPUs of claims, against the plan."""

import json
from pathlib import Path

from cpuplan.check.runtimes.claims import given_out
from cpuplan.plan.expected.evidence import Answer, Verdict
from tests import checked
from tests.machines.plans import plan
from tests.unit.components.dra.test_driver import planned


def write(root: Path, uid: str, text: str) -> None:
    """A file of CDI as the driver writes it for a claim."""
    folder = root / "run/cdi"
    folder.mkdir(parents=True, exist_ok=True)
    edits = {"env": [f"DRA_CPUSET_{uid}={text}"]}
    devices = [{"name": f"claim-{uid}", "containerEdits": edits}]
    data = {"cdiVersion": "0.8.0", "kind": "dra.k8s.io/cpu", "devices": devices}
    (folder / f"dra.k8s.io-cpu_claim-{uid}.json").write_text(json.dumps(data))


def answers(root: Path) -> list[Answer]:
    return list(given_out(checked.subject(root, planned())))


def said(root: Path) -> list[str]:
    findings = (answer.finding for answer in answers(root))
    return [f"{finding.code}: {finding.message}" for finding in findings if finding]


def test_claims_of_free_cpus_are_held(tmp_path: Path) -> None:
    write(tmp_path, "a", "1,9")
    write(tmp_path, "b", "2-3")
    assert [answer.verdict for answer in answers(tmp_path)] == [Verdict.HELD]


def test_reserved_cpus_are_not_for_claims(tmp_path: Path) -> None:
    write(tmp_path, "a", "0-1")
    assert said(tmp_path) == ["CP687: claim a has CPUs 0-1: CPU 0 is not for claims"]


def test_two_claims_with_a_cpu(tmp_path: Path) -> None:
    write(tmp_path, "a", "1,9")
    write(tmp_path, "b", "9-10")
    assert said(tmp_path) == ["CP687: claim b has CPUs 9-10: claim a has CPU 9 too"]


def test_a_file_that_tells_nothing(tmp_path: Path) -> None:
    write(tmp_path, "a", "x")
    (only,) = answers(tmp_path)
    assert only.verdict is Verdict.UNVERIFIABLE


def test_files_of_other_drivers_are_passed_over(tmp_path: Path) -> None:
    folder = tmp_path / "run/cdi"
    folder.mkdir(parents=True)
    (folder / "gpu.json").write_text("{}")
    (only,) = answers(tmp_path)
    assert (only.verdict, only.reason) == (Verdict.UNVERIFIABLE, "no claim has CPUs here")


def test_without_the_driver_nobody_looks(tmp_path: Path) -> None:
    assert list(given_out(checked.subject(tmp_path, plan()))) == []
