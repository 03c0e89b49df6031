"""State files: what the next start of the kubelet would say."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from cpuplan.plan.expected.evidence import Heals, Verdict
from cpuplan.upstream.kubelet import manager
from cpuplan.upstream.kubelet.cpumanager import state
from tests.unit.check.kubelet.nodes import DROP_INS, HEAD, answers, codes, of, planned, running

STATE = "var/lib/kubelet/cpu_manager_state"
FACT = "state of the CPU manager"
STRICT = {"cpuManagerPolicyOptions": {"strict-cpu-reservation": "true"}}


def written(
    default: str, entries: Mapping[str, Mapping[str, str]] = {}, policy: str = "static"
) -> str:
    content = {"policyName": policy, "defaultCpuSet": default, "entries": entries}
    return manager.write_checkpoint(content, manager.checksum(state.hash_input(content)))


POD = {"pod": {"app": "4-5"}}


@pytest.mark.parametrize(
    ("strict", "text", "problem"),
    [
        (False, written("0-7"), ""),
        (False, written("0-3,6-7", POD), ""),
        (True, written("2-3,6-7", POD), ""),
        (True, written("0-3,6-7", POD), "some of strictly reserved cpus"),
        (False, written("2-3,6-7", POD), "not all reserved cpus"),
        (False, written("0-3,6", POD), "doesn't match with CPUs in state"),
        (False, written("0-7", POD), "overlaps with default cpuset"),
        (False, written("", policy="none"), "differs from state checkpoint policy"),
        (False, written("0-7").replace("0-7", "0-6"), "checkpoint is corrupted"),
        (False, '{"policyName":', "unexpected end of JSON input"),
    ],
)
def test_state_of_the_cpu_manager(tmp_path: Path, strict: bool, text: str, problem: str) -> None:
    node = planned(kubelet=STRICT) if strict else planned()
    answer = of(answers(tmp_path, node, {STATE: text}), FACT)
    if not problem:
        assert answer.verdict is Verdict.HELD
        return
    assert answer.finding is not None
    assert answer.finding.code == "CP825"
    assert problem in answer.finding.message
    assert answer.heals is Heals.RESTART


def test_two_containers_with_one_cpu(tmp_path: Path) -> None:
    text = written("0-3,7", {"a": {"app": "4-5"}, "b": {"app": "5-6"}})
    answer = of(answers(tmp_path, planned(), {STATE: text}), FACT)
    assert answer.finding is not None
    assert answer.finding.code == "CP826"


def test_openshift_removes_the_file_before_each_start(tmp_path: Path) -> None:
    node = planned("openshift", "4.20")
    answer = of(answers(tmp_path, node, {STATE: written("2-7")}), FACT)
    assert answer.finding is not None
    assert answer.finding.code == "CP826"


def test_missing_file_is_no_pass(tmp_path: Path) -> None:
    assert of(answers(tmp_path, planned(), {}), FACT).verdict is Verdict.UNVERIFIABLE


def test_state_that_fits_the_plan_and_not_a_later_drop_in(tmp_path: Path) -> None:
    """The drop-in is the cause; to delete the state would be wrong."""
    changes = {
        STATE: written("0-3,6-7", POD),
        f"{DROP_INS}/99-site.conf": f"{HEAD}reservedSystemCPUs: 0,4\n",
    }
    assert codes(answers(tmp_path, planned(), changes)) == ["CP823"]


def test_a_foreign_key_with_which_no_kubelet_starts(tmp_path: Path) -> None:
    changes = {f"{DROP_INS}/99-site.conf": f"{HEAD}kubeReserved: {{gpu: '1'}}\n"}
    checks = answers(tmp_path, planned(), changes)
    assert codes(checks) == ["CP703"]
    assert of(checks, FACT).verdict is Verdict.UNVERIFIABLE


def test_file_that_a_running_kubelet_has_lost(tmp_path: Path) -> None:
    other = {"var/lib/kubelet/memory_manager_state": "{}"}
    answer = of(answers(tmp_path, planned(), {**running("--v=2"), **other}), FACT)
    assert answer.finding is not None
    assert answer.finding.code == "CP8225"
    assert of(answers(tmp_path / "down", planned(), other), FACT).verdict is Verdict.UNVERIFIABLE
