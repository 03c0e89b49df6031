"""`cpuplan validate` of a node's files, as a user runs it."""

from pathlib import Path

import pytest

from cpuplan.upstream.containerd.cri_config import CRI, OLD_CRI
from tests.projects import run_in

Capture = pytest.CaptureFixture[str]

_MAIN = 'version = 3\nimports = ["/etc/containerd/conf.d/*.toml"]\n'
_RUNC = f"[plugins.'{CRI}'.containerd.runtimes.runc.options]\nSystemdCgroup = true\n"
_KUBELET = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"


def put(folder: Path, name: str, text: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)


def validate(folder: Path, capture: Capture, *arguments: str) -> tuple[int, str]:
    """The exit code, and what is said."""
    code, _, said = run_in(folder, ["validate", *arguments], capture)
    return code, said


def test_containerds_files_without_a_project(tmp_path: Path, capsys: Capture) -> None:
    put(tmp_path, "copy/config.toml", _MAIN)
    put(tmp_path, "copy/conf.d/site.toml", _RUNC)
    for path in ("copy", "copy/config.toml"):
        assert validate(tmp_path, capsys, "--containerd", path) == (0, "valid for containerd\n")


def test_imports_of_a_folder_that_is_where_it_was(tmp_path: Path, capsys: Capture) -> None:
    put(tmp_path, "agent/config.toml", f'version = 3\nimports = ["{tmp_path}/agent/site.toml"]\n')
    put(tmp_path, "agent/site.toml", _RUNC)
    assert validate(tmp_path, capsys, "--containerd", "agent") == (0, "valid for containerd\n")


def test_the_driver_is_that_of_the_kubelet_given(tmp_path: Path, capsys: Capture) -> None:
    put(tmp_path, "config.toml", f"version = 3\n{_RUNC}")
    put(tmp_path, "kubelet.yaml", f"{_KUBELET}cgroupDriver: cgroupfs\n")
    _, said = validate(tmp_path, capsys, "kubelet.yaml", "--containerd", "config.toml")
    assert "SystemdCgroup is true, and cgroupDriver of the kubelet is cgroupfs" in said
    assert said.endswith("valid for the kubelet and containerd\n")


def test_the_release_can_be_asked_for(tmp_path: Path, capsys: Capture) -> None:
    put(tmp_path, "config.toml", f"version = 2\n[plugins.'{OLD_CRI}']\nenable_cdi = true\n")
    options = ("--containerd", "config.toml", "--target")
    code, said = validate(tmp_path, capsys, *options, "containerd/1.6")
    assert (code, "containerd 1.6 has no key" in said) == (0, True)
    assert validate(tmp_path, capsys, *options, "containerd/3.0")[0] == 2
    code, said = validate(
        tmp_path, capsys, *options, "containerd/2.0", "--target", "containerd/2.1"
    )
    assert (code, "two releases" in said) == (2, True)


def test_a_folder_without_a_main_file_is_no_configuration(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "empty").mkdir()
    code, said = validate(tmp_path, capsys, "--containerd", "empty")
    assert (code, "there is no config.toml in empty" in said) == (2, True)


_NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: worker-0, labels: {%s: %s}}\n"
_POLICY = "node.koordinator.sh/numa-topology-policy"


def test_objects_of_koordinator_without_a_project(tmp_path: Path, capsys: Capture) -> None:
    put(tmp_path, "node.yaml", _NODE % (_POLICY, "Restricted"))
    assert validate(tmp_path, capsys, "node.yaml") == (0, "valid for Koordinator\n")
    code, said = validate(tmp_path, capsys, "node.yaml", "--target", "koordinator/1.3")
    assert (code, f"Koordinator 1.3 does not read {_POLICY}" in said) == (0, True)
    code, said = validate(tmp_path, capsys, "node.yaml", "--target", "koordinator/2.0")
    assert (code, "'koordinator/2.0' is not a known release" in said) == (2, True)


def test_nodes_that_say_nothing_of_koordinator_are_its_if_asked_for(
    tmp_path: Path, capsys: Capture
) -> None:
    put(tmp_path, "node.yaml", _NODE % ("zone", "a"))
    code, said = validate(tmp_path, capsys, "node.yaml", "--target", "koordinator/1.8")
    assert (code, said) == (0, "valid for Koordinator\n")
    assert validate(tmp_path, capsys, "node.yaml")[1] != said
