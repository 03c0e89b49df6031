"""The language of layouts (pydantic): pools, partitions, QoS sets, sizes, places, neighbours."""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, GetJsonSchemaHandler, WithJsonSchema, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from cpuplan.model.base import Model, matching, problem
from cpuplan.model.document import (
    RANGE,
    CoreType,
    CpuList,
    Listed,
    Name,
    NumberList,
    OneOrMore,
    list_pattern,
)

#: The pools, in the order in which they are solved, printed and explained.
POOLS = ("reserved", "shared", "isolated", "isolcpus", "offlined")
#: The sets of CPUs for pods of a QoS class, which lie over the pools and may overlap.
QOS_SETS = ("bestEffort", "other")
#: Pools that no pod runs on.
HIDDEN = ("isolcpus", "offlined")
SIZES = ("cpus", "count", "cores", "percent", "rest")
#: What `sibling` calls a thread that nobody uses: it is switched off.
IDLE = "idle"
#: Before the name of a partition of the isolated pool.
PARTITION = "isolated."

Level = Literal["core", "cache", "numaNode", "socket"]
#: A pool, a partition as `isolated.dpdk`, or a QoS set.
SetName = Annotated[
    str,
    matching(
        r"^[a-zA-Z][-a-zA-Z0-9.]*$",
        "the name of a pool, of a QoS set, or of a partition such as isolated.dpdk",
        "isolated.dpdk",
    ),
]
#: The names of `defaults.SWITCHES`.
DefaultName = Literal[
    "infra-containers",
    "gomaxprocs",
    "handler",
    "latency",
    "tuned",
    "system-services",
    "iommu",
    "frequency-driver",
    "cpu-frequencies",
    "firmware-updates",
    "transparent-hugepages",
    "tcp-fastopen",
    "dirty-pages",
    "swappiness",
    "timer-migration",
    "avc-cache",
    "tuned-scheduler",
    "kernel-threads",
    "time-stamps",
    "irqbalance-start",
    "cgroup-v1",
    "scripts",
    "ovs-slice",
    "stalld-backend",
    "tuned-first",
]
RuleName = Literal[
    "cpu0-reserved",
    "whole-cores",
    "reserved-not-empty",
    "reserved-on-every-numa-node",
    "strict-cpu-reservation",
    "memory-adds-up",
    "numa-nodes-fit",
]
GoalName = Literal["fewest-moved", "fewest-split-cores", "locality", "balance", "most-isolated"]


def _near_shorthand(value: object) -> object:
    """`near: ens1f0` names a device."""
    return {"device": value} if isinstance(value, str) else value


