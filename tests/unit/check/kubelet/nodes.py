"""A node with the kubelet of a plan, and what `check` says of it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cpuplan.check.kubelet.unit import STEPS
from cpuplan.plan import ConfiguredPlan
from cpuplan.plan.expected.evidence import Answer
from tests import checked
from tests.hosts import KUBELET_UNIT, make_root
from tests.machines.plans import plan

HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
DROP_INS = "etc/kubernetes/kubelet.conf.d"
UNIT = KUBELET_UNIT
#: A unit that does not say how the kubelet is started.
NO_UNIT = {UNIT: "[Service]\n", f"{UNIT}.d/10-kubeadm.conf": ""}
STARTED = (
    "/usr/bin/kubelet\0--config=/var/lib/kubelet/config.yaml\0--config-dir=/" + DROP_INS + "\0"
)


def planned(platform: str = "kubernetes", version: str = "1.34", **spec: Any) -> ConfiguredPlan:
    """Eight CPUs, of which 0-1 are reserved."""
    return plan(platform=platform, version=version, spec=spec)


def answers(root: Path, node: ConfiguredPlan, changes: Mapping[str, str]) -> list[Answer]:
    """Of the kubelet, on a node that holds everything but for some files."""
    made = make_root(node, root, with_kubelet=True)
    for path, text in changes.items():
        (made / path).parent.mkdir(parents=True, exist_ok=True)
        (made / path).write_text(text)
    subject = checked.subject(made, node)
    return [answer for step in STEPS for answer in step(subject)]


def codes(checks: list[Answer]) -> list[str]:
    """The codes of findings, each finding once."""
    findings = dict.fromkeys(answer.finding for answer in checks if answer.finding)
    return [finding.code for finding in findings]


def of(checks: list[Answer], fact: str) -> Answer:
    """The answer on a fact."""
    (answer,) = [answer for answer in checks if answer.fact == fact]
    return answer


def running(*flags: str) -> dict[str, str]:
    """A kubelet that runs with kubeadm's files and further flags."""
    words = STARTED + "".join(f"{flag}\0" for flag in flags)
    return {"proc/901/comm": "kubelet\n", "proc/901/cmdline": words}
