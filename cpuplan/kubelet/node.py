"""A kubelet on a node: it starts, admits pods, starts their containers, restarts (pkg/kubelet,
cmd/kubelet/app).
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from cpuplan.kubelet import eviction, nodeallocatable
from cpuplan.kubelet.config.decoding import convert
from cpuplan.kubelet.config.defaults import set_defaults
from cpuplan.kubelet.config.validation import validate
from cpuplan.kubelet.cpu import cpumanager
from cpuplan.kubelet.cpu.topology import CPUTopology, MachineCore, MachineNode, discover
from cpuplan.kubelet.errors import KubeletError
from cpuplan.kubelet.managers import CPUManager, Devices, MemoryManager
from cpuplan.kubelet.memory import memorymanager
from cpuplan.kubelet.memory.memorymanager import NodeMemory
from cpuplan.kubelet.pods.nodefit import check_fit
from cpuplan.kubelet.pods.pod import CPU, Container, Pod, read_resources
from cpuplan.kubelet.quantity import Quantity
from cpuplan.kubelet.releases import behaviour
from cpuplan.kubelet.releases.features import LATEST, Gates, set_gates
from cpuplan.kubelet.topology.hints import TopologyHint
from cpuplan.kubelet.topology.scopes import TopologyManager
from cpuplan.kubelet.topology.topologymanager import CONTAINER, NONE, NUMAInfo, new_policy

#: Fields of a KubeletConfiguration.
Config = Mapping[str, Any]


class Machine(NamedTuple):
    """A node's hardware: cores by NUMA node as cadvisor has them, memory, and distances by node."""

    nodes: tuple[MachineNode, ...]
    memory: tuple[NodeMemory, ...]
    distances: Mapping[int, Sequence[int]]
    sockets: int
    memory_capacity: int | None = None

    @property
    def cpus(self) -> int:
        """The online CPUs, as a set."""
        return sum(1 << cpu for node in self.nodes for core in node.cores for cpu in core.threads)


class StartError(KubeletError):
    """A kubelet that does not start, and how far it came."""

    def __init__(self, stage: str, error: KubeletError) -> None:
        super().__init__(str(error))
        self.stage = stage


class Node(NamedTuple):
    """What outlives a kubelet: its state files. None where there is none yet."""

    cpu_state: str | None = None
    memory_state: str | None = None


class CreatedContainer(NamedTuple):
    """What the runtime is told: the CPUs (none: all) and the NUMA nodes for the memory (none:
    all).
    """

    name: str
    cpus: int
    numa_nodes: tuple[int, ...]


