"""A kubelet on a node: it starts, admits pods, creates containers, restarts (pkg/kubelet, cmd).

Upstream: kubernetes/kubernetes pkg/kubelet/kubelet.go cmd/kubelet/app/server.go
  pkg/kubelet/cm/container_manager_linux.go @ 24e2b02af5543d7910c2bb074c7264df5a8f0467
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

from cpuplan.facts.versions import Version
from cpuplan.upstream.kubelet import node_container_manager
from cpuplan.upstream.kubelet.allowlist import check_allowlist
from cpuplan.upstream.kubelet.config.codec import convert
from cpuplan.upstream.kubelet.config.defaults import set_defaults, set_eviction_defaults
from cpuplan.upstream.kubelet.config.types import of_version
from cpuplan.upstream.kubelet.config.validation import validate
from cpuplan.upstream.kubelet.cpumanager import cpu_manager
from cpuplan.upstream.kubelet.cpumanager.policy_static import Fork
from cpuplan.upstream.kubelet.devicemanager.manager import DeviceManager
from cpuplan.upstream.kubelet.devicemanager.pod_devices import Plugin
from cpuplan.upstream.kubelet.machine import Machine
from cpuplan.upstream.kubelet.memorymanager import memory_manager
from cpuplan.upstream.kubelet.topologymanager.policy import (
    NUMAInfo,
    ProviderHints,
    TopologyHint,
    new_policy,
)
from cpuplan.upstream.kubelet.topologymanager.scope import TopologyManager
from cpuplan.upstream.kubernetes import kube_features, quantity
from cpuplan.upstream.kubernetes.errors import AggregateError, KubeletError
from cpuplan.upstream.kubernetes.fit import check_fit
from cpuplan.upstream.kubernetes.kube_features import LATEST, Gates, set_gates
from cpuplan.upstream.kubernetes.pod import Container, Pod


class GivenHints:
    """Hints as they are given for each pod; nothing is allocated."""

    def __init__(self) -> None:
        self.hints: dict[tuple[str, str], ProviderHints] = {}
        self.pod_hints: dict[str, ProviderHints] = {}

    def topology_hints(self, pod: Pod, container: Container) -> ProviderHints | None:
        return self.hints.get((pod.uid, container.name))

    def pod_topology_hints(self, pod: Pod) -> ProviderHints | None:
        return self.pod_hints.get(pod.uid)

    def allocate(self, pod: Pod, container: Container, affinity: TopologyHint) -> None:
        """Nothing is given out."""

    def allocate_pod(self, pod: Pod, affinity: TopologyHint) -> None:
        """Nothing is given out."""


Result = TypeVar("Result")


class StartError(KubeletError):
    """A kubelet that does not start: the stage that failed, and the texts of its errors."""

    def __init__(self, stage: str, error: KubeletError) -> None:
        super().__init__(str(error))
        self.stage = stage
        self.texts = error.texts if isinstance(error, AggregateError) else (str(error),)


class Node(NamedTuple):
    """What outlives a kubelet: its state files. None where there is none yet."""

    cpu_state: str | None = None
    memory_state: str | None = None


class CreatedContainer(NamedTuple):
    """What the runtime is asked for: CPUs and NUMA nodes of the memory; empty stands for all."""

    name: str
    cpus: int
    numa_nodes: tuple[int, ...]


class Configuration(NamedTuple):
    """The fields in force, never changed, and the feature gates."""

    fields: Mapping[str, Any]
    gates: Gates


def configure(
    config: Mapping[str, Any],
    *,
    version: Version = LATEST,
    is_openshift: bool = False,
    cgroup_v1: bool = False,
) -> Configuration:
    """What a kubelet makes of a KubeletConfiguration; StartError at the stage that fails."""
    decoded = _stage("decode", lambda: convert(of_version(config, version), any_case=False))
    given = decoded.get("featureGates", {})
    gates = _stage("featureGates", lambda: set_gates(given, version, is_openshift=is_openshift))
    fields = set_eviction_defaults(set_defaults(decoded, gates), gates)
    errors = validate(fields, gates, cgroup_v1=cgroup_v1)
    if errors:
        raise StartError("validate", AggregateError(errors))
    return Configuration(fields, gates)


def _stage(name: str, step: Callable[[], Result]) -> Result:
    try:
        return step()
    except KubeletError as error:
        raise StartError(name, error) from None


class Kubelet:
    """One run of a kubelet, from its start on. KubeletErrors carry the kubelet's texts."""

    def __init__(  # noqa: PLR0913 - what a kubelet meets, given by name
        self,
        config: Mapping[str, Any] | Configuration,
        machine: Machine,
        node: Node = Node(),  # noqa: B008 - a constant
        *,
        fork: Fork = Fork(),  # noqa: B008 - a constant
        folder: str = "/var/lib/kubelet",
        predicates: bool = True,
        version: Version = LATEST,
        plugins: Iterable[Plugin] = (),
    ) -> None:
        """Start with a KubeletConfiguration; StartError at the stage that fails.

        A `Configuration` is of the same fork, version and cgroups, whatever these say. `plugins`
        have registered before the first pod comes.
        Without `predicates` pods are not checked against what the node can allocate.
        """
        self.machine, self.fork, self.predicates = machine, fork, predicates
        self.active: list[Pod] = []
        self._sources_ready = True
        self._starting: list[Pod] = []
        if not isinstance(config, Configuration):
            config = configure(
                config,
                version=version,
                is_openshift=fork.is_openshift,
                cgroup_v1=machine.cgroup_v1,
            )
        self.config, self.gates = config
        self._reserve()
        self._create_managers(plugins)
        allowed = self.config.get("allowedUnsafeSysctls", ())
        _stage("allowedUnsafeSysctls", lambda: check_allowlist(allowed))
        _stage("cpuManagerStart", lambda: self.cpus.start(node.cpu_state, folder))
        _stage("memoryManagerStart", lambda: self.memory.start(node.memory_state, folder))
        _stage("nodeAllocatable", self._validate_node_allocatable)

    def _reserve(self) -> None:
        """Capacity, and what of it is not for pods."""
        machine, config = self.machine, self.config
        self.capacity = node_container_manager.node_capacity(
            machine.cpus.bit_count(), machine.memory, machine.memory_capacity, config["maxPods"]
        )
        system = dict(config.get("systemReserved", {}))
        kube = dict(config.get("kubeReserved", {}))
        reserved_cpus = config.get("reservedSystemCPUs", "")
        self.reserved_cpus = _stage(
            "reservedSystemCPUs",
            lambda: node_container_manager.reserve_cpus(reserved_cpus, machine.cpus, system, kube),
        )
        kube_reserved = _stage("kubeReserved", lambda: node_container_manager.parse_reserved(kube))
        system_reserved = _stage(
            "systemReserved", lambda: node_container_manager.parse_reserved(system)
        )
        kept_free = _stage(
            "evictionHard",
            lambda: node_container_manager.parse_eviction(config["evictionHard"], self.capacity),
        )
        reservations = node_container_manager.Reservations(
            system_reserved, kube_reserved, kept_free
        )
        self.reservation = reservations.total(self.capacity)
        self.allocatable = node_container_manager.node_allocatable(self.capacity, self.reservation)

    def _create_managers(self, plugins: Iterable[Plugin]) -> None:
        config, machine, gates = self.config, self.machine, self.gates
        numa = NUMAInfo(tuple(node.id for node in machine.nodes), machine.distances)
        name, scope = config["topologyManagerPolicy"], config["topologyManagerScope"]
        options = config.get("topologyManagerPolicyOptions", {})
        topology_policy = _stage(
            "topologyManager", lambda: new_policy(name, numa, options, scope=scope, gates=gates)
        )
        cpu_policy = _stage(
            "cpuManager",
            lambda: cpu_manager.new_policy(
                config, machine, self.reservation, self.reserved_cpus, gates, self.fork
            ),
        )
        self.cpus = cpu_manager.CPUManager(cpu_policy, gates, self._active_pods)
        memory_policy = _stage(
            "memoryManager",
            lambda: memory_manager.new_policy(config, machine, self.reservation, gates),
        )
        self.memory = memory_manager.MemoryManager(memory_policy, gates, self._active_pods)
        self.given_hints = GivenHints()
        self.devices = DeviceManager(
            plugins, topology_policy, gates, self._active_pods, is_openshift=self.fork.is_openshift
        )
        self.allocatable |= {
            name: quantity.of(number) for name, number in self.devices.healthy().items()
        }
        providers = (self.given_hints, self.devices, self.cpus, self.memory)
        self.topology_manager = TopologyManager(topology_policy, scope, providers, gates)

    def _validate_node_allocatable(self) -> None:
        problems = [
            f'Resource "{name}" has a reservation of {amount} but capacity of '
            f"{self.capacity[name]}."
            " Expected capacity >= reservation."
            for name, amount in self.reservation.items()
            if amount.nano > self.capacity[name].nano
        ]
        if problems:
            raise KubeletError(f"invalid Node Allocatable configuration. {' '.join(problems)}")

    def _active_pods(self) -> list[Pod] | None:
        return [*self.active, *self._starting] if self._sources_ready else None

    def admit(self, pod: Pod) -> None:
        """The topology manager first, which allocates; then the check whether the pod fits.

        KubeletError refuses the pod (see `refusal`); what it was given stays taken until the next
        pod comes.
        """
        self._starting = [pod]
        try:
            self.topology_manager.admit(self._as_managed(pod))
            if self.predicates:
                check_fit(pod, self.active, self.allocatable, self.gates)
        finally:
            self._starting = []
        self.active.append(pod)

    def affinity(self, pod: Pod, container: Container) -> TopologyHint:
        """What the topology manager has settled for a container."""
        return self.topology_manager.affinity(pod.uid, container.name)

    def start_pod(self, pod: Pod) -> list[CreatedContainer]:
        """Create the containers, in order."""
        created = []
        for container in pod.all_containers:
            cpus = self.cpus.cpus_of(pod.uid, container.name)
            nodes = tuple(sorted(self.memory.nodes_of(pod.uid, container.name)))
            created.append(CreatedContainer(container.name, cpus, nodes))
            self.memory.add_container(self._as_managed(pod), container)
        return created

    def _as_managed(self, pod: Pod) -> Pod:
        """The pod as the managers see it."""
        return (
            pod
            if kube_features.has_behaviour(self.gates.version, "pods.sidecars")
            else pod.without_sidecars()
        )

    def remove(self, uid: str) -> None:
        """The pod is gone: drop what it had."""
        self.active = [pod for pod in self.active if pod.uid != uid]
        self.topology_manager.forget(uid)
        self.devices.remove_stale_state()
        self.cpus.remove_stale_state()
        self.memory.remove_stale_state()

    def stop(self) -> Node:
        """The state files that it leaves."""
        return Node(self.cpus.dump(), self.memory.dump())

    def begin_readmission(self) -> None:
        """After a restart running pods are admitted again: nothing is stale before all are in."""
        self._sources_ready = False

    def end_readmission(self) -> None:
        """All running pods are in."""
        self._sources_ready = True
