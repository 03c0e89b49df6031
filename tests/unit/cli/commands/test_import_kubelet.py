"""`cpuplan import kubelet`: sources as people have them, to intents that compile."""

import io
import sys
import tarfile
from pathlib import Path

import pytest
import yaml

from tests.projects import REPOSITORY, make_project, run_in

HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
#: What kubeadm installs, shortened.
UNIT = """\
[Service]
Environment="KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml"
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
ExecStart=/usr/bin/kubelet $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS
"""
FLAGS = (
    'KUBELET_KUBEADM_ARGS="--container-runtime-endpoint=unix:///run/containerd/containerd.sock"\n'
)
KUBELET = f"{HEAD}cpuManagerPolicy: static\nsystemReserved: {{cpu: 1500m}}\nmaxPods: 60\n"
#: CPUs 0 to 7, neighbours are siblings.
SYSFS = {
    "present": "0-7",
    "online": "0-7",
    **{f"cpu{cpu}/topology/core_cpus_list": f"{cpu & ~1}-{cpu | 1}" for cpu in range(8)},
    **{f"cpu{cpu}/topology/core_id": f"{cpu >> 1}" for cpu in range(8)},
    **{f"cpu{cpu}/topology/physical_package_id": "0" for cpu in range(8)},
    **{f"cpu{cpu}/topology/package_cpus_list": "0-7" for cpu in range(8)},
}


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def node(root: Path) -> Path:
    """The root of a node that kubeadm made, with its /sys."""
    write(root / "sys/devices/system/cpu", {name: f"{text}\n" for name, text in SYSFS.items()})
    write(
        root / "sys/devices/system/node",
        {
            "online": "0\n",
            "node0/cpulist": "0-7\n",
            "node0/meminfo": "Node 0 MemTotal: 8388608 kB\n",
        },
    )
    files = {
        "etc/hostname": "node-7\n",
        "etc/systemd/system/kubelet.service": UNIT,
        "var/lib/kubelet/config.yaml": KUBELET,
        "var/lib/kubelet/kubeadm-flags.env": FLAGS,
    }
    return write(root, files)


def intent(folder: Path, name: str) -> dict[str, object]:
    spec: dict[str, object] = yaml.safe_load((folder / f"intents/{name}.yaml").read_text())["spec"]
    return spec


@pytest.mark.parametrize("packed", [False, True])
def test_the_root_of_a_node_gives_its_inventory_and_its_intent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], *, packed: bool
) -> None:
    """The CPUs of the amounts are those of its machine; the runtime is the one of its flags."""
    root, project = node(tmp_path / "root"), tmp_path / "project"
    project.mkdir()
    if packed:
        with tarfile.open(tmp_path / "root.tar.gz", "w:gz") as archive:
            archive.add(root, ".")
        root = tmp_path / "root.tar.gz"
    words = ["import", "kubelet", str(root), "--cluster", "edge", "--release", "1.34"]
    code, _, err = run_in(project, words, capsys)
    assert code == 0, err
    spec = intent(project, "node-7")
    assert spec["selector"] == {"clusters": ["edge"], "nodes": ["node-7"]}
    assert spec["targets"] == [
        {"platform": "kubernetes", "version": "1.34", "runtime": "containerd"}
    ]
    assert spec["pools"] == {"reserved": "0-1", "isolated": "rest"}
    code, _, err = run_in(project, ["compile", "-q"], capsys)
    assert code == 0, err
    (text,) = [
        path.read_text() for path in project.glob("out/nodes/edge/*/etc/kubernetes/*/*.conf")
    ]
    assert yaml.safe_load(text) == {
        **yaml.safe_load(HEAD),
        "cpuManagerPolicy": "static",
        "kubeReservedCgroup": "",
        "systemReservedCgroup": "",
        "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
        "maxPods": 60,
        "reservedSystemCPUs": "0-1",
        "systemReserved": {"cpu": "1500m"},
    }
    written = sorted(
        path.relative_to(project / "out/nodes/edge").parts[1:]
        for path in project.glob("out/nodes/edge/*/**/*")
        if path.is_file()
    )
    assert {path[-1] for path in written} == {
        "50-cpuplan.cfg",
        "50-cpuplan.conf",
        "90-cpuplan.conf",
        "cmdline",
        "plan.json",
    }


