"""The CPU files of a pod's cgroups, version 1 and 2, as far as a container runtime writes them.

Paths are below the mount point; on version 1 they begin with the controller.

Upstream: cri-o/cri-o internal/config/cgmgr/cgmgr_linux.go internal/config/cgmgr/cgroupfs_linux.go
  internal/config/cgmgr/systemd_linux.go @ f954a17e505f8931e91004403b5f5eac71ab6085
"""

from typing import NamedTuple

from cpuplan.upstream.kubernetes.bits import parse_cpus, to_text
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.strconv import quote

#: Microseconds. libcontainer writes this period on version 2 whenever it writes a quota alone
#: (libcontainer bug).
DEFAULT_PERIOD = 100_000
#: A quota that is none.
UNLIMITED = -1


class Layout(NamedTuple):
    """How a node arranges cgroups.

    With `has_crun_child`, crun puts a cgroup `container` inside the container's cgroup.
    """

    version: int = 2
    driver: str = "systemd"
    has_crun_child: bool = False
    online: int = 0


class Cgroups:
    """A pod's cgroups as the kubelet leaves them, and containers that come and go in them.

    `files` has the content of every file by path.
    """

    def __init__(self, layout: Layout, pod: str, quota: str, period: int = DEFAULT_PERIOD) -> None:
        """`pod` is the pod's cgroup, `quota` what its file says in front of the period."""
        self.layout, self.pod = layout, pod
        self.files: dict[str, str] = {}
        self._runs: dict[str, int] = {}
        self._children: dict[str, list[str]] = {}
        if self.is_v2:
            self.files[f"{pod}/cpu.max"] = f"{quota} {period}"
        else:
            self.files[f"cpu/{pod}/cpu.cfs_quota_us"] = quota

    @property
    def is_v2(self) -> bool:
        return self.layout.version == 2

    def create(self, name: str, quota: int | None, period: int | None) -> None:
        """The runtime makes a container's cgroup."""
        self._runs[name] = self._runs.get(name, 0) + 1
        scope = self.scope(name)
        self._children[name] = [scope]
        if self.is_v2:
            first = "max" if quota is None or quota <= 0 else quota
            self.files[f"{scope}/cpu.max"] = f"{first} {period or DEFAULT_PERIOD}"
            if self.layout.has_crun_child:
                self._children[name].append(f"{scope}/container")
                self.files[f"{scope}/container/cpu.max"] = f"max {DEFAULT_PERIOD}"
        else:
            self._create_v1(scope, quota or UNLIMITED)
            if self.layout.has_crun_child:
                self._children[name].append(f"{scope}/container")
                self._create_v1(f"{scope}/container", UNLIMITED)

    def _create_v1(self, cgroup: str, quota: int) -> None:
        self.files[f"cpu/{cgroup}/cpu.cfs_quota_us"] = str(quota)
        self.files[f"cpuset/{cgroup}/cpuset.sched_load_balance"] = "1"

    def scope(self, name: str) -> str:
        """The cgroup of a container, or of its last run."""
        leaf = f"crio-{name}-{self._runs.get(name, 1)}"
        return (
            f"{self.pod}/{leaf}.scope" if self.layout.driver == "systemd" else f"{self.pod}/{leaf}"
        )

    def containers(self, name: str) -> list[str]:
        """A container's own cgroup and those inside it, down to where its processes are."""
        return self._children.get(name) or [self.scope(name)]

    def remove(self, name: str) -> None:
        scope = f"{self.scope(name)}/"
        self._children.pop(name, None)
        self.files = {path: text for path, text in self.files.items() if scope not in path}

    def make_child(self, name: str, exclusive: int) -> None:
        """On version 2 moves processes into a child cgroup with the exclusive CPUs.

        Threads may leave the child for the parent.
        """
        if not self.is_v2:
            return
        parent = self.containers(name)[-1]
        if parent.endswith("/cgroup-child"):
            parent = parent.removesuffix("/cgroup-child")
        else:
            self._children.setdefault(name, [parent]).append(f"{parent}/cgroup-child")
            self.files[f"{parent}/cgroup.subtree_control"] = "+cpu +cpuset"
            self.files[f"{parent}/cgroup-child/cpu.max"] = f"max {DEFAULT_PERIOD}"
        self.files[f"{parent}/cgroup-child/cpuset.cpus"] = to_text(exclusive)

    def write_cpus(self, name: str, cpus: int) -> None:
        """Writes the cpuset of a container's innermost cgroup."""
        controller = "" if self.is_v2 else "cpuset/"
        self.files[f"{controller}{self.containers(name)[-1]}/cpuset.cpus"] = to_text(cpus)

    def make_exec(self, name: str, cpu: int) -> None:
        """Makes the cgroup of later exec processes on version 2; version 1 has an affinity only."""
        if self.is_v2:
            inner = "/container" if self.layout.has_crun_child else ""
            self.files[f"{self.scope(name)}{inner}/exec/cpuset.cpus"] = str(cpu)

    def raise_pod_quota(self, amount: int) -> None:
        """Adds microseconds to the pod's quota, if any; KubeletError if the file has no number.

        Without a quota its file is written too, which sets the period of version 2 to its default.
        """
        path = f"{self.pod}/cpu.max" if self.is_v2 else f"cpu/{self.pod}/cpu.cfs_quota_us"
        text = self.files[path].split(" ")[0]
        if text in ("max", str(UNLIMITED)):
            self.write_quota(self.pod, UNLIMITED)
            return
        try:
            quota = int(text)
        except ValueError:
            problem = f"strconv.ParseInt: parsing {quote(text)}: invalid syntax"
            raise KubeletError(f"failed to calculate pod quota: {problem}") from None
        self.write_quota(self.pod, quota + amount)

    def write_quota(self, cgroup: str, quota: int) -> None:
        """Writes a quota in microseconds, unless 0.

        On version 2 the period goes back to its default.
        """
        if quota == 0:
            return
        if self.is_v2:
            self.files[f"{cgroup}/cpu.max"] = f"{'max' if quota < 0 else quota} {DEFAULT_PERIOD}"
        else:
            self._overwrite(f"cpu/{cgroup}/cpu.cfs_quota_us", str(quota))

    def quota(self, cgroup: str) -> int:
        """Microseconds in each period; UNLIMITED for none."""
        text = self.files[
            f"{cgroup}/cpu.max" if self.is_v2 else f"cpu/{cgroup}/cpu.cfs_quota_us"
        ].split(" ")[0]
        return UNLIMITED if text == "max" else int(text)

    def _overwrite(self, path: str, text: str) -> None:
        if path not in self.files:
            raise KubeletError(f"open {path}: no such file or directory")
        self.files[path] = text

    def disable_load_balancing(self, name: str, cpus: int) -> None:
        """Sets a flag on version 1, makes a remote partition on version 2.

        For a remote partition every cgroup above must name the CPUs.

        All online CPUs are written to the cgroups above first: what was set there is gone (CRI-O
        bug).
        """
        if not self.is_v2:
            self.stop_load_balancing(name)
            return
        for path in self._ancestors():
            self.files[f"{path}/cpuset.cpus"] = to_text(self.layout.online)
            self._write_exclusive(path, self._exclusive(path) | cpus)
        inside = self.containers(name)
        for path in inside:
            self._write_exclusive(path, cpus)
        self.files[f"{inside[-1]}/cpuset.cpus.partition"] = "isolated"

    def stop_load_balancing(self, name: str) -> None:
        """Version 1 only, the innermost cgroup first; KubeletError without a cgroup."""
        if not self.is_v2:
            for path in reversed(self.containers(name)):
                self._overwrite(f"cpuset/{path}/cpuset.sched_load_balance", "0")

    def give_back(self, cpus: int) -> None:
        """The cgroups above name the CPUs of a stopped container no more."""
        if self.is_v2:
            for path in self._ancestors():
                self._write_exclusive(path, self._exclusive(path) & ~cpus)

    def _ancestors(self) -> list[str]:
        """The cgroups from the top down to the pod's."""
        names = self.pod.split("/")
        return ["/".join(names[:depth]) for depth in range(1, len(names) + 1)]

    def _exclusive(self, path: str) -> int:
        return parse_cpus(self.files.get(f"{path}/cpuset.cpus.exclusive", ""))

    def _write_exclusive(self, path: str, cpus: int) -> None:
        self.files[f"{path}/cpuset.cpus.exclusive"] = to_text(cpus)
