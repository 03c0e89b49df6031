"""The CPU manager of a running kubelet (pkg/kubelet/cm/cpumanager/cpu_manager.go).

Upstream: kubernetes/kubernetes pkg/kubelet/cm/cpumanager/cpu_manager.go
  @ 24e2b02af5543d7910c2bb074c7264df5a8f0467
"""

from collections.abc import Mapping
from typing import Any

from cpuplan.upstream.kubelet.cpumanager import state
from cpuplan.upstream.kubelet.cpumanager.policy_static import (
    Fork,
    Reserved,
    StaticPolicy,
    allocate_pod,
    new_static_policy,
)
from cpuplan.upstream.kubelet.cpumanager.state import CPUState
from cpuplan.upstream.kubelet.cpumanager.topology import discover
from cpuplan.upstream.kubelet.machine import Machine
from cpuplan.upstream.kubelet.manager import Manager
from cpuplan.upstream.kubelet.topologymanager.policy import TopologyHint
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.kube_features import Gates
from cpuplan.upstream.kubernetes.pod import CPU, Pod
from cpuplan.upstream.kubernetes.quantity import Quantity


class CPUManager(Manager[StaticPolicy, CPUState]):
    """Which container has which CPUs."""

    name, static_name, none_name = "cpu", "static", "none"

    def _load(self, content: str | None, folder: str) -> CPUState:
        return state.load(content, self.policy_name, self.gates, folder)

    def dump(self) -> str:
        """The state file."""
        return state.dump(self.state, self.policy_name, self.gates)

    def _allocate_pod(self, policy: StaticPolicy, pod: Pod, affinity: TopologyHint) -> None:
        allocate_pod(policy, self.state, pod, affinity)

    def cpus_of(self, pod: str, container: str) -> int:
        """A container's cpuset: its own, or the shared pool of the moment (GetCPUAffinity)."""
        own = self.state.cpus_of(pod, container)
        return self.state.default if own is None else own


def new_policy(
    config: Mapping[str, Any],
    machine: Machine,
    reservation: Mapping[str, Quantity],
    reserved_cpus: int,
    gates: Gates,
    fork: Fork,
) -> StaticPolicy | None:
    """NewManager: the static policy, None for the policy none; `config` has its defaults."""
    name, options = config["cpuManagerPolicy"], config.get("cpuManagerPolicyOptions") or {}
    if name == "none":
        if options:
            listed = " ".join(f"{key}:{options[key]}" for key in sorted(options))
            text = f"None policy: received unsupported options=map[{listed}]"
            raise KubeletError(f"new none policy error: {text}")
        return None
    if name != "static":
        raise KubeletError(f'unknown policy: "{name}"')
    topology = discover(machine.nodes, machine.cpus.bit_count(), machine.sockets)
    if CPU not in reservation:
        what = "unable to determine reserved CPU resources for static policy"
        raise KubeletError(f"[cpumanager] {what}")
    whole_cpus = -(-reservation[CPU].milli // 1000)
    try:
        return new_static_policy(
            topology,
            Reserved(whole_cpus, reserved_cpus),
            options,
            gates,
            topology_policy=config["topologyManagerPolicy"],
            fork=fork,
        )
    except KubeletError as error:
        raise KubeletError(f"new static policy error: {error}") from None