def test_nodes_alike_have_one_intent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = make_project(tmp_path / "project")
    for path in (project / "intents").iterdir():
        path.unlink()
    for name in ("worker-0", "worker-1"):
        root = write(node(tmp_path / name), {"etc/hostname": f"{name}\n"})
        (root / "sys").rename(tmp_path / f"sys-of-{name}")
    words = ["import", "kubelet", str(tmp_path / "worker-0"), str(tmp_path / "worker-1")]
    code, _, err = run_in(project, [*words, "--release", "1.34"], capsys)
    assert code == 0, err
    spec = intent(project, "worker-0")
    assert spec["selector"] == {"clusters": ["lab"], "nodes": ["worker-[0-1]"]}
    assert spec["pools"] == {"reserved": "0,8", "isolated": "rest"}
    assert "2 kubelets read: 1 intent" in err


def test_what_comes_through_a_pipe_is_that_of_the_node(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = '{"kubeletconfig": {"cpuManagerPolicy": "static", "reservedSystemCPUs": "0,8"}}'
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(answer.encode())))
    project = make_project(tmp_path)
    words = ["import", "kubelet", "-", "--node", "worker-1", "--stdout"]
    code, out, err = run_in(project, words, capsys)
    assert (code, err) == (
        0,
        "note: the kubelet is read for Kubernetes 1.33, as the project's are\n",
    )
    assert yaml.safe_load(out)["spec"]["selector"] == {"clusters": ["lab"], "nodes": ["worker-1"]}


REFUSED = {
    "no release": (["k.yaml"], "unknown release of Kubernetes: no file says it"),
    "unknown release": (["k.yaml", "--release", "1.9"], "kubernetes 1.9 is unknown"),
    "K3s or RKE2": (["config.yaml", "--release", "1.34"], "give --platform k3s or --platform rke2"),
    "a Pod": (["pod.yaml", "--release", "1.34"], "CP1525"),
    "a folder of others": (["other", "--release", "1.34"], "CP1525"),
    "an empty root": (["root", "--release", "1.34"], "CP1525"),
    "OpenShift": (["rhcos", "--release", "1.34"], "import performanceprofile"),
    "a mode": (["k.yaml", "--mode", "mco"], "--mode is only for performanceprofile"),
    "differences": (["k.yaml", "--diff"], "cannot be used with kubelet"),
}


@pytest.mark.parametrize(("words", "text"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], text: str
) -> None:
    files = {
        "k.yaml": f"{HEAD}maxPods: 3\n",
        "config.yaml": "kubelet-arg: [max-pods=3]\n",
        "pod.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n",
        "other/pod.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n",
        "root/etc/hostname": "a\n",
        "rhcos/etc/os-release": "ID=rhcos\n",
        "rhcos/etc/kubernetes/kubelet.conf": KUBELET,
    }
    code, _, err = run_in(write(tmp_path, files), ["import", "kubelet", *words], capsys)
    assert code in (1, 2)
    assert text in err
    assert not (tmp_path / "intents").exists()


def test_options_of_kubelets_are_for_no_hardware(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["import", "sysroot", str(REPOSITORY / "tests"), "--platform", "k3s"]
    code, _, err = run_in(tmp_path, words, capsys)
    assert code == 2
    assert "--platform is only for kubelet" in err


def test_an_intent_that_is_there_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {"k.yaml": f"{HEAD}maxPods: 3\n", "intents/default.yaml": "mine"}
    write(tmp_path, files)
    words = ["import", "kubelet", "k.yaml", "--release", "1.34"]
    code, _, err = run_in(tmp_path, words, capsys)
    assert code == 2
    assert "CP621" in err
    assert (tmp_path / "intents/default.yaml").read_text() == "mine"


@pytest.mark.parametrize(
    ("name", "text", "platform"),
    [
        ("flags", "--cpu-manager-policy=static\n--reserved-cpus=0-1\n", "kubernetes"),
        ("microk8s/args/kubelet", "--reserved-cpus=0-1\n", "microk8s"),
        (
            "node.yaml",
            "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {kubelet: {config: {}}}\n",
            "eks",
        ),
    ],
)
def test_the_platform_is_one_that_the_source_tells(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str, platform: str
) -> None:
    """Any kubelet may have a file of flags."""
    write(tmp_path, {name: text})
    words = ["import", "kubelet", name, "--release", "1.34", "--stdout"]
    code, out, err = run_in(tmp_path, words, capsys)
    assert code == 0, err
    assert f"- platform: {platform}\n" in out
