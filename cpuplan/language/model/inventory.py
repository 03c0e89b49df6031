"""Hardware and Nodes (pydantic): what hardware there is; unknown keys are refused."""

from typing import Annotated, Literal

from pydantic import Field

from cpuplan.base.cpuset import MAX_CPU
from cpuplan.base.topology import MAX_NUMA_NODE
from cpuplan.language.model.base import (
    CoreType,
    DocumentName,
    KernelList,
    Labels,
    Listed,
    MachineText,
    Model,
    Name,
    NodeNames,
    Quantity,
    list_pattern,
    matching,
)

#: A sequence of numbers, one for each core or cache in order: `0-27,0-27`.
#: -1 is what some kernels say of cores that they know no number of.
Sequence = Annotated[
    str,
    matching(
        list_pattern("(-1|[0-9]{1,20}(-[0-9]{1,20})?)"),
        "numbers and ranges with commas and no blanks, such as 0-27,0-27",
        "0-27,0-27",
    ),
]
NumaNodeNumber = Annotated[int, Field(ge=0, le=MAX_NUMA_NODE)]
_PciAddress = Annotated[
    str,
    matching(
        r"^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$",
        "a PCI address in lower case, such as 0000:17:00.0",
    ),
]


class Numbering(Model):
    """How the firmware numbers CPUs; docs/inventory.md describes that of common platforms."""

    threads: Literal["separate", "adjacent"] = Field(
        default="separate",
        description="separate: first threads of all cores, then second threads. adjacent: the "
        "threads of a core together",
    )
    cores: Literal["blocks", "interleaved"] = Field(
        default="blocks",
        description="blocks: socket after socket. interleaved: CPU by CPU over the NUMA nodes "
        "(Dell's default)",
    )


class Distances(Model):
    """Distances between NUMA nodes (ACPI SLIT); 10 to itself."""

    within_socket: Annotated[int, Field(ge=10, le=254)] | None = Field(
        default=None, description="to the other nodes of the socket, if it has several"
    )
    between_sockets: Annotated[int, Field(ge=10, le=254)] | None = Field(
        default=None, description="to the nodes of other sockets, if there are several sockets"
    )


class Regular(Model):
    """A machine with identical sockets, described by a few numbers."""

    sockets: Annotated[int, Field(ge=1, le=64)] = Field(default=1, description="physical packages")
    cores_per_socket: Annotated[int, Field(ge=1, le=4096)] = Field(
        description="cores (not threads) of each socket"
    )
    threads_per_core: Annotated[int, Field(ge=1, le=8)] = Field(
        default=1, description="2 with SMT (Hyper-Threading) on"
    )
    dies_per_socket: Annotated[int, Field(ge=1)] = Field(
        default=1, description="dies that the kernel reports"
    )
    numa_nodes_per_socket: Annotated[int, Field(ge=1)] = Field(
        default=1, description="more than 1 with sub-NUMA clustering or NPS"
    )
    caches_per_socket: Annotated[int, Field(ge=0)] = Field(
        default=1,
        description="last-level caches (L3) of a socket; 0 if the kernel reports none",
    )
    cache_size: Quantity | None = Field(default=None, description="size of each last-level cache")
    cores_per_cluster: Annotated[int, Field(ge=1)] = Field(
        default=1,
        description="cores that share an L2 cache or snoop filter; 1 if none do",
    )
    core_ids: Sequence | None = Field(
        default=None,
        description="the kernel's core_id of each core of a socket, in order; default: 0, 1, ...",
    )
    memory_per_numa_node: Quantity | None = Field(
        default=None, description="memory of each NUMA node with CPUs"
    )
    memory_only_nodes: Annotated[tuple[Quantity, ...], Listed] = Field(
        default=(),
        description="memory of each NUMA node without CPUs (HBM, GPU memory), numbered after "
        "those with CPUs",
    )
    distances: Distances | None = None
    numbering: Numbering = Field(default_factory=Numbering.model_construct)


class Cores(Model):
    """Cores of one kind; the n-th CPUs of the lists in `threads` are siblings on the n-th core."""

    type: CoreType | None = Field(
        default=None, description="type of the cores, on machines with different cores"
    )
    threads: Annotated[tuple[KernelList, ...], Field(min_length=1), Listed] = Field(
        description="the first CPU of every core, then the second CPUs, and so on: lists of the "
        "same length"
    )
    ids: Annotated[tuple[Sequence, ...], Listed] = Field(
        default=(),
        description="the kernel's core_id of each core: one sequence, or one for each list of "
        "`threads` if siblings have different ids; default: 0, 1, ... within each "
        "socket",
    )


class Group(Model):
    """A socket or die: the kernel's id, and its CPUs."""

    id: Annotated[int, Field(ge=-1, description="-1 if the kernel reports none")]
    cpus: KernelList = Field(description="the CPUs of the group")


