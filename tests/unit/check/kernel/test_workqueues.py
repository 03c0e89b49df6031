"""The masks of unbound work: what is held, what differs, and which CPUs are named."""

from pathlib import Path
from typing import Any

import pytest

from cpuplan.check.kernel.tunables import workqueue_masks
from cpuplan.plan import ConfiguredPlan
from cpuplan.plan.expected.evidence import Answer, Heals, Verdict
from tests import checked
from tests.machine_root import WORKQUEUE, make_machine
from tests.machines.plans import plan, regular

FOLDER = "sys/devices/virtual/workqueue"


def node() -> ConfiguredPlan:
    """CPUs 0 and 4 are reserved, and the others isolated, of eight."""
    return plan(
        regular(cores=4, threads=2),
        platform="kubernetes",
        version="1.34",
        reserved="0,4",
        spec={"isolation": {"domain": True}, "workloadHints": {"realTime": True}},
    )


def answers(root: Path, **queues: str) -> dict[str, Answer]:
    """By fact; `queues` have masks of their own, `all` is that of all work."""
    make_machine(node(), root)
    for name, mask in queues.items():
        path = root / (WORKQUEUE if name == "all" else f"{FOLDER}/{name}/cpumask")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{mask}\n")
    return {answer.fact: answer for answer in workqueue_masks(checked.subject(root, node()))}


@pytest.mark.parametrize(
    ("mask", "observed"), [("11", "0,4"), ("01", "0"), ("00000000,00000011", "0,4")]
)
def test_the_planned_cpus_or_fewer_are_held(tmp_path: Path, mask: str, observed: str) -> None:
    answer = answers(tmp_path, all=mask)["CPUs of unbound work"]
    assert (answer.verdict, answer.expected, answer.observed) == (Verdict.HELD, "0,4", observed)


def test_cpus_that_the_machine_does_not_have_do_not_count(tmp_path: Path) -> None:
    answer = answers(tmp_path, all="ff00,00000011")["CPUs of unbound work"]
    assert answer.verdict is Verdict.HELD


@pytest.mark.parametrize(("mask", "observed"), [("13", "0-1,4"), ("ff", "0-7"), ("00", "empty")])
def test_an_isolated_cpu_too_many(tmp_path: Path, mask: str, observed: str) -> None:
    answer = answers(tmp_path, all=mask)["CPUs of unbound work"]
    assert (answer.observed, answer.expected, answer.heals) == (observed, "0,4", Heals.LIVE)
    assert answer.finding
    assert answer.finding.code == "CP8203"
    assert f"/{WORKQUEUE}" in answer.finding.message


def test_what_is_no_mask_is_not_judged(tmp_path: Path) -> None:
    answer = answers(tmp_path, all="no mask")["CPUs of unbound work"]
    assert answer.verdict is Verdict.UNVERIFIABLE


@pytest.mark.parametrize(
    ("mask", "cpus"),
    [
        ("0e", "CPUs 1-3"),
        ("02", "CPU 1"),
        ("1f", "CPUs 1-3"),  # only the isolated ones of 0-4 are wrong
        ("ff", None),  # all is no choice
        ("1ff", None),
        ("11", None),
        ("100", None),
    ],
)
def test_a_queue_for_which_somebody_chose_isolated_cpus(
    tmp_path: Path, mask: str, cpus: str | None
) -> None:
    answer = answers(tmp_path, writeback=mask).get("workqueue writeback")
    assert (answer and answer.observed) == cpus
    if answer:
        assert answer.expected == "0,4"
        assert answer.finding
        assert f"/{FOLDER}/writeback/cpumask" in answer.finding.message


@pytest.mark.parametrize(
    ("spec", "isolated", "facts"),
    [
        # by the boot arguments; by the plan, where there are none; and nothing to keep off
        ({"isolation": {"domain": True}}, None, ["CPUs of unbound work"]),
        ({"isolation": {"nohzFull": False}}, None, [f"workqueue /{WORKQUEUE}"]),
        ({}, "", []),
    ],
)
def test_the_mask_is_judged_once_where_cpus_are_isolated(
    tmp_path: Path, spec: dict[str, Any], isolated: str | None, facts: list[str]
) -> None:
    asked = spec and {**spec, "workloadHints": {"realTime": True}}
    made = plan(
        regular(cores=4, threads=2),
        platform="kubernetes",
        version="1.34",
        reserved="0,4" if isolated is None else "0-7",
        isolated=isolated,
        spec=asked,
    )
    root = make_machine(made, tmp_path)
    assert [answer.fact for answer in workqueue_masks(checked.subject(root, made))] == facts
