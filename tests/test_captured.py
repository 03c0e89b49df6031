"""Nodes that were booted with what was compiled for them hold it, as their snapshots show."""

import re
from collections.abc import Sequence

import pytest

from cpuplan.check.roots.openings import root_of
from cpuplan.plan.expected.evidence import Answer, Verdict
from cpuplan.render.answers.prometheus import counted
from cpuplan.render.answers.summary import by_verdict, counts
from tests import captured
from tests.mutation import cases

#: Facts that are held at least, by guest: more may be verified, and none less. They run no kubelet,
#: whose flags nobody sees.
HELD = {"every-pool": 79, "flat-domain": 78, "flat-partition": 67, "plain": 82, "ticking": 78}


@pytest.mark.parametrize("name", captured.names())
def test_no_fewer_facts_are_held(name: str) -> None:
    held = [answer for answer in cases.case(name).clean if answer.verdict is Verdict.HELD]
    assert len(held) >= HELD[name]


#: What a guest lacks of a node: its programs and their files, a boot loader, and systemctl.
LACKING = r"kubelet|state of the|crio|containerd|containers |limits of slices|next boot|result of "


def unverifiable(answers: Sequence[Answer]) -> set[str]:
    """The facts that the alert CPUPlanUnverified counts."""
    others = [answer for answer in answers if not answer.is_unshown]
    facts = set(by_verdict(others)[Verdict.UNVERIFIABLE])
    assert len(facts) == counted(answers).facts["unverifiable"]
    return facts


@pytest.mark.parametrize("name", captured.names())
def test_what_no_node_shows_raises_no_alert(name: str) -> None:
    clean = cases.case(name).clean
    assert [fact for fact in unverifiable(clean) if not re.match(LACKING, fact)] == []
    facts = counted(clean).facts
    number = counts(clean)
    assert facts["unshown"] > 0
    assert facts["held"] == number[Verdict.HELD]
    assert facts["unverifiable"] + facts["unshown"] == number[Verdict.UNVERIFIABLE]


@pytest.mark.parametrize(
    ("lost", "fact"),
    [
        ("proc/irq", "managed interrupts"),
        ("proc/cpuinfo", "machine CPU vendor"),
        ("sys/devices/system/cpu/smt/active", "machine SMT"),
    ],
)
def test_what_a_node_should_show_raises_the_alert(lost: str, fact: str) -> None:
    case = cases.case("plain")
    assert fact in unverifiable(case.answers({lost: None})) - unverifiable(case.clean)


@pytest.mark.parametrize("name", captured.names())
def test_nothing_differs(name: str) -> None:
    clean = cases.case(name).clean
    assert [answer.finding for answer in clean if answer.finding] == []


@pytest.mark.parametrize("name", captured.names())
def test_a_snapshot_knows_its_node(name: str) -> None:
    assert root_of(captured.archive(name), name).host_names()[0] == name