class Near(Model):
    """Devices that match all of these fields."""

    device: str | None = Field(default=None, description="a network interface, or a PCI address")
    device_class: Literal["network", "gpu", "accelerator", "storage", "other"] | None = Field(
        default=None, alias="class", description="devices of this class"
    )
    driver: str | None = Field(
        default=None, description="devices of this kernel driver", examples=["ice"]
    )

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        """Find what contradicts itself."""
        if not self.model_fields_set:
            raise problem("near_nothing", "names no device")
        return self

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Editors must know the short form too."""
        mapping = handler.resolve_ref_schema(handler(core_schema))
        return {"anyOf": [mapping, {"type": "string", "description": "a device's name or address"}]}


_CORE_TYPES = WithJsonSchema(
    {
        "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
        "examples": ["performance"],
    }
)


def _pool_shorthand(value: object) -> object:
    """`shared: "2,3"` is a CPU list, `isolated: rest` is what is left."""
    if value == "rest":
        return {"rest": True}
    if isinstance(value, str | int) and not isinstance(value, bool):
        return {"cpus": value}
    return value


class Pool(Model):
    """Number or list of CPUs, and their places: one size, or `min` and `max`.

    The sizes are `cpus`, `count`, `cores`, `percent` and `rest`.
    """

    cpus: CpuList | None = Field(default=None, description="exactly these CPUs")
    count: Annotated[int, Field(ge=0)] | None = Field(
        default=None, description="this many CPUs (hardware threads)"
    )
    cores: Annotated[int, Field(ge=0)] | None = Field(
        default=None, description="this many whole cores"
    )
    percent: Annotated[int, Field(ge=1, le=100)] | None = Field(
        default=None,
        description="this share of the online CPUs, rounded up to whole cores, or down if that "
        "would exceed max",
    )
    rest: Literal[True] | None = Field(
        default=None, description="all CPUs that no other pool takes"
    )
    min: Annotated[int, Field(ge=0)] | None = Field(
        default=None,
        description="at least this many CPUs; with percent, rest or max, or by itself",
    )
    max: Annotated[int, Field(ge=0)] | None = Field(
        default=None, description="at most this many CPUs; with percent, rest or min, or by itself"
    )
    per: Literal["machine", "socket", "numaNode", "cache"] = Field(
        default="machine",
        description="the size applies to each of these that the pool may be on; cache is the "
        "last-level cache",
    )
    numa_nodes: NumberList | None = Field(default=None, description="only on these NUMA nodes")
    sockets: NumberList | None = Field(default=None, description="only on these sockets")
    dies: NumberList | None = Field(
        default=None, description="only on the dies with these numbers, in every socket"
    )
    caches: NumberList | None = Field(
        default=None,
        description="only on these last-level caches, each identified by its lowest CPU, as in "
        "`show`",
    )
    near: Annotated[Near, BeforeValidator(_near_shorthand)] | None = Field(
        default=None,
        description="only on the NUMA nodes of these devices; a text is the name or address of a "
        "device",
    )
    core_types: Annotated[tuple[CoreType, ...], OneOrMore, _CORE_TYPES] | None = Field(
        default=None, description="only on cores of these types", examples=["performance"]
    )
    never: CpuList | None = Field(default=None, description="none of these CPUs")
    whole_cores: bool = Field(
        default=True,
        description="false: threads of a core may go to different pools; a pool that takes the "
        "rest then takes them",
    )
    sibling: SetName | None = Field(
        default=None,
        description="one thread of each core; the others go to this pool, or are switched off "
        "with `idle` (offlined)",
    )
    apart: dict[SetName, Level] = Field(
        default={}, description="shares none of these with the other pool", examples=["core"]
    )
    together: dict[SetName, Level] = Field(
        default={}, description="is only on those of these that the other pool is on"
    )

    #: Fields with which a pool needs no size.
    INSTEAD_OF_SIZE: ClassVar[tuple[str, ...]] = ()

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        """Find what contradicts itself."""
        given = [name for name in SIZES if getattr(self, name) is not None]
        size = given[0] if given else ""
        ranged = self.min is not None or self.max is not None
        sized = given or ranged or any(getattr(self, name) for name in self.INSTEAD_OF_SIZE)
        if len(given) > 1 or not sized:
            raise problem("pool_size", "{given}", {"given": " and ".join(given) or "none"})
        if self.per != "machine" and size in ("cpus", "rest") and not ranged:
            raise problem("pool_per", "{size}", {"size": size})
        if ranged and size in ("cpus", "count", "cores"):
            raise problem("pool_range", "{size}", {"size": size})
        if self.max is not None and (self.min or 0) > self.max:
            raise problem("pool_bounds", "{least}", {"least": self.min, "most": self.max})
        return self

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Editors must know the short forms too."""
        mapping = handler.resolve_ref_schema(handler(core_schema))
        sizes = [{"required": [name]} for name in SIZES]
        others = [{"required": [name]} for name in ("min", "max", *cls.INSTEAD_OF_SIZE)]
        mapping = {**mapping, "oneOf": [*sizes, {"not": {"anyOf": sizes}, "anyOf": others}]}
        return {
            "anyOf": [
                mapping,
                {"const": "rest"},
                {"type": "integer", "minimum": 0},
                {
                    "type": "string",
                    "pattern": list_pattern(RANGE),
                    "description": "exactly these CPUs",
                },
            ]
        }