class LinkedNode(Model):
    """A NUMA node by its links to CPUs."""

    id: NumaNodeNumber = Field(description="the kernel's number")
    cpus: KernelList = Field(description="the CPUs that it links to")


class NumaNode(Model):
    """A NUMA node. One without CPUs is a memory-only node (CXL, HBM, GPU memory)."""

    id: NumaNodeNumber = Field(description="the kernel's number")
    cpus: KernelList | None = Field(
        default=None, description="CPUs of the node; omitted if it has only memory"
    )
    memory: Quantity | None = Field(
        default=None, description="memory of the node as reported by the kernel"
    )
    huge_pages: dict[Quantity, int] = Field(
        default={}, description="pages configured during the import, by size"
    )
    distances: Annotated[tuple[int, ...], Listed] = Field(
        default=(),
        description="distances to every NUMA node that was online during the import, in order",
    )


class Cache(Model):
    """Caches of one level, type and size."""

    level: Annotated[int, Field(ge=1, le=9)] = Field(description="1 for L1, and so on")
    type: Literal["Unified", "Data", "Instruction"] = Field(
        default="Unified", description="content of the cache"
    )
    size: Quantity | None = Field(default=None, description="size of each cache")
    per: Literal["core", "cluster", "die", "socket", "numaNode"] | None = Field(
        default=None, description="one cache for each of these; replaces `cpus`"
    )
    cpus: Annotated[tuple[KernelList, ...], Listed] = Field(
        default=(), description="the CPUs that share each cache"
    )
    ids: Sequence | None = Field(
        default=None,
        description="the kernel's ids, in the order of the lowest CPU; the kubelet needs them to "
        "distinguish caches",
    )


class KubeletFiles(Model):
    """What the kubelet reads from the kernel's files, if the topology's groups do not imply it."""

    no_numa_nodes: bool = Field(
        default=False,
        description="the kernel lists no NUMA nodes: the kubelet uses sockets instead",
    )
    numa_nodes: Annotated[tuple[LinkedNode, ...], Listed] = Field(
        default=(),
        description="NUMA nodes by their links to CPUs, if these differ from the CPU lists of "
        "the nodes",
    )
    unlabelled: KernelList | None = Field(
        default=None,
        description="CPUs for which the kernel reports no core_id or physical_package_id (on "
        "s390x, book_id or drawer_id): the kubelet does not see them",
    )
    unread_caches: KernelList | None = Field(
        default=None,
        description="CPUs with a cache for which the kernel reports no id or size: the kubelet "
        "then reads none",
    )
    sockets: Annotated[int, Field(ge=0, le=MAX_CPU + 1)] | None = Field(
        default=None,
        description="physical ids in /proc/cpuinfo, if their number differs from that of the "
        "sockets",
    )
    books: Annotated[tuple[Group, ...], Listed] = Field(
        default=(), description="s390x only; default: one book"
    )
    drawers: Annotated[tuple[Group, ...], Listed] = Field(
        default=(), description="s390x only; default: one drawer"
    )


class Layout(Model):
    """An irregular or imported machine: groups of CPUs as reported by the kernel."""

    offline: KernelList | None = Field(
        default=None, description="CPUs that are present but were offline"
    )
    cores: Annotated[tuple[Cores, ...], Field(min_length=1), Listed] = Field(
        description="all cores: an entry for each type, and for each number of threads"
    )
    sockets: Annotated[tuple[Group, ...], Listed] = Field(
        default=(), description="default: one socket, 0"
    )
    dies: Annotated[tuple[Group, ...], Listed] = Field(
        default=(), description="default: one die, 0, in each socket"
    )
    clusters: Annotated[tuple[KernelList, ...], Listed] = Field(
        default=(),
        description="cores that share an L2 cache or snoop filter; default: each core by itself",
    )
    numa_nodes: Annotated[tuple[NumaNode, ...], Listed] = Field(
        default=(), description="default: one NUMA node, 0"
    )
    caches: Annotated[tuple[Cache, ...], Listed] = Field(
        default=(),
        description="the caches; at least those of the last level if layouts or pods use them",
    )
    kubelet: KubeletFiles | None = Field(
        default=None,
        description="what the kubelet sees differently; written by `cpuplan import`, rarely needed",
    )


class Device(Model):
    """A PCI device that matters for placing CPUs."""

    address: _PciAddress = Field(
        description="PCI address: domain, bus, device and function", examples=["0000:17:00.0"]
    )
    device_class: Literal["network", "gpu", "accelerator", "storage", "other"] = Field(
        default="other", alias="class", description="purpose of the device, by its PCI class"
    )
    vendor: MachineText | None = Field(default=None, description="PCI vendor id or name")
    device: MachineText | None = Field(default=None, description="PCI device id or name")
    driver: MachineText | None = Field(default=None, description="kernel driver", examples=["ice"])
    name: MachineText | None = Field(
        default=None, description="the network interface, if it has one"
    )
    numa_node: NumaNodeNumber | None = Field(
        default=None,
        description="the NUMA node of the device; omitted if the kernel reports none",
    )
    functions: int | None = Field(
        default=None, description="number of SR-IOV virtual functions that it can have"
    )


