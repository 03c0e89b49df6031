"""Admission by the topology manager, by container or by pod (topologymanager/scope*.go).

Upstream: kubernetes/kubernetes pkg/kubelet/cm/topologymanager/scope.go
  pkg/kubelet/cm/topologymanager/scope_container.go pkg/kubelet/cm/topologymanager/scope_pod.go
  @ 24e2b02af5543d7910c2bb074c7264df5a8f0467
"""

from collections.abc import Sequence
from typing import Protocol

from cpuplan.upstream.kubelet.topologymanager.policy import (
    CONTAINER,
    NO_AFFINITY,
    NONE,
    POD,
    Policy,
    ProviderHints,
    TopologyHint,
)
from cpuplan.upstream.kubernetes.errors import AdmissionError
from cpuplan.upstream.kubernetes.kube_features import Gates
from cpuplan.upstream.kubernetes.pod import Container, Pod

AFFINITY_ERROR = "TopologyAffinityError"


class Provider(Protocol):
    """A manager of devices, CPUs or memory: hints and allocation.

    KubeletError refuses a pod.
    """

    def topology_hints(self, pod: Pod, container: Container) -> ProviderHints | None: ...
    def pod_topology_hints(self, pod: Pod) -> ProviderHints | None: ...
    def allocate(self, pod: Pod, container: Container, affinity: TopologyHint) -> None: ...
    def allocate_pod(self, pod: Pod, affinity: TopologyHint) -> None: ...


class TopologyManager:
    """A policy in a scope, and the affinities that it has settled."""

    def __init__(
        self, policy: Policy, scope: str, providers: Sequence[Provider], gates: Gates
    ) -> None:
        self.policy, self.providers, self.gates = policy, providers, gates
        self.scope = NONE if policy.name == NONE else scope
        self._affinities: dict[tuple[str, str], TopologyHint] = {}

    def affinity(self, pod: str, container: str) -> TopologyHint:
        """The affinity for providers; none before admission (GetAffinity)."""
        return self._affinities.get((pod, container), NO_AFFINITY)

    def forget(self, pod: str) -> None:
        self._affinities = {key: hint for key, hint in self._affinities.items() if key[0] != pod}

    def forget_all(self) -> None:
        """Drops the affinities of all pods: only the admission of a pod reads its own."""
        self._affinities = {}

    def admit(self, pod: Pod) -> None:
        """Allocates for a pod; KubeletError refuses it.

        What was allocated before stays until stale state is removed.
        """
        if self.scope == POD:
            self._admit_pod(pod)
            return
        for container in pod.all_containers:
            if self.scope == CONTAINER:
                hints = [provider.topology_hints(pod, container) for provider in self.providers]
                text = "failed admission with a container-level topology manager"
                self._affinities[pod.uid, container.name] = self._merge(pod, hints, text)
            self._allocate(pod, container)

    def _admit_pod(self, pod: Pod) -> None:
        hints = [provider.pod_topology_hints(pod) for provider in self.providers]
        best = self._merge(pod, hints, "failed admission under pod-scope topology manager")
        if self._has_own_set(pod):
            for container in pod.all_containers:
                self._affinities[pod.uid, container.name] = best
            for provider in self.providers:
                provider.allocate_pod(pod, best)
            return
        for container in pod.all_containers:
            self._affinities[pod.uid, container.name] = best
            self._allocate(pod, container)

    def _has_own_set(self, pod: Pod) -> bool:
        return pod.has_own_resources and self.gates.pod_level_managers

    def _merge(self, pod: Pod, hints: Sequence[ProviderHints | None], text: str) -> TopologyHint:
        """The best hint, or AdmissionError."""
        best = self.policy.merge(hints)
        if self.policy.admits(best):
            return best
        if self._has_own_set(pod):
            raise AdmissionError(AFFINITY_ERROR, f"Pod Scope pod with pod-level resources {text}")
        raise AdmissionError(AFFINITY_ERROR, "Resources cannot be allocated with Topology locality")

    def _allocate(self, pod: Pod, container: Container) -> None:
        affinity = self.affinity(pod.uid, container.name)
        for provider in self.providers:
            provider.allocate(pod, container, affinity)
