"""Workload tables of CRI-O on a node: replaced by a later file, or on CPUs of others."""

from pathlib import Path
from typing import Any

import pytest

from cpuplan.check.runtimes import workload_tables
from cpuplan.components.openshift import pinning
from cpuplan.plan import ConfiguredPlan
from cpuplan.plan.expected.evidence import Answer, Verdict
from tests import checked
from tests.machines.plans import plan

FOLDER = "etc/crio/crio.conf.d"
MANAGEMENT = """[crio.runtime.workloads.management]
activation_annotation = "target.workload.openshift.io/management"
annotation_prefix = "resources.workload.openshift.io"
resources = { "cpushares" = 0, "cpuset" = "0-3" }
"""
RIGHT = MANAGEMENT.replace("0-3", "0,1")
OTHER = """[crio.runtime]
infra_ctr_cpuset = "0-1"
[crio.runtime.workloads.other]
activation_annotation = "example.com/pinned"
[crio.runtime.workloads.other.resources]
CPUset = "4-5"
"""


def node(**given: Any) -> ConfiguredPlan:
    return plan(version="4.20", target={"cpuPartitioning": True}, **given)


def answers(
    root: Path, files: dict[str, str], of: ConfiguredPlan, *, has_own: bool = True
) -> list[Answer]:
    """What is said of a node with these drop-ins beside the compiled one."""
    folder = root / FOLDER
    folder.mkdir(parents=True)
    if has_own and (made := pinning.files(of.settings.of(pinning.NAME))):
        _, text = made[pinning.CRIO_PATH]
        (root / pinning.CRIO_PATH.lstrip("/")).write_text(text)
    for name, text in files.items():
        (folder / name).write_text(text)
    return list(workload_tables.tables(checked.subject(root, of)))


def told(made: list[Answer]) -> list[tuple[str, str, int]]:
    """(code, file, line) of each finding."""
    findings = [answer.finding for answer in made if answer.finding]
    places = [(finding.code, finding.position) for finding in findings]
    return [(code, place.path.rpartition("/")[2], place.line) for code, place in places if place]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, []),
        # The last file by name counts, as a whole.
        ({"99-zz": MANAGEMENT}, [("CP833", "99-zz", 4)]),
        ({"99-zz": RIGHT}, []),
        ({"10-site.conf": MANAGEMENT}, []),
        ({"99-yy": MANAGEMENT, "99-zz": RIGHT}, []),
        ({"99-zz": RIGHT.replace("prefix", "prefiks")}, [("CP833", "99-zz", 1)]),
        ({"99-zz": RIGHT.replace('management"', 'other"')}, [("CP833", "99-zz", 2)]),
        ({"99-zz": RIGHT.replace("= 0", "= 512")}, [("CP833", "99-zz", 4)]),
        # Without resources only, everything of them is lost.
        (
            {"99-zz": RIGHT.rpartition("resources")[0]},
            [("CP833", "99-zz", 1), ("CP833", "99-zz", 1)],
        ),
        # In a file of several tables the line is that of the right one.
        ({"99-zz": OTHER.replace("4-5", "0") + MANAGEMENT}, [("CP833", "99-zz", 10)]),
        ({"50-other": OTHER}, [("CP8360", "50-other", 6)]),
        ({"50-other": OTHER.replace("4-5", "0-1")}, []),
        ({"50-other": OTHER.replace('CPUset = "4-5"', "cpushares = 5")}, []),
        ({"50-other": OTHER, "60-other": OTHER.replace("4-5", "1")}, []),
    ],
)
def test_a_later_table(
    tmp_path: Path, files: dict[str, str], expected: list[tuple[str, str, int]]
) -> None:
    made = answers(tmp_path, files, node())
    assert told(made) == expected
    if not expected:
        assert [answer.verdict for answer in made] == [Verdict.HELD]


def test_the_words(tmp_path: Path) -> None:
    (answer,) = answers(tmp_path, {"99-zz": MANAGEMENT}, node())
    assert answer.finding is not None
    assert answer.finding.message == (
        "workloads.management.resources.cpuset of CRI-O is 0-3; it should be 0-1"
    )
    assert (answer.observed, answer.expected) == ("0-3", "0-1")


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        (plan(platform="kubernetes", version="1.33"), [("CP8360", "50-other", 6)]),
        # Nobody gets exclusive CPUs of the kubelet.
        (
            plan(
                platform="kubernetes",
                version="1.33",
                spec={"kubelet": {"cpuManagerPolicy": "none"}},
            ),
            [],
        ),
        (plan(platform="kubernetes", version="1.33", target={"runtime": "containerd"}), []),
    ],
)
def test_a_node_without_partitioning(
    tmp_path: Path, of: ConfiguredPlan, expected: list[tuple[str, str, int]]
) -> None:
    assert told(answers(tmp_path, {"50-other": OTHER}, of)) == expected


@pytest.mark.parametrize("text", ["[crio\n", "[crio.runtime.workloads.x]\n"])
def test_what_crio_does_not_take_says_nothing(tmp_path: Path, text: str) -> None:
    (answer,) = answers(tmp_path, {"99-zz": text}, node())
    assert answer.verdict is Verdict.UNVERIFIABLE


def test_a_table_that_is_nowhere_is_a_missing_file(tmp_path: Path) -> None:
    assert told(answers(tmp_path, {"10-site": "[crio]\n"}, node(), has_own=False)) == []
