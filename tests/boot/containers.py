"""Containers of a guest: what the simulated kubelet writes for them, and where it says they run."""

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from typing import NamedTuple

from cpuplan.base.cpuset import CpuSet
from cpuplan.cli.main import run
from tests.boot import guests

#: What `probe.sh` reads: a slice, a unit and a cpuset in each line.
LIST = "etc/probe/containers"
_CLASSES = {"Guaranteed": "", "Burstable": "-burstable", "BestEffort": "-besteffort"}


class Container(NamedTuple):
    """A container of a pod: its QoS class, the cpuset it gets, and the CPUs that it runs on."""

    pod: str
    qos: str
    written: CpuSet
    effective: CpuSet

    @property
    def slice(self) -> str:
        """The slice that the kubelet makes for the pod."""
        return f"kubepods{_CLASSES[self.qos]}-pod{self.pod}.slice"

    @property
    def unit(self) -> str:
        """The unit that stands for the container."""
        return f"container-{self.pod}.service"


def simulated(node: str) -> list[Container]:
    """What `simulate` says of the pods of a guest, in `guest/pods/`."""
    out = io.StringIO()
    manifest = str(guests.PROJECT / "pods" / f"{node}.yaml")
    with redirect_stdout(out), redirect_stderr(io.StringIO()):
        code = run(["-C", str(guests.PROJECT), "simulate", node, manifest, "--format", "json"])
    assert code == 0, out.getvalue()
    return list(_containers(json.loads(out.getvalue())["nodes"][0]["pods"]))


def _containers(pods: Sequence[Mapping[str, object]]) -> Iterator[Container]:
    for pod in pods:
        containers = pod["containers"]
        assert isinstance(containers, list)
        runtime = containers[0]["runtime"]
        written, effective = runtime["cpuset"], runtime["cpusetEffective"]
        name = str(pod["pod"]).rpartition("/")[2]
        yield Container(name, str(pod["qos"]), CpuSet.parse(written), CpuSet.parse(effective))


def listed(containers: Sequence[Container]) -> str:
    """The file from which the stand-in for the kubelet starts containers."""
    return "".join(f"{each.slice} {each.unit} {each.written}\n" for each in containers)
