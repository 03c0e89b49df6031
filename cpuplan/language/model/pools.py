"""The language of layouts (pydantic): pools, their sizes and places, and the workloads in them."""

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    GetJsonSchemaHandler,
    WithJsonSchema,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from cpuplan.language.model.base import (
    RANGE,
    CoreType,
    CpuList,
    Line,
    Listed,
    Model,
    Name,
    NumberList,
    OneOrMore,
    list_pattern,
    matching,
    problem,
)

#: The sizes of a pool: the attribute of each key.
SIZES = {
    "cpus": "cpus",
    "count": "count",
    "cores": "cores",
    "wholeCaches": "whole_caches",
    "percent": "percent",
    "steps": "steps",
    "rest": "rest",
}
_PERCENTAGE = r"^(100|[0-9]{1,2}(\.[0-9]{1,4})?)$"
#: The sizes that are shares of a number of CPUs.
SHARES = ("percent", "steps")


def _near_shorthand(value: object) -> object:
    """`near: ens1f0` names a device."""
    return {"device": value} if isinstance(value, str) else value


class Near(Model):
    """Devices that match all of these fields."""

    device: Line | None = Field(default=None, description="a network interface, or a PCI address")
    device_class: Literal["network", "gpu", "accelerator", "storage", "other"] | None = Field(
        default=None, alias="class", description="devices of this class"
    )
    driver: Line | None = Field(
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


DeviceSelector = Annotated[Near, BeforeValidator(_near_shorthand)]


def _number_as_text(value: object) -> object:
    """`6` says the same as `"6"`; fractions are text, since YAML would make them inexact."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


Percentage = Annotated[
    str,
    matching(
        _PERCENTAGE,
        'a percentage from 0 to 100, such as 6 or "0.25"',
        "0.25",
    ),
    BeforeValidator(_number_as_text),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "pattern": _PERCENTAGE},
                {"type": "integer", "minimum": 0, "maximum": 100},
            ],
            "examples": ["0.25"],
        }
    ),
]


class Step(Model):
    """A share of the next CPUs."""

    cpus: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="of this many further CPUs; default: of all that are left"
    )
    percent: Percentage = Field(description="this share of them")


def _ends_once(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Only the last step may be about all CPUs that are left."""
    for number, step in enumerate(steps[:-1], 1):
        if step.cpus is None:
            raise problem("pool_steps", "{number}", {"number": number})
    return steps


Steps = Annotated[tuple[Step, ...], Field(min_length=1), Listed, AfterValidator(_ends_once)]


#: The pools, in the order in which they are solved, printed and explained.
POOLS = ("reserved", "shared", "isolated", "isolcpus", "offlined")
#: The sets of CPUs for pods of a QoS class, which lie over the pools and may overlap.
QOS_SETS = ("bestEffort", "other")
#: Pools that no pod runs on.
HIDDEN = ("isolcpus", "offlined")
#: What `sibling` calls a thread that nobody uses: it is switched off.
IDLE = "idle"
#: Pools that can have partitions.
DIVIDED = ("reserved", "isolated")

Level = Literal["core", "cache", "numaNode", "socket"]
Part = Literal["cache", "die", "numaNode", "socket"]
#: A pool, a partition as `isolated.dpdk`, or a QoS set.
SetName = Annotated[
    str,
    matching(
        r"^[a-zA-Z][-a-zA-Z0-9.]*$",
        "the name of a pool, of a QoS set, or of a partition such as isolated.dpdk",
        "isolated.dpdk",
    ),
    Field(max_length=128),
]
GoalName = Literal["fewest-moved", "fewest-split-cores", "locality", "balance", "most-isolated"]


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

    The sizes are `cpus`, `count`, `cores`, `wholeCaches`, `percent`, `steps` and `rest`.
    """

    cpus: CpuList | None = Field(default=None, description="exactly these CPUs")
    count: Annotated[int, Field(ge=0)] | None = Field(
        default=None, description="this many CPUs (hardware threads)"
    )
    cores: Annotated[int, Field(ge=0)] | None = Field(
        default=None, description="this many whole cores"
    )
    whole_caches: Annotated[int, Field(ge=0)] | None = Field(
        default=None,
        description="all online CPUs of this many last-level caches, and no others; with sibling, "
        "one thread of each of their cores",
    )
    percent: Annotated[int, Field(ge=1, le=100)] | None = Field(
        default=None,
        description="this share of the online CPUs, or of the set in `of`, rounded up to whole "
        "cores, or down if that would exceed max",
    )
    steps: Steps | None = Field(
        default=None,
        description="shares of the first CPUs, of the next ones, and so on, added up and then "
        "rounded as with percent",
        examples=[[{"cpus": 1, "percent": 6}, {"percent": "0.25"}]],
    )
    of: SetName | None = Field(
        default=None,
        description="percent or steps are of the CPUs of this pool, partition or QoS set; default: "
        "of all online CPUs",
    )
    rest: Literal[True] | None = Field(
        default=None, description="all CPUs that no other pool takes"
    )
    min: Annotated[int, Field(ge=0)] | None = Field(
        default=None,
        description="at least this many CPUs; with percent, steps, rest or max, or by itself",
    )
    max: Annotated[int, Field(ge=0)] | None = Field(
        default=None,
        description="at most this many CPUs; with percent, steps, rest or min, or by itself",
    )
    per: Literal["machine", "socket", "numaNode", "cache"] = Field(
        default="machine",
        description="the size applies to each of these that the pool may be on; cache is the "
        "last-level cache",
    )
    per_device: DeviceSelector | None = Field(
        default=None,
        description="the size applies to each device that matches, on the NUMA node of the device; "
        "a text is the name or address of a device",
    )
    within: Part | None = Field(
        default=None,
        description="only on one of these, whichever; with per, the share of each part is",
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
    near: DeviceSelector | None = Field(
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
        given = [key for key, name in SIZES.items() if getattr(self, name) is not None]
        size = given[0] if given else ""
        ranged = self.min is not None or self.max is not None
        sized = given or ranged or any(getattr(self, name) for name in self.INSTEAD_OF_SIZE)
        if len(given) > 1 or not sized:
            raise problem("pool_size", "{given}", {"given": " and ".join(given) or "none"})
        if ranged and size in ("cpus", "count", "cores", "wholeCaches"):
            raise problem("pool_range", "{size}", {"size": size})
        if self.max is not None and (self.min or 0) > self.max:
            raise problem("pool_bounds", "{least}", {"least": self.min, "most": self.max})
        self._has_effect(size, ranged=ranged)
        return self

    def _has_effect(self, size: str, *, ranged: bool) -> None:
        """Find keys that change nothing beside the others."""
        per, within = self.per, self.within
        is_fixed = size == "cpus" or (size == "rest" and not ranged)
        if per != "machine" and (is_fixed or (size == "wholeCaches" and per == "cache")):
            raise problem("pool_per", "{size}", {"key": "per", "size": size})
        if self.per_device and size in ("cpus", "rest", *SHARES):
            raise problem("pool_per", "{size}", {"key": "perDevice", "size": size})
        useless = ""
        if self.per_device and (per != "machine" or within):
            useless, other = ("within" if within else "per"), "perDevice"
        elif within and (within == per or (within == "socket" and per != "machine")):
            useless, other = "within", f"per: {per}"
        elif self.of and size not in SHARES:
            useless, other = "of", size or "a range"
        if useless:
            raise problem("pool_useless", "{key}", {"key": useless, "other": other})

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Editors must know the short forms too."""
        mapping = handler.resolve_ref_schema(handler(core_schema))
        sizes = [{"required": [key]} for key in SIZES]
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


class PartitionIsolation(Model):
    """What the kernel keeps off a partition, where it differs from `isolation` of the intent."""

    domain: bool | None = Field(default=None, description="isolcpus=domain: no load balancing")
    managed_irq: bool | None = Field(
        default=None, description="isolcpus=managed_irq: interrupts of multi-queue devices"
    )
    nohz_full: bool | None = Field(
        default=None, description="nohz_full=: no timer tick while one task runs"
    )
    rcu_nocbs: bool | None = Field(
        default=None, description="rcu_nocbs=: RCU callbacks run on other CPUs"
    )


class Partition(Pool):
    """A pool within isolated, which the kernel may isolate in its own way."""

    isolation: PartitionIsolation | None = Field(
        default=None,
        description="what the kernel keeps off these CPUs, where it differs from `isolation` of "
        "the intent: domain, managedIrq, nohzFull, rcuNocbs",
    )


PartitionSpec = Annotated[Partition, BeforeValidator(_pool_shorthand)]


class Isolated(Pool):
    """A pool, or named parts of one.

    Without a size, it has the CPUs of its partitions, and the rest if no other pool takes it.
    """

    INSTEAD_OF_SIZE = ("partitions",)
    partitions: dict[Name, PartitionSpec] = Field(
        default={},
        description="named parts of the isolated pool, such as dpdk; referred to as "
        "`isolated.dpdk`. Each has the fields of a pool, and may have its own isolation (domain, "
        "managedIrq, nohzFull, rcuNocbs)",
    )


class Reserved(Pool):
    """A pool, or named parts of one.

    Without a size, it has the CPUs of its partitions.
    """

    INSTEAD_OF_SIZE = ("partitions",)
    partitions: dict[Name, PoolSpec] | None = Field(
        default=None,
        description="named parts of the reserved pool, such as interrupts; referred to as "
        "`reserved.interrupts`",
    )


class Pools(Model):
    """The CPUs of each purpose; each online CPU is in one pool.

    `isolated` takes the rest if no other pool does.
    """

    reserved: Annotated[Reserved, BeforeValidator(_pool_shorthand)] = Field(
        description="operating system, kubelet, runtime, interrupts"
    )
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


def partitions_of(pools: Pools) -> dict[str, Pool]:
    """The partitions by their full names, such as `isolated.dpdk`, those of reserved first."""
    named: dict[str, Pool] = {}
    for host in DIVIDED:
        partitions: dict[str, Pool] = getattr(getattr(pools, host), "partitions", None) or {}
        named |= {f"{host}.{name}": pool for name, pool in sorted(partitions.items())}
    return named


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


#: The default order of goals; see docs/layout.md.
GOAL_ORDER: tuple[GoalName, ...] = (
    "fewest-moved",
    "fewest-split-cores",
    "locality",
    "balance",
    "most-isolated",
)
Objective = Annotated[tuple[GoalName, ...], Listed]


#: A file's name is replaced by its content before documents are validated.
_MANIFEST = WithJsonSchema(
    {"anyOf": [{"type": "object"}, {"type": "string", "pattern": r"^pods/.+\.ya?ml$"}]}
)


class Workload(Model):
    """Pods with exclusive CPUs for which a node must have room.

    The simulator proves that its kubelet admits them, and shows where each one runs.
    """

    name: Name = Field(description="name of the workload in messages")
    cpus: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="exclusive CPUs of each pod, which has one container"
    )
    manifest: Annotated[dict[str, Any], _MANIFEST] | None = Field(
        default=None,
        description="instead of cpus, the manifest of the pod, or of a workload such as a "
        "Deployment with its template, or the file with it in the project's folder pods/: all of "
        "its containers count",
        examples=["pods/upf.yaml"],
    )
    pods: Annotated[int, Field(ge=1)] = Field(
        default=1,
        description="number of these pods on each node, whatever a manifest has as replicas",
    )
    per: Literal["machine", "numaNode"] | None = Field(
        default=None,
        description="numaNode: the number is for each NUMA node that the pool may be on. Default: "
        "machine",
    )
    pool: SetName = Field(
        default="isolated", description="pool of their CPUs: isolated, or a partition of it"
    )

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        """Find what contradicts itself."""
        if (self.cpus is None) == (self.manifest is None):
            raise problem("workload_size", "cpus or manifest")
        return self


Workloads = Annotated[tuple[Workload, ...], Listed]
