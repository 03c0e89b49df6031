"""Names of control groups, by both drivers of the kubelet and several runtimes."""

import pytest

from cpuplan.check.pods.cgroups import container_of, is_all_pods, is_folder

UID = "0a1b-2c"
BURSTABLE = "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0a1b_2c.slice"


@pytest.mark.parametrize(
    ("path", "pod", "identifier"),
    [
        ("kubepods.slice/kubepods-pod0a1b_2c.slice/crio-77ab.scope", UID, "77ab"),
        (
            f"{BURSTABLE}/cri-containerd-77ab.scope",
            UID,
            "77ab",
        ),
        ("k.slice/k-kubepods.slice/k-kubepods-pod0a1b_2c.slice/crio-77ab.scope", UID, "77ab"),
        ("kubepods/pod0a1b-2c/77ab", UID, "77ab"),
        ("kubepods/besteffort/pod0a1b-2c/crio-77ab", UID, "77ab"),
        ("kubepods.slice/kubepods-pod0a1b_2c.slice/crio-conmon-77ab.scope", "", ""),
        ("kubepods.slice/kubepods-pod0a1b_2c.slice", "", ""),
        ("kubepods.slice/kubepods-pod0a1b_2c.slice/crio-77ab.scope/container", "", ""),
        ("system.slice/pod0a1b-2c/77ab", "", ""),
        ("system.slice/crio.service", "", ""),
    ],
)
def test_containers(path: str, pod: str, identifier: str) -> None:
    container = container_of(path)
    assert (container.pod, container.id) == (pod, identifier) if container else not pod


@pytest.mark.parametrize("name", ["kubepods", "kubepods.slice", "x-kubepods.slice"])
def test_all_pods(name: str) -> None:
    assert is_all_pods(f"x.slice/{name}")
    assert not is_all_pods(f"{name}/kubepods-burstable.slice")


def test_files_of_control_groups_are_no_folders() -> None:
    files = (
        "cgroup.procs",
        "cpuset.cpus.partition",
        "cpu.max",
        "tasks",
        "cpuacct.stat",
        "irq.pressure",
    )
    assert not any(map(is_folder, files))
    assert all(map(is_folder, ("system.slice", "cpu-app.service", "kubepods", "abc", "cpu")))
