"""Nodes that were not booted: made from their plans, with programs, units and pods that hold."""

import io
import tarfile
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from cpuplan.base.roots.archive import ArchiveReader, Index
from cpuplan.check.roots.limits import KEEPING, LIMITS
from cpuplan.check.roots.root import Kind
from cpuplan.plan import ConfiguredPlan
from tests import checked, processes
from tests.machines.plans import plan, regular
from tests.mutation.image import Image
from tests.mutation.mutation import Case
from tests.unit.check.pods import test_mutations as pods
from tests.unit.check.services import node


def _openshift() -> ConfiguredPlan:
    return plan(
        regular(sockets=2, cores=4, threads=2),
        reserved="0,4,8,12",
        shared="1,9",
        platform="openshift",
        version="4.20",
        spec={
            "isolation": {"globallyDisableIrqLoadBalancing": True},
            "hugePages": {
                "defaultSize": "2M",
                "pages": [{"size": "2M", "count": 64, "numaNode": 1}],
            },
        },
    )


def _containerd() -> ConfiguredPlan:
    return plan(
        regular(sockets=2, cores=4, threads=1),
        reserved="0,4",
        platform="kubernetes",
        version="1.36",
        target={"runtime": "containerd", "containerd": "2.2"},
        spec={"kubelet": {"topologyManagerPolicy": "single-numa-node"}},
    )


def _pods() -> ConfiguredPlan:
    options = {"full-pcpus-only": "true", "strict-cpu-reservation": "true"}
    return plan(
        regular(sockets=2, cores=4, threads=2),
        reserved=pods.INFRA,
        shared="1,9",
        isolcpus="7,15",
        sets={"bestEffort": pods.BEST_EFFORT},
        platform="kubernetes",
        version="1.34",
        spec={
            "kubelet": {"topologyManagerPolicy": "restricted", "cpuManagerPolicyOptions": options}
        },
    )


def _running(plan: ConfiguredPlan, root: Path) -> Path:
    """With the threads of the kernel that run RCU callbacks elsewhere."""
    node.make(plan, root)
    online = checked.expected(plan).cpus("online CPUs")
    reserved = str(plan.pool("reserved").cpus | plan.pool("shared").cpus)
    threads = [
        processes.Thread(1000 + cpu, f"rcuop/{cpu}", reserved, is_kernel=True) for cpu in online
    ]
    processes.write(root, *threads)
    return root


#: A plan, and how the root of its node is made.
MADE: Mapping[str, tuple[Callable[[], ConfiguredPlan], Callable[[ConfiguredPlan, Path], Path]]] = {
    "containerd": (_containerd, _running),
    "openshift": (_openshift, _running),
    "pods": (_pods, pods.make),
}


def case(name: str) -> Case:
    """A node that holds everything."""
    made, make = MADE[name]
    planned = made()
    with tempfile.TemporaryDirectory() as folder:
        make(planned, Path(folder))
        reader = ArchiveReader(Index(iter([_packed(Path(folder))]), KEEPING), LIMITS)
    return Case(name, Image(reader, Kind.COPY), checked.expected(planned))


def _packed(folder: Path) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        archive.add(folder, ".")
    return out.getvalue()
