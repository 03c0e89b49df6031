"""Control groups of made-up pods, as a kubelet with systemd's driver and CRI-O make them."""

from collections.abc import Mapping
from pathlib import Path

from cpuplan.base.cpuset import CpuSet
from cpuplan.upstream.kubelet.cpumanager.state import CPUState, dump
from cpuplan.upstream.kubernetes.kube_features import Gates

MOUNT = "sys/fs/cgroup"
PODS = "kubepods.slice"
STATE = "var/lib/kubelet/cpu_manager_state"


def write_group(root: Path, path: str, cpus: str, effective: str, **files: str) -> None:
    """A control group of version 2 with a cpuset; further files with `_` for each dot."""
    folder = root / MOUNT / path
    folder.mkdir(parents=True, exist_ok=True)
    texts = {
        "cpuset.cpus": cpus,
        "cpuset.cpus.effective": effective,
        "cpuset.cpus.partition": "member",
        "cpu.max": "max 100000",
        "cpu.stat": "usage_usec 1\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0",
        **{name.replace("_", "."): text for name, text in files.items()},
    }
    for name, text in texts.items():
        (folder / name).write_text(f"{text}\n")


def pod_path(pod: str, qos: str = "") -> str:
    """The control group of a pod: a Guaranteed one, or `burstable` or `besteffort`."""
    above = f"{PODS}/kubepods-{qos}.slice/kubepods-{qos}" if qos else f"{PODS}/kubepods"
    return f"{above}-pod{pod.replace('-', '_')}.slice"


def container_path(pod: str, identifier: str, qos: str = "") -> str:
    """The control group of a container."""
    return f"{pod_path(pod, qos)}/crio-{identifier}.scope"


def write_root(root: Path, online: str) -> None:
    """The root of the control groups, and the one of all pods."""
    folder = root / MOUNT
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cgroup.controllers").write_text("cpuset cpu memory hugetlb pids\n")
    (folder / "cpuset.cpus.effective").write_text(f"{online}\n")
    (folder / "cpuset.cpus.isolated").write_text("\n")
    for path in (PODS, f"{PODS}/kubepods-burstable.slice", f"{PODS}/kubepods-besteffort.slice"):
        write_group(root, path, "", online)


def write_pod(
    root: Path, pod: str, containers: Mapping[str, str], online: str, qos: str = ""
) -> None:
    """A pod with the cpusets of its containers by identifier; empty for a sandbox."""
    write_group(root, pod_path(pod, qos), "", online)
    for identifier, cpus in containers.items():
        write_group(root, container_path(pod, identifier, qos), cpus, cpus or online)


def write_state(
    root: Path, default: str, entries: Mapping[str, Mapping[str, str]], policy: str = "static"
) -> None:
    """The kubelet's state file."""
    sets = {pod: _masks(containers) for pod, containers in entries.items()}
    path = root / STATE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dump(CPUState(CpuSet.parse(default).bits, sets), policy, Gates()))


def _masks(containers: Mapping[str, str]) -> dict[str, int]:
    return {name: CpuSet.parse(cpus).bits for name, cpus in containers.items()}
