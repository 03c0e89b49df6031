"""The kubelet's state of exclusive CPUs, as its CPU manager restores it."""

import json
from collections.abc import Mapping
from typing import NamedTuple

from cpuplan.base.cpuset import EMPTY, CpuSet
from cpuplan.check.roots.root import Root
from cpuplan.upstream.kubelet.cpumanager.state import FILE, CPUState, load
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.kube_features import Gates

PATH = f"var/lib/kubelet/{FILE}"
#: By which the file has the CPUs of whole pods too.
_POD_LEVEL = {"podEntries": "PodLevelResourceManagers"}
STATIC = "static"


class Assigned(NamedTuple):
    """The shared pool, and exclusive CPUs by the UID of a pod and the name of a container.

    `pods` has the CPUs of whole pods. With a `problem`, nothing is known.
    """

    policy: str = ""
    default: CpuSet = EMPTY
    entries: Mapping[str, Mapping[str, CpuSet]] = {}
    pods: Mapping[str, CpuSet] = {}
    problem: str = ""

    @property
    def exclusive(self) -> bool:
        """Whether the kubelet gives containers CPUs of their own."""
        return not self.problem and self.policy == STATIC


def assigned(root: Root) -> Assigned:
    """What the state file says. Whether the kubelet takes it is its own check's."""
    text = root.read(PATH)
    if text is None:
        return Assigned(problem="the kubelet's state file is not here")
    try:
        data = json.loads(text)
        policy = str(data["policyName"])
        gates = {gate: key in data for key, gate in _POD_LEVEL.items()}
        return _of(policy, load(text, policy, Gates(gates)))
    except (KubeletError, ValueError, KeyError, TypeError, RecursionError):
        return Assigned(problem="the kubelet cannot read its state file")


def _of(policy: str, state: CPUState) -> Assigned:
    entries = {pod: _sets(containers) for pod, containers in state.entries.items()}
    return Assigned(policy, CpuSet.from_bits(state.default), entries, _sets(state.pod_entries))


def _sets(cpus: Mapping[str, int]) -> dict[str, CpuSet]:
    return {name: CpuSet.from_bits(bits) for name, bits in cpus.items()}
