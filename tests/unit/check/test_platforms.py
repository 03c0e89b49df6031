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
            "[Service]\nExecStart=\nExecStart=/usr/bin/kubelet \\\n"
            "    --cloud-provider external \\\n    --config /etc/kubernetes/kubelet/config \\\n"
            "    --root-dir /var/lib/kubelet\n"
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


UNIT = "etc/systemd/system/k3s-agent.service"
AGENT = "[Service]\nEnvironmentFile=-/etc/default/%N\nExecStart=/usr/local/bin/k3s agent"
SERVER = "[Service]\nExecStart=/usr/local/bin/k3s server --kubelet-arg=reserved-cpus=0\n"
RESERVED = "kubelet reservedSystemCPUs"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({UNIT: f"{AGENT} --kubelet-arg max-pods=20\n"}, []),
        ({UNIT: f"{AGENT} --kubelet-arg reserved-cpus=0\n"}, ["CP824"]),
        ({UNIT: f"{AGENT} '--kubelet-arg' 'cpu-manager-policy=none'\n"}, ["CP824"]),
        ({UNIT: f"{AGENT} --kubelet-arg=--reserved-cpus=0 \\\n"}, ["CP824"]),
        # The last one counts, and the unit comes after files.
        ({UNIT: f"{AGENT} --kubelet-arg=reserved-cpus=0 --kubelet-arg=reserved-cpus=0-1\n"}, []),
        (
            {
                UNIT: f"{AGENT} --kubelet-arg=reserved-cpus=0-1\n",
                "etc/rancher/k3s/config.yaml": "kubelet-arg: [reserved-cpus=0]\n",
            },
            [],
        ),
        ({"etc/rancher/k3s/config.yaml.d/1.yml": "kubelet-arg: reserved-cpus=0\n"}, ["CP824"]),
        (
            {
                UNIT: f"{AGENT} $FLAGS\n",
                "etc/default/k3s-agent": "FLAGS=--kubelet-arg=reserved-cpus=0\n",
            },
            ["CP824"],
        ),
        (
            {
                UNIT: f"{AGENT}\n",
                "etc/default/k3s-agent": "K3S_CONFIG_FILE=/etc/k3s.yaml\n",
                "etc/k3s.yaml": "kubelet-arg: [reserved-cpus=0]\n",
            },
            ["CP824"],
        ),
        (
            {
                UNIT: f"{AGENT} -c /etc/k3s.yaml\n",
                "etc/k3s.yaml": "kubelet-arg: [reserved-cpus=0]\n",
                "etc/rancher/k3s/config.yaml": "kubelet-arg: [cpu-manager-policy=none]\n",
            },
            ["CP824"],
        ),
        # Its data, and the folder of drop-ins with it, are somewhere else.
        ({UNIT: f"{AGENT} --data-dir /data\n"}, ["CP822"]),
        ({"etc/rancher/k3s/config.yaml": "data-dir: /data\n"}, ["CP822"]),
        ({UNIT: f"{AGENT} --kubelet-arg=config-dir=/data\n"}, ["CP822"]),
        ({UNIT: f"{AGENT} --kubelet-arg=reserved-cpu=0\n"}, []),
    ],
)
def test_flags_of_k3s(tmp_path: Path, files: dict[str, str], expected: list[str]) -> None:
    node = made("k3s", tmp_path)
    node.write(files)
    assert node.codes() == expected
    verdict = node.verdicts()[RESERVED]
    assert verdict is not Verdict.UNVERIFIABLE


def test_a_server_of_k3s_is_the_unit_that_is_enabled(tmp_path: Path) -> None:
    node = made("k3s", tmp_path)
    folder = tmp_path / "etc/systemd/system"
    node.write({"etc/systemd/system/k3s.service": SERVER})
    assert node.codes() == []
    (folder / "multi-user.target.wants").mkdir()
    (folder / "multi-user.target.wants/k3s.service").symlink_to("/etc/systemd/system/k3s.service")
    assert node.codes() == ["CP824"]


@pytest.mark.parametrize(
    "files",
    [
        {UNIT: "[Service]\nExecStart=/opt/start-k3s.sh\n"},
        {UNIT: f"{AGENT} --config=https://192.0.2.1/config.yaml\n"},
    ],
)
def test_flags_that_nobody_can_read_are_not_none(tmp_path: Path, files: dict[str, str]) -> None:
    node = made("k3s", tmp_path)
    node.write(files)
    assert node.codes() == []
    assert node.verdicts()[RESERVED] is Verdict.UNVERIFIABLE


ARGS = "var/snap/microk8s/current/args/kubelet"


def microk8s(root: Path) -> Node:
    """kubelite runs the kubelet with a file of flags."""
    node = Node(plan(platform="kubernetes", version="1.34"), root)
    make_root(node.plan, root)
    (root / "etc/systemd/system/kubelet.service.d/50-cpuplan.conf").unlink(missing_ok=True)
    return node


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("--root-dir=${SNAP_COMMON}/var/lib/kubelet\n", {"CP876"}),
        ("# a comment\n--config-dir=/etc/kubernetes/kubelet.conf.d\n", set()),
        (
            "--config-dir=/etc/kubernetes/kubelet.conf.d\n--cpu-manager-policy='none'\n",
            {"CP824"},
        ),
        ("--config-dir=$SNAP_DATA/kubelet.conf.d\n--v=2\n", {"CP876"}),
    ],
)
def test_flags_of_microk8s(tmp_path: Path, flags: str, expected: set[str]) -> None:
    node = microk8s(tmp_path)
    node.write({ARGS: flags})
    of_flags = {"CP822", "CP824", "CP876"}
    assert of_flags & set(node.codes()) == expected
    held = node.verdicts()[RESERVED] is Verdict.HELD
    assert held == ("CP876" not in expected)


def test_the_file_that_kubelite_names(tmp_path: Path) -> None:
    node = microk8s(tmp_path)
    words = ("/snap/microk8s/8/kubelite", "--kubelet-args-file=/var/snap/microk8s/8/args/kubelet")
    node.write(
        {
            "proc/901/comm": "kubelite\n",
            "proc/901/cmdline": "\0".join((*words, "")),
            "var/snap/microk8s/8/args/kubelet": (
                "--config-dir=/etc/kubernetes/kubelet.conf.d\n--reserved-cpus=0\n"
            ),
        }
    )
    assert "CP824" in node.codes()