class Kubelet:
    """One run of a kubelet, from its start on. KubeletErrors carry the kubelet's texts."""

    def __init__(
        self,
        config: Config,
        machine: Machine,
        node: Node = Node(),  # noqa: B008 - a constant
        *,
        fork: cpumanager.Fork = cpumanager.Fork(),  # noqa: B008 - a constant
        folder: str = "/var/lib/kubelet",
        predicates: bool = True,
        version: tuple[int, int] = LATEST,
    ) -> None:
        """Start; StartError at the stage that fails. Without `predicates` pods are not checked
        against the node.
        """
        self.config, self.machine, self.fork, self.predicates = config, machine, fork, predicates
        self.active: list[Pod] = []
        self._sources_ready = True
        self._starting: list[Pod] = []
        decoded = self._stage("decode", lambda: convert(config, any_case=False))
        self.gates: Gates = self._stage("featureGates", lambda: self._set_gates(version))
        self._stage("validate", lambda: self._validate(decoded))
        self._reserve()
        self._create_managers()
        self._stage("cpuManagerStart", lambda: self.cpus.start(node.cpu_state, folder))
        self._stage("memoryManagerStart", lambda: self.memory.start(node.memory_state, folder))
        self._stage("nodeAllocatable", self._validate_node_allocatable)

    def _stage(self, name: str, step: Any) -> Any:
        try:
            return step()
        except KubeletError as error:
            raise StartError(name, error) from None

    def _set_gates(self, version: tuple[int, int]) -> Gates:
        given = self.config.get("featureGates") or {}
        return set_gates(given, version, unknown_only_warns=self.fork.is_openshift)

    def _validate(self, decoded: dict[str, Any]) -> None:
        if errors := validate(set_defaults(decoded, self.gates), self.gates):
            raise KubeletError(errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]")

    def _reserve(self) -> None:
        """Capacity, and what of it is not for pods."""
        machine, config = self.machine, self.config
        pods = config.get("maxPods") or nodeallocatable.MAX_PODS
        self.capacity = nodeallocatable.node_capacity(
            machine.cpus.bit_count(), machine.memory, machine.memory_capacity, pods
        )
        system, kube = (
            dict(config.get("systemReserved") or {}),
            dict(config.get("kubeReserved") or {}),
        )
        text = config.get("reservedSystemCPUs") or ""
        self.reserved_cpus: int = self._stage(
            "reservedSystemCPUs",
            lambda: nodeallocatable.reserve_cpus(text, machine.cpus, system, kube),
        )
        kube_reserved = self._stage("kubeReserved", lambda: nodeallocatable.parse_reserved(kube))
        system_reserved = self._stage(
            "systemReserved", lambda: nodeallocatable.parse_reserved(system)
        )
        kept_free = self._stage(
            "evictionHard", lambda: nodeallocatable.parse_eviction(self._eviction(), self.capacity)
        )
        reservations = nodeallocatable.Reservations(system_reserved, kube_reserved, kept_free)
        self.reservation = reservations.total(self.capacity)
        self.allocatable = nodeallocatable.node_allocatable(self.capacity, self.reservation)

    def _eviction(self) -> dict[str, str]:
        given = self.config.get("evictionHard")
        if given is None:
            return eviction.DEFAULT_HARD
        merged = self.config.get("mergeDefaultEvictionSettings")
        return {**(eviction.DEFAULT_HARD if merged else {}), **given}

    def _create_managers(self) -> None:
        config = self.config
        self.devices = Devices()
        scope = config.get("topologyManagerScope") or CONTAINER
        name = config.get("topologyManagerPolicy") or NONE
        numa = NUMAInfo(tuple(node.id for node in self.machine.nodes), self.machine.distances)
        options = config.get("topologyManagerPolicyOptions") or {}
        policy = self._stage(
            "topologyManager",
            lambda: new_policy(name, numa, options, scope=scope, gates=self.gates),
        )
        self.cpus = CPUManager(
            self._stage("cpuManager", self._cpu_policy), self.gates, self._active_pods
        )
        self.memory = MemoryManager(
            self._stage("memoryManager", self._memory_policy), self.gates, self._active_pods
        )
        providers = (self.devices, self.cpus, self.memory)
        self.topology_manager = TopologyManager(policy, scope, providers, self.gates)

    def _cpu_policy(self) -> cpumanager.StaticPolicy | None:
        """cpumanager.NewManager."""
        name = self.config.get("cpuManagerPolicy") or "none"
        options = self.config.get("cpuManagerPolicyOptions") or {}
        if name == "none":
            if options:
                listed = " ".join(f"{key}:{options[key]}" for key in sorted(options))
                text = f"None policy: received unsupported options=map[{listed}]"
                raise KubeletError(f"new none policy error: {text}")
            return None
        if name != "static":
            raise KubeletError(f'unknown policy: "{name}"')
        topology: CPUTopology = discover(
            self.machine.nodes, self.machine.cpus.bit_count(), self.machine.sockets
        )
        if CPU not in self.reservation:
            raise KubeletError(
                "[cpumanager] unable to determine reserved CPU resources for static policy"
            )
        reserved = cpumanager.Reserved(-(-self.reservation[CPU].milli // 1000), self.reserved_cpus)
        manager = self.config.get("topologyManagerPolicy") or NONE
        try:
            return cpumanager.new_static_policy(
                topology, reserved, options, self.gates, topology_policy=manager, fork=self.fork
            )
        except KubeletError as error:
            raise KubeletError(f"new static policy error: {error}") from None

    def _memory_policy(self) -> memorymanager.StaticPolicy | None:
        """memorymanager.NewManager."""
        name = self.config.get("memoryManagerPolicy") or "None"
        if name == "None":
            return None
        if name != "Static":
            raise KubeletError(f'unknown policy: "{name}"')
        given: dict[int, dict[str, Quantity]] = {}
        for entry in self.config.get("reservedMemory") or ():
            given.setdefault(entry["numaNode"], {}).update(read_resources(entry.get("limits")))
        reserved = nodeallocatable.system_reserved_memory(
            self.machine.memory, given, self.reservation
        )
        return memorymanager.StaticPolicy(self.machine.memory, reserved, self.gates)

    def _validate_node_allocatable(self) -> None:
        problems = [
            f'Resource "{name}" has a reservation of {amount} but capacity of {self.capacity[name]}.'
            " Expected capacity >= reservation."
            for name, amount in self.reservation.items()
            if amount.nano > self.capacity[name].nano
        ]
        if problems:
            raise KubeletError(f"invalid Node Allocatable configuration. {' '.join(problems)}")

    def _active_pods(self) -> list[Pod] | None:
        return [*self.active, *self._starting] if self._sources_ready else None

    def admit(self, pod: Pod) -> None:
        """The topology manager first, which allocates, then the check whether the pod fits on the
        node.

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
        return pod if behaviour.has(self.gates.version, "pods.sidecars") else pod.without_sidecars()

    def remove(self, uid: str) -> None:
        """The pod is gone: drop what it had."""
        self.active = [pod for pod in self.active if pod.uid != uid]
        self.topology_manager.forget(uid)
        self.cpus.remove_stale_state()
        self.memory.remove_stale_state()

    def stop(self) -> Node:
        """The state files that it leaves."""
        return Node(self.cpus.dump(), self.memory.dump())

    def begin_readmission(self) -> None:
        """After a restart running pods are admitted again, one by one: nothing is stale before all
        are in.
        """
        self._sources_ready = False

    def end_readmission(self) -> None:
        self._sources_ready = True


def read_machine(
    rows: Sequence[Sequence[int]],
    memory: Sequence[NodeMemory],
    distances: Mapping[int, Sequence[int]],
    *,
    sockets: int | None = None,
    memory_capacity: int | None = None,
) -> Machine:
    """A machine from rows of (cpu, core key, socket, NUMA node, uncore cache or -1 for none of its
    own).
    """
    cores: dict[tuple[int, int, int], list[Sequence[int]]] = {}
    for row in rows:
        cores.setdefault((row[3], row[2], row[1]), []).append(row)
    nodes = []
    for node in memory:
        found = tuple(
            MachineCore(
                core,
                socket,
                tuple(row[0] for row in group),
                (group[0][4],) if group[0][4] >= 0 else (),
            )
            for (numa, socket, core), group in cores.items()
            if numa == node.id
        )
        nodes.append(MachineNode(node.id, found))
    counted = len({row[2] for row in rows}) if sockets is None else sockets
    return Machine(tuple(nodes), tuple(memory), distances, counted, memory_capacity)
