"""A node of each platform, with the files that the platform makes: it holds what was compiled."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from cpuplan.components import kubelet
from cpuplan.facts.platforms import PLATFORMS
from cpuplan.plan import ConfiguredPlan
from cpuplan.plan.expected.evidence import Verdict
from tests import checked
from tests.hosts import make_root
from tests.machines.plans import plan

HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"


def k3s(node: ConfiguredPlan) -> dict[str, str]:
    """The unit of its installer, and the drop-in that it writes itself."""
    platform = node.node_class.platform
    folder = platform.kubelet_folder.strip("/")
    return {
        f"{folder}/00-{platform.name}-defaults.conf": f"{HEAD}cgroupDriver: systemd\n",
        f"etc/systemd/system/{platform.kubelet_unit}": (
            "[Service]\n"
            f"EnvironmentFile=-/etc/default/%N\n"
            f"ExecStart=/usr/local/bin/{platform.name} \\\n    agent \\\n"
            "\t'--server' \\\n\t'https://192.0.2.1:6443' \\\n"
            "\t'--kubelet-arg' \\\n\t'max-pods=40' \\\n"
        ),
    }


def talos(node: ConfiguredPlan) -> dict[str, str]:
    """Its kubelet runs in a container of the host, with one file."""
    config = kubelet.render(node.settings.of(kubelet.NAME))
    words = ("/usr/local/bin/kubelet", "--config=/etc/kubernetes/kubelet.yaml")
    return {
        "etc/kubernetes/kubelet.yaml": config,
        "proc/901/comm": "kubelet\n",
        "proc/901/cgroup": "0::/podruntime/kubelet\n",
        "proc/901/cmdline": "\0".join((*words, "--cert-dir=/var/lib/kubelet/pki", "")),
    }


def bottlerocket(node: ConfiguredPlan) -> dict[str, str]:
    """Its image has the unit, its settings become the file and a drop-in of the unit."""
    config = kubelet.render(node.settings.of(kubelet.NAME))
    unit = "etc/systemd/system/kubelet.service"
    return {
        "etc/kubernetes/kubelet/config": config,
        unit: "[Service]\nType=notify\n",
        f"{unit}.d/exec-start.conf": (
            "[Service]\nExecStart=\nExecStart=/usr/bin/kubelet \\\n    --cloud-provider external \\\n"
            "    --config /etc/kubernetes/kubelet/config \\\n    --root-dir /var/lib/kubelet\n"
        ),
    }


MADE = {"k3s": k3s, "rke2": k3s, "talos": talos, "bottlerocket": bottlerocket}
RELEASES = {"k3s": "1.35", "rke2": "1.35", "talos": "1.12", "bottlerocket": "1.35"}
EACH = pytest.mark.parametrize("platform", MADE)
CONFIGS = {
    "k3s": "var/lib/rancher/k3s/agent/etc/kubelet.conf.d/90-cpuplan.conf",
    "rke2": "var/lib/rancher/rke2/agent/etc/kubelet.conf.d/90-cpuplan.conf",
    "talos": "etc/kubernetes/kubelet.yaml",
    "bottlerocket": "etc/kubernetes/kubelet/config",
}


class Node(NamedTuple):
    """A node as it was made, below its root."""

    plan: ConfiguredPlan
    root: Path

    def write(self, files: dict[str, str]) -> None:
        """Give it files."""
        for path, text in files.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text)

    def codes(self) -> list[str]:
        """The codes of what `check` says."""
        return [finding.code for finding in checked.findings(self.root, self.plan)]

    def verdicts(self) -> dict[str, Verdict]:
        """What it says of each fact."""
        return {answer.fact: answer.verdict for answer in checked.answers(self.root, self.plan)}


def made(platform: str, root: Path) -> Node:
    """A node of a platform that has what was compiled."""
    node = plan(platform=platform, version=RELEASES[platform])
    make_root(node, root)
    (root / "var/lib/kubelet/config.yaml").unlink()
    result = Node(node, root)
    result.write(MADE[platform](node))
    return result


def test_each_platform_tells_its_runtime() -> None:
    assert {name for name, platform in PLATFORMS.items() if platform.has_runtime_choice} == {
        "kubernetes"
    }
    assert {PLATFORMS[name].runtime for name in MADE} == {"containerd"}


@EACH
def test_it_holds_its_plan(platform: str, tmp_path: Path) -> None:
    node = made(platform, tmp_path)
    assert node.codes() == []
    verdicts = node.verdicts()
    settings = node.plan.settings.of(kubelet.NAME)
    facts = [f"kubelet {setting.key}" for setting in settings]
    assert facts
    assert {verdicts[fact] for fact in facts} == {Verdict.HELD}
    assert not any(fact.startswith("crio") for fact in verdicts)


def edited(old: str, new: str) -> Callable[[str], str]:
    def edit(text: str) -> str:
        assert old in text
        return text.replace(old, new)

    return edit


@EACH
@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (edited("cpuManagerPolicy: static", "cpuManagerPolicy: none"), {"CP823"}),
        (edited("reservedSystemCPUs: 0-1", "reservedSystemCPUs: 0-2"), {"CP823"}),
        (edited("reservedSystemCPUs:", "reservedCPUs:"), {"CP709", "CP822"}),
        (edited("kind: Kube", "kind: Cube"), {"CP821"}),
    ],
)
def test_a_changed_fact_is_found(
    platform: str, tmp_path: Path, edit: Callable[[str], str], expected: set[str]
) -> None:
    node = made(platform, tmp_path)
    path = tmp_path / CONFIGS[platform]
    path.write_text(edit(path.read_text()))
    assert expected & set(node.codes())


@EACH
def test_a_node_without_the_file(platform: str, tmp_path: Path) -> None:
    node = made(platform, tmp_path)
    (tmp_path / CONFIGS[platform]).unlink()
    assert {"CP820", "CP822"} & set(node.codes())