PoolSpec = Annotated[Pool, BeforeValidator(_pool_shorthand)]


class Isolated(Pool):
    """A pool, or named parts of one.

    Without a size, it has the CPUs of its partitions, and the rest if no other pool takes it.
    """

    INSTEAD_OF_SIZE = ("partitions",)
    partitions: dict[Name, PoolSpec] = Field(
        default={},
        description="named parts of the isolated pool, such as dpdk; referred to as "
        "`isolated.dpdk`",
    )


class Pools(Model):
    """The CPUs of each purpose; each online CPU is in one pool.

    `isolated` takes the rest if no other pool does.
    """

    reserved: PoolSpec = Field(description="operating system, kubelet, runtime, interrupts")
    shared: PoolSpec | None = Field(
        default=None,
        description="for containers that request shared CPUs in addition to exclusive ones",
    )
    isolated: Annotated[Isolated, BeforeValidator(_pool_shorthand)] | None = Field(
        default=None, description="for pods; exclusive CPUs come from here"
    )
    isolcpus: PoolSpec | None = Field(
        default=None,
        description="isolated by the kernel, and not available to the kubelet and its pods",
    )
    offlined: PoolSpec | None = Field(default=None, description="switched off to save power")


class QosSets(Model):
    """CPUs of pods by QoS class; the sets may overlap.

    Together they have all CPUs of reserved, shared and isolated.
    """

    best_effort: PoolSpec | None = Field(
        default=None, description="for BestEffort pods; default: all CPUs"
    )
    other: PoolSpec | None = Field(
        default=None, description="for Burstable and Guaranteed pods; default: all CPUs"
    )


class RuleSwitch(Model):
    """A built-in rule that is disabled or enabled, and the reason for later readers."""

    disable: RuleName | None = Field(default=None, description="the rule to disable")
    enable: RuleName | None = Field(
        default=None, description="the rule to enable, if it is off by default"
    )
    because: Annotated[
        str, Field(min_length=1, examples=["the vendor's guide pins its own threads"])
    ] = Field(description="the reason, for later readers")

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        """Find what contradicts itself."""
        if (self.disable is None) == (self.enable is None):
            raise problem("rule_switch", "one of disable and enable")
        return self


class DefaultSwitch(Model):
    """A default that is disabled, or enabled where the platform has it off, and the reason."""

    disable: DefaultName | None = Field(default=None, description="the default to disable")
    enable: DefaultName | None = Field(default=None, description="the default to enable")
    because: Annotated[str, Field(min_length=1, examples=["devices are given to pods by VFIO"])] = (
        Field(description="the reason")
    )

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        """Find what contradicts itself."""
        if (self.disable is None) == (self.enable is None):
            raise problem("rule_switch", "one of disable and enable")
        return self


class Workload(Model):
    """Pods with exclusive CPUs for which a node must have room, by their sum.

    The simulator shows where each one runs.
    """

    name: Name = Field(description="name of the workload in messages")
    cpus: Annotated[int, Field(ge=1)] = Field(description="exclusive CPUs of each pod")
    pods: Annotated[int, Field(ge=1)] = Field(
        default=1, description="number of these pods on each node"
    )
    pool: SetName = Field(
        default="isolated", description="pool of their CPUs: isolated, or a partition of it"
    )


Rules = Annotated[tuple[RuleSwitch, ...], Listed]
Defaults = Annotated[tuple[DefaultSwitch, ...], Listed]
Workloads = Annotated[tuple[Workload, ...], Listed]
#: The default order of goals; see docs/layout.md.
GOAL_ORDER: tuple[GoalName, ...] = (
    "fewest-moved",
    "fewest-split-cores",
    "locality",
    "balance",
    "most-isolated",
)
Objective = Annotated[tuple[GoalName, ...], Listed]
