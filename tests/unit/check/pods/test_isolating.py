"""The planned partition: valid, and with all its CPUs."""

from pathlib import Path

import pytest

from cpuplan.check.pods.exclusive import planned_partition
from cpuplan.plan.expected.evidence import Verdict
from tests import checked, kubepods
from tests.hosts import make_root
from tests.machines.plans import plan

PLAN = plan(
    platform="kubernetes", version="1.34", isolcpus="6-7", spec={"isolation": {"by": "partitions"}}
)
GROUP = "isolcpus.slice/isolcpus-threads.slice"


def _verdict(root: Path, **files: str) -> tuple[Verdict, str]:
    make_root(PLAN, root)
    kubepods.write_root(root, "0-5")
    given = {"cpuset_cpus_partition": "isolated", "cpuset_cpus_exclusive_effective": "6-7"}
    kubepods.write_group(root, GROUP, "6-7", "6-7", **(given | files))
    (answer,) = planned_partition(checked.subject(root, PLAN))
    return answer.verdict, answer.observed


def test_the_partition_holds(tmp_path: Path) -> None:
    assert _verdict(tmp_path)[0] is Verdict.HELD


@pytest.mark.parametrize(
    ("files", "observed"),
    [
        ({"cpuset_cpus_partition": "member"}, "member"),
        ({"cpuset_cpus_partition": "isolated invalid (x)"}, "isolated invalid (x)"),
        ({"cpuset_cpus_exclusive_effective": "7"}, "isolated with CPU 7"),
        ({"cpuset_cpus": "7", "cpuset_cpus_effective": "7"}, "isolated with CPU 7"),
        ({"cpuset_cpus_effective": "6"}, "isolated with CPU 6"),
    ],
)
def test_the_partition_differs(tmp_path: Path, files: dict[str, str], observed: str) -> None:
    assert _verdict(tmp_path, **files) == (Verdict.DIFFERS, observed)


def test_without_control_groups_nothing_is_known(tmp_path: Path) -> None:
    make_root(PLAN, tmp_path)
    (answer,) = planned_partition(checked.subject(tmp_path, PLAN))
    assert answer.verdict is Verdict.UNVERIFIABLE
