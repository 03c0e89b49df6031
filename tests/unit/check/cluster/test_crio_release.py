"""What a Node's release of CRI-O is known to break, by its version."""

from typing import Any

import pytest

from cpuplan.check.cluster import crio_release
from cpuplan.check.cluster.live_objects import Objects, Subject
from cpuplan.plan import ConfiguredPlan
from cpuplan.plan.expected.evidence import Verdict
from tests.live import Cluster, objects
from tests.machines.plans import no_position, plan

EXEC = "exec into a container fails, with exec_cpu_affinity first"
IRQS = "interrupts can come back to CPUs that a pod takes over from another one"
WITHOUT_EXEC: dict[str, Any] = {"runtime": {"execCpuAffinity": "none"}}


def told(of: ConfiguredPlan, version: str | None) -> list[tuple[Verdict, str]]:
    """(verdict, what is wrong or unknown) for a Node with a version of its container runtime."""
    cluster = Cluster(of)
    info = {} if version is None else {"nodeInfo": {"containerRuntimeVersion": version}}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "worker-0"}, "status": info}
    subject = Subject("worker-0", cluster.expected[0], objects([node]), no_position)
    return [
        (answer.verdict, answer.finding.message if answer.finding else answer.reason)
        for answer in crio_release.release(subject)
    ]


@pytest.mark.parametrize(
    ("of", "version", "problems"),
    [
        (plan(version="4.21"), "cri-o://1.34.2-3.rhaos4.21.git1234567.el9", [EXEC, IRQS]),
        (plan(version="4.21"), "cri-o://1.34.4", [IRQS]),
        (plan(version="4.21"), "cri-o://1.34.10", []),
        (plan(version="4.21", spec=WITHOUT_EXEC), "cri-o://1.34.2", [IRQS]),
        # The branch of the node counts, which may be another one for a while.
        (plan(version="4.21"), "cri-o://1.33.9", [IRQS]),
        (plan(version="4.22"), "cri-o://1.34.0", [EXEC, IRQS]),
        # Of what no release of a branch has mended, a version says nothing.
        (plan(version="4.16"), "cri-o://1.29.1", []),
    ],
)
def test_a_version_with_a_defect(of: ConfiguredPlan, version: str, problems: list[str]) -> None:
    messages = [text for verdict, text in told(of, version) if verdict is Verdict.DIFFERS]
    assert len(messages) == len(problems)
    for message, problem in zip(messages, problems, strict=True):
        assert f": {problem} (" in message
        assert message.startswith(f"node worker-0 runs CRI-O {version[8:].partition('-')[0]}: ")


@pytest.mark.parametrize(
    ("of", "version", "verdicts"),
    [
        (plan(version="4.21"), "cri-o://1.34.11", [Verdict.HELD]),
        (plan(version="4.21"), None, [Verdict.UNVERIFIABLE]),
        (plan(version="4.21"), "containerd://2.1.0", [Verdict.UNVERIFIABLE]),
        (plan(version="4.21"), "cri-o://1.34", [Verdict.UNVERIFIABLE]),
        (plan(version="4.22"), None, []),
        (plan(version="4.22"), "cri-o://1.35.0", []),
        # Without hooks pods can ask for nothing that breaks.
        (plan(platform="kubernetes", version="1.34"), "cri-o://1.34.0", []),
    ],
)
def test_what_is_answered(of: ConfiguredPlan, version: str | None, verdicts: list[Verdict]) -> None:
    assert [verdict for verdict, _ in told(of, version)] == verdicts


def test_a_node_that_was_not_given() -> None:
    subject = Subject("worker-0", Cluster(plan(version="4.21")).expected[0], Objects(), no_position)
    (answer,) = crio_release.release(subject)
    assert answer.verdict is Verdict.UNVERIFIABLE
