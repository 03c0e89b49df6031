"""Who gets which CPUs, and why, and the settings that follow: all that later stages read.

Models are imported where one is needed: what reads settings alone loads none (`check`).
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from cpuplan.base.cpuset import EMPTY, CpuSet, union
from cpuplan.base.topology import Topology
from cpuplan.diagnostics import Diagnostic, Reason
from cpuplan.facts import platforms
from cpuplan.facts.platforms import Platform
from cpuplan.facts.settings.kubelet import CPU_MANAGER_POLICY
from cpuplan.plan import boot_arguments
from cpuplan.plan.setting import Settings

if TYPE_CHECKING:
    from cpuplan.language.model.cluster import ClusterSpec
    from cpuplan.language.model.intent import IntentSpec, Target
    from cpuplan.language.model.inventory import Device, DevicePlugin


class Pool(NamedTuple):
    """The CPUs of one pool and the statements and rules that put them there."""

    name: str
    cpus: CpuSet
    because: tuple[Reason, ...]


class Wave(NamedTuple):
    """Nodes of a class that get a change together."""

    #: Of the intent's waves, by number.
    number: int
    name: str
    nodes: tuple[str, ...]


class NodeClass:
    """Nodes that are the same to the compiler: one intent, target and topology, so one layout."""

    def __init__(  # noqa: PLR0913 - the facts of a class, given by name
        self,
        *,
        name: str,
        intent: str,
        spec: IntentSpec,
        target: Target,
        cluster: str,
        hardware: str,
        topology: Topology,
        nodes: tuple[str, ...],
        cpu_vendor: str = "",
        architecture: str = "x86_64",
        cpu_model: str = "",
        cpu_model_number: int | None = None,
        devices: tuple[Device, ...] = (),
        written_as: str = "",
        inputs: str = "",
        cluster_facts: ClusterSpec | None = None,
        waves: tuple[Wave, ...] = (),
        labels: tuple[Mapping[str, str], ...] = (),
        device_sets: tuple[tuple[Device, ...], ...] = (),
        device_plugins: tuple[DevicePlugin, ...] = (),
    ) -> None:
        self.name = name  # unique within the cluster, stable: <intent>-<hardware>
        self.intent = intent
        self.spec = spec
        self.target = target
        self.cluster = cluster
        self.hardware = hardware
        self.topology = topology
        self.nodes = nodes
        self.cpu_vendor = cpu_vendor
        self.architecture = architecture
        self.cpu_model = cpu_model
        self.cpu_model_number = cpu_model_number
        self.devices = devices
        #: What its Cluster document states; no fact where the project has none.
        self.cluster_facts = cluster_facts or _no_facts()
        #: The digest of its documents (`expected.inputs`); "" where they are made from others.
        self.inputs = inputs
        #: Of the intent's rollout: those that some of its nodes are in.
        self.waves = waves
        #: The labels of its nodes in the inventory, each set of them once.
        self.labels = labels
        #: All devices of its nodes, each set of them once: layouts may be for unlike ones.
        self.device_sets = device_sets or (devices,)
        self.device_plugins = device_plugins
        self.written_as = written_as  # the kind of the object that the intent was made from

    @property
    def full_name(self) -> str:
        """`cluster/name`, which no other class has."""
        return f"{self.cluster}/{self.name}"

    @property
    def key(self) -> tuple[str, str]:
        """Cluster and name: by these a class is known in the lock and in `out/`."""
        return self.cluster, self.name

    @property
    def cpu_manager_policy(self) -> Literal["static", "none"]:
        """The policy of the kubelet's CPU manager; none where something else gives out CPUs.

        Beside Koordinator an intent may say static, for pods that its scheduler does not bind.
        """
        from cpuplan.language.model.base import has_key

        kubelet, target = self.spec.kubelet, self.target
        if target.has_koordinator and not has_key(kubelet, CPU_MANAGER_POLICY.key):
            return "none"
        is_left = target.has_nri_policy or target.has_dra
        return "none" if is_left else kubelet.cpu_manager_policy

    @property
    def platform(self) -> Platform:
        """What its nodes run."""
        return platforms.of(self.target)

    @property
    def machine_config_pool(self) -> str | None:
        """Its MachineConfigPool; None on a platform without pools."""
        return self.target.pool if self.platform.has_pools else None

    @property
    def mixed_hardware(self) -> Literal["split", "common"] | None:
        """What its MachineConfigPool does about nodes of unlike hardware."""
        return self.target.mixed_hardware if self.platform.has_pools else None

    @property
    def profile(self) -> str:
        """The name of its objects: of the intent, or of the class where a pool is split."""
        return self.name if self.mixed_hardware == "split" else self.intent

    def target_field(self, name: str) -> str:
        """The path of a field of its target, below `spec` of the intent."""
        targets = self.spec.targets
        return f"targets.{targets.index(self.target) if self.target in targets else 0}.{name}"

    def saying(self, spec: IntentSpec) -> NodeClass:
        """The same nodes with another intent."""
        other = copy(self)
        other.spec = spec
        return other

    def place(self, path: str = "", *, of_key: bool = False) -> str:
        """The place of a field of its intent; `path` is below `spec`, as in YAML."""
        return _place("Intent", self.intent, path, of_key=of_key)

    def hardware_place(self, path: str = "", *, of_key: bool = False) -> str:
        """The place of a field of its Hardware document."""
        return _place("Hardware", self.hardware, path, of_key=of_key)

    def cluster_place(self, path: str = "", *, of_key: bool = False) -> str:
        """The place of a field of its Cluster document."""
        return _place("Cluster", self.cluster, path, of_key=of_key)

    def reason(self, text: str, path: str) -> Reason:
        """A reason that points at the field `path` of its intent."""
        return Reason(text, self.place(path))


def _no_facts() -> ClusterSpec:
    from cpuplan.language.model.cluster import ClusterSpec

    return ClusterSpec.model_construct()


def _place(kind: str, name: str, path: str, *, of_key: bool) -> str:
    from cpuplan.language.model import field_paths

    return field_paths.of_field(kind, name, path, of_key=of_key)


#: Instead of a goal: the choice among layouts that reach all goals equally well.
CANONICAL = "canonical"


class Unproven(NamedTuple):
    """A goal that is not proven reached as far as possible."""

    goal: str
    set: str = ""
    part: str = ""  # of the machine, such as `NUMA node`
    reached: int = 0  # CPUs, cores or parts
    bound: int | None = None  # no layout has a better number; None: nothing is known


class Limited(NamedTuple):
    """What a search within a limit left unproven of a layout."""

    seconds: float  # whole ones, when a user says them
    goals: tuple[Unproven, ...]

    @property
    def is_best(self) -> bool:
        """Whether all goals are proven: other layouts are as good, and none is better."""
        return all(goal.goal == CANONICAL for goal in self.goals)


class NodePlan:
    """The layout of one class: what `components` make settings from.

    `sets` lie over the pools: the partitions of isolated, as `isolated.dpdk`, and the QoS sets.
    """

    def __init__(
        self,
        node_class: NodeClass,
        pools: tuple[Pool, ...],
        sets: tuple[Pool, ...] = (),
        limited: Limited | None = None,
    ) -> None:
        self.node_class = node_class
        self.pools = pools
        self.sets = sets
        #: None if the layout is proven best, which it is as a rule.
        self.limited = limited
        # From behind, as the first of a name counts.
        self._by_name = {pool.name: pool for pool in (*sets[::-1], *pools[::-1])}

    def with_spec(self, spec: IntentSpec) -> NodePlan:
        """The same layout under another intent's words, for which settings must be made anew."""
        return NodePlan(self.node_class.saying(spec), self.pools, self.sets, self.limited)

    def pool(self, name: str) -> Pool:
        """The pool or set `name`; an empty one where the layout has none."""
        return self._by_name.get(name) or Pool(name, EMPTY, ())

    @property
    def layout(self) -> dict[str, CpuSet]:
        """The CPUs of each pool and set, by name."""
        return {pool.name: pool.cpus for pool in (*self.pools, *self.sets)}

    def pools_with(self, cpus: CpuSet) -> tuple[str, ...]:
        """The pools that have together exactly these CPUs; none if no pools do."""
        pools = [pool for pool in self.pools if pool.cpus and pool.cpus <= cpus]
        if union(pool.cpus for pool in pools) != cpus:
            return ()
        return tuple(pool.name for pool in pools)

    def pool_of(self, cpu: int) -> Pool | None:
        """The pool that holds `cpu`."""
        return next((pool for pool in self.pools if cpu in pool.cpus), None)

    @property
    def spec(self) -> IntentSpec:
        return self.node_class.spec

    @cached_property
    def topology(self) -> Topology:
        """The machine as its nodes boot it, with the memory that boot arguments leave."""
        return boot_arguments.booted(self.node_class)


