"""Names of the control groups that the kubelet and container runtimes make."""

import re
from typing import NamedTuple

#: systemd: kubepods-burstable-pod<uid>.slice, also x-kubepods-pod<uid>.slice with --cgroup-root x.
_SLICE = re.compile(r"(?:.+-)?kubepods(?:-(besteffort|burstable))?-pod(.+)\.slice\Z")
#: cgroupfs: pod<uid> in kubepods, kubepods/burstable or kubepods/besteffort.
_FOLDER = re.compile(r"pod([0-9a-f-]+)\Z")
_ALL_PODS = re.compile(r"(?:.+-)?kubepods(?:\.slice)?\Z")
_MONITOR = re.compile(r"(?:crio|libpod)-conmon-")
_RUNTIME = re.compile(r"(?:crio|cri-containerd|docker|libpod)-")
#: Digits of an identifier that are enough for people.
_SHORT = 12
#: What every control group has; all other names are of groups below it.
_FILE = re.compile(
    r"(?:cgroup|cpu|cpuacct|cpuset|memory|io|pids|hugetlb|rdma|misc|irq|perf_event|devices|blkio"
    r"|freezer|net_cls|net_prio|debug|dmem)\.|(?:tasks|notify_on_release|release_agent)\Z"
)


class Container(NamedTuple):
    """A container's control group: its path below the mount point, with that of its pod."""

    path: str
    pod_path: str
    #: The pod's UID; of a static pod, the hash of its manifest.
    pod: str
    id: str

    @property
    def short(self) -> str:
        """The pod and the container in a sentence."""
        return f"{self.id[:_SHORT]} of pod {self.pod}"


def is_folder(name: str) -> bool:
    """Whether a name in a control group's folder is that of a further group."""
    return _FILE.match(name) is None


def is_all_pods(path: str) -> bool:
    """Whether a control group is the one of all pods."""
    return _ALL_PODS.match(path.rpartition("/")[2]) is not None


def container_of(path: str) -> Container | None:
    """The container of a control group directly below that of a pod."""
    pod_path, _, name = path.rpartition("/")
    pod = pod_of(pod_path)
    if not pod or _MONITOR.match(name):
        return None
    bare = _RUNTIME.sub("", name, count=1).removesuffix(".scope").removesuffix(".service")
    return Container(path, pod_path, pod, bare)


def pod_of(path: str) -> str:
    """The UID of a pod's control group; empty for others."""
    above, _, name = path.rpartition("/")
    by_systemd = _SLICE.match(name)
    if by_systemd:
        return by_systemd[2].replace("_", "-")
    folder = _FOLDER.match(name)
    is_below = is_all_pods(above) or is_all_pods(above.rpartition("/")[0])
    return folder[1] if folder and is_below else ""
