"""What `check` reads of a node: the folders, the facts that are there, and who may read them.

The table of docs/checking.md, which must be this one. The mounts of the agents
(`backends.verify.mounts`) are among these, and every path that a check asks for is one of them or
below one.
"""

from enum import Enum
from typing import NamedTuple


class By(Enum):
    """Whom the kernel lets read a place."""

    USER = "any user"
    ROOT = "root"
    #: Root with SYS_PTRACE, which the kernel asks for as if a debugger were attached.
    TRACER = "root with SYS_PTRACE"


class Place(NamedTuple):
    """A folder or file below the root, and what it shows."""

    path: str
    facts: str
    by: By = By.USER
    #: Why agents do not mount it; empty where some do.
    left_out: str = ""


_SOCKETS = "it has sockets, by which programs of the host can be told what to do"
_DEBUGGING = "what is there can be written by root and changes the kernel"

PLACES: tuple[Place, ...] = (
    Place("etc", "compiled files, units, sysctls, the kubelet's, the runtime's, TuneD's files"),
    Place("proc", "boot arguments, interrupts, sysctls, memory, all processes and threads"),
    Place(
        "proc/<pid>/environ",
        "CPUs that irqbalance was started without, CPUs that CRI-O told containers",
        By.TRACER,
    ),
    Place("sys/bus", "PCI devices"),
    Place("sys/class", "network cards and their queues, IOMMUs"),
    Place("sys/devices", "CPUs, NUMA nodes, caches, huge pages, devices, queues of work"),
    Place("sys/fs/cgroup", "CPUs of slices, services, pods and containers"),
    Place("sys/fs/selinux", "whether SELinux enforces, which is a planned boot argument"),
    Place("sys/kernel/debug", "interrupts that the kernel alone places", By.ROOT, _DEBUGGING),
    Place("sys/kernel/iommu_groups", "whether devices reach memory past their IOMMU"),
    Place("sys/kernel/mm", "pools of huge pages, transparent huge pages"),
    Place("sys/module", "parameters of modules"),
    Place("usr", "units, sysctls and profiles of packages, programs of handlers"),
    Place("boot", "the entry of the next boot; some distributions hide it from users"),
    Place("run/cdi", "CPUs of claims, with the DRA CPU driver"),
    Place("run/cpuplan-unmovable-interrupts", "interrupts that could not be moved"),
    Place("run/systemd/system", "units until the next boot"),
    Place("run", "other units until the next boot, sysctls of /run", By.USER, _SOCKETS),
    Place("var/log/containers", "names of containers"),
    Place("var/lib/kubelet", "the kubelet's state, its configuration with kubeadm", By.ROOT),
    Place("var/lib/ocp-tuned", "TuneD's profile on OpenShift"),
    Place("var/lib/rancher", "the kubelet's and the runtime's files of RKE2 and K3s"),
    Place("var", "logs of TuneD and of the kernel", By.USER, "it has volumes, images and sockets"),
    Place("lib", "units of packages", By.USER, "it is a link to /usr/lib"),
    Place("bin", "programs of handlers", By.USER, "it is a link to /usr/bin"),
    Place("sbin", "programs of handlers", By.USER, "it is a link to /usr/sbin"),
    Place("efi", "the entry of the next boot", By.ROOT, "few nodes have it"),
    Place("home/kubernetes", "the kubelet's configuration on GKE", By.USER, "few nodes have it"),
    Place("opt", "programs of handlers", By.USER, "few nodes have it"),
)


def of(path: str) -> Place | None:
    """The place of a path, the longest one; None for what no check reads of a node."""
    parts = [part for part in path.split("/") if part]
    if parts[:1] == ["proc"] and parts[-1:] == ["environ"]:
        parts[1] = "<pid>"
    by_path = {place.path: place for place in PLACES}
    for count in range(len(parts), 0, -1):
        if place := by_path.get("/".join(parts[:count])):
            return place
    return None