#: The names of the classes of its cluster that a file below `out/` is of, by its path.
Classes: TypeAlias = Mapping[str, tuple[str, ...]]
NO_CLASSES: Classes = MappingProxyType({})


class Kept(NamedTuple):
    """What stays of a paused class: its own file as it was, and its other files below `out/`.

    Both are empty where it was never compiled.
    """

    record: Mapping[str, Any]
    files: Mapping[str, bytes]


class ConfiguredPlan(NodePlan):
    """A plan and its settings: what nodes get, and is explained, checked and simulated."""

    def __init__(self, plan: NodePlan, settings: Settings, written: Settings | None = None) -> None:
        super().__init__(plan.node_class, plan.pools, plan.sets, plan.limited)
        self.settings = settings
        #: Those that its own objects say, where objects of others have the last word on nodes.
        self.written = written or settings
        #: Of a paused class, what stays; None of others, and where an edit leaves it unknown.
        self.kept: Kept | None = None


class Plan:
    """The plans of a fleet, ascending by cluster and class.

    `kept_problems` say why the files of paused classes cannot stay.
    """

    def __init__(
        self, nodes: tuple[ConfiguredPlan, ...], kept_problems: tuple[Diagnostic, ...] = ()
    ) -> None:
        self.nodes = nodes
        self.kept_problems = kept_problems

    @cached_property
    def by_node(self) -> dict[tuple[str, str], ConfiguredPlan]:
        """Node plans by (cluster, node name)."""
        return {
            (plan.node_class.cluster, node): plan
            for plan in self.nodes
            for node in plan.node_class.nodes
        }

    @property
    def number_of_nodes(self) -> int:
        """Nodes, not classes of them."""
        return sum(len(plan.node_class.nodes) for plan in self.nodes)