#: Devices that may share one with others, or be cut into parts: more is nothing that anybody makes.
_MOST_PARTS = 1024
ResourceName = Annotated[
    str,
    matching(
        r"^[a-z0-9]([a-z0-9.-]{0,250}[a-z0-9])?/[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$",
        "the name of an extended resource, such as nvidia.com/gpu",
        "nvidia.com/gpu",
    ),
]


class DevicePlugin(Model):
    """Devices that a device plugin offers to pods as one resource: those that all fields match."""

    resource: ResourceName = Field(description="what pods request", examples=["nvidia.com/gpu"])
    device_class: Literal["network", "gpu", "accelerator", "storage", "other"] | None = Field(
        default=None, alias="class", description="devices of this class"
    )
    vendors: Annotated[tuple[MachineText, ...], Listed] = Field(
        default=(), description="devices of these PCI vendors", examples=["15b3"]
    )
    devices: Annotated[tuple[MachineText, ...], Listed] = Field(
        default=(), description="devices with these PCI device ids", examples=["1017"]
    )
    drivers: Annotated[tuple[MachineText, ...], Listed] = Field(
        default=(), description="devices of these kernel drivers", examples=["mlx5_core"]
    )
    names: Annotated[tuple[MachineText, ...], Listed] = Field(
        default=(), description="the devices of these network interfaces", examples=["ens1f0"]
    )
    addresses: Annotated[tuple[_PciAddress, ...], Listed] = Field(
        default=(), description="the devices at these PCI addresses"
    )
    count: Annotated[int, Field(ge=1, le=_MOST_PARTS)] = Field(
        default=1,
        description="how many of the resource a device is: its parts (MIG), those who share it "
        "(time slices), its virtual functions (SR-IOV)",
    )
    functions: bool = Field(
        default=False,
        description="a device is as many of the resource as it can have virtual functions, "
        "whatever `count` says; devices without any are not offered",
    )
    numa_nodes: bool = Field(
        default=True,
        description="whether the plugin tells the kubelet the NUMA nodes of its devices; without "
        "them nothing is aligned with these",
    )
    preferred_allocation: bool = Field(
        default=True,
        description="whether the plugin may choose among the devices that the kubelet offers "
        "(GetPreferredAllocation)",
    )


class HardwareSpec(Model):
    """One server model: either `regular` or `topology`."""

    architecture: Literal[
        "x86_64", "aarch64", "ppc64le", "s390x", "riscv64", "loongarch64", "other"
    ] = Field(default="x86_64", description="output of `uname -m`")
    vendor: MachineText | None = Field(
        default=None, description="CPU vendor as in /proc/cpuinfo", examples=["GenuineIntel"]
    )
    model: MachineText | None = Field(default=None, description="CPU model name")
    model_number: int | None = Field(
        default=None,
        description="`model` in /proc/cpuinfo, which identifies the generation of Intel CPUs",
    )
    regular: Regular | None = None
    topology: Layout | None = None
    huge_page_sizes: Annotated[tuple[Quantity, ...], Listed] = Field(
        default=(), description="sizes that the kernel supports", examples=["1Gi"]
    )
    devices: Annotated[tuple[Device, ...], Listed] = Field(
        default=(), description="PCI devices of every machine of this hardware"
    )
    device_plugins: Annotated[tuple[DevicePlugin, ...], Listed] = Field(
        default=(),
        description="which devices of a node its device plugins offer as which resource, for "
        "`simulate` and `workloads`; those of GPUs of NVIDIA, AMD and Intel are known without it",
    )


class NodeGroup(Model):
    """Nodes with the same hardware, labels and devices."""

    name: NodeNames = Field(
        description="node name; ranges are allowed", examples=["worker-[00-11]"]
    )
    hardware: DocumentName | None = Field(default=None, description="name of a Hardware document")
    labels: Labels = Field(
        default={}, description="labels of the Node objects, in addition to those of the spec"
    )
    offline: KernelList | None = Field(
        default=None, description="CPUs that are offline only on these nodes"
    )
    devices: Annotated[tuple[Device, ...], Listed] = Field(
        default=(), description="PCI devices of these nodes, in addition to those of their hardware"
    )


class NodesSpec(Model):
    """Nodes of one cluster; a group may name other `hardware`, and adds its `labels`."""

    cluster: Name = Field(description="the cluster of the nodes")
    hardware: DocumentName | None = Field(
        default=None, description="name of a Hardware document, for all groups"
    )
    labels: Labels = Field(default={}, description="labels of the Node objects of all groups")
    nodes: Annotated[tuple[NodeGroup, ...], Field(min_length=1), Listed] = Field(
        description="the nodes, group by group"
    )
