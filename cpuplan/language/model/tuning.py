"""What an intent sets on nodes beside pools: kernel, kubelet, CRI-O, huge pages, networks."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from cpuplan.language.model.base import (
    Key,
    KeyValue,
    Listed,
    Model,
    Name,
    OptionValue,
    Quantity,
    matching,
    visible,
)
from cpuplan.language.model.pools import SetName

_VALUE = r"[A-Za-z0-9_.,:/+@%=!*^~?#()\[\]\-]*"


def _without_quotes(word: str) -> str:
    """The word as the kernel takes it: it removes quotes around a value (lib/cmdline.c)."""
    return word.replace('"', "")


#: One word of the kernel command line. No blanks, or what means something to a shell or to GRUB:
#: these words go into boot loader files. None begins with a dash: what comes after `--` is for
#: init. Quotes around a value mean nothing without blanks.
KernelArgument = Annotated[
    str,
    matching(
        rf'^[A-Za-z0-9_.][A-Za-z0-9_.\-]*(={_VALUE}|="{_VALUE}")?$',
        "one word of the kernel command line, such as audit=0, without blanks and what shells read",
        "audit=0",
    ),
    Field(max_length=1024),
    AfterValidator(_without_quotes),
]
HugePageSize = Annotated[
    str,
    matching(r"^[1-9][0-9]*(k|K|M|G)$", "a size such as 2M or 1G", "2M", "1G"),
]
#: As udev prints it.
PCI_ID = r"^0x[0-9a-fA-F]{1,4}$"
#: What can be part of a device's name (kernel: dev_valid_name), and so no second line of a TuneD
#: profile. Typographic quotes could be, but come from a word processor.
INTERFACE = (
    r"^[^\s/:\x00-\x1f\x7f-\x9f\xab\xad\xbb\u061c\u180e\u200b-\u200f\u2018-\u201f\u2028-\u202e"
    r"\u2060-\u206f\ufeff]+$"
)
Duration = Annotated[
    str,
    matching(r"^([0-9]+(ms|s|m|h))+$", "a time with its unit, such as 5s or 1m30s", "5s"),
]
_PciId = Annotated[
    str,
    matching(PCI_ID, "0x and up to four hexadecimal digits, such as 0x8086", "0x8086"),
]
_Interface = Annotated[
    str,
    matching(INTERFACE, "a device's name, without blanks, slashes, colons and typographic quotes"),
    Field(max_length=128),
    AfterValidator(visible),
]


class Isolation(Model):
    """What the kernel keeps off the isolated pool."""

    by: Literal["bootArguments", "partitions"] = Field(
        default="bootArguments",
        description="what keeps the scheduler off: boot arguments (isolcpus=domain), or cgroup "
        "partitions, without a reboot. The pool isolcpus then has one that a unit makes, and pods "
        "get theirs from CRI-O when they disable load balancing",
    )
    domain: bool = Field(
        default=False,
        description="isolcpus=domain: no load balancing. Pods without exclusive CPUs are then "
        "not spread over the CPUs",
    )
    managed_irq: bool = Field(
        default=True, description="isolcpus=managed_irq: interrupts of multi-queue devices"
    )
    nohz_full: bool = Field(
        default=True, description="nohz_full=: no timer tick while one task runs"
    )
    rcu_nocbs: bool = Field(default=True, description="rcu_nocbs=: RCU callbacks run on other CPUs")
    irq_affinity: bool | None = Field(
        default=None,
        description="irqaffinity=: all other interrupts. Default: true on kubernetes, false on "
        "openshift (CRI-O does it)",
    )
    globally_disable_irq_load_balancing: bool = Field(
        default=False,
        description="irqbalance never uses the isolated CPUs, instead of only while a pod requests "
        "it. Always so where irqAffinity is true on kubernetes",
    )
    interrupts: SetName | None = Field(
        default=None,
        description="the CPUs that interrupts go to: reserved, a partition of it such as "
        "`reserved.interrupts`, which system services then leave alone, or shared. Default: "
        "reserved. If it is given, irqAffinity is true by default",
        examples=["reserved.interrupts"],
    )
    system_services: Literal["affinity", "slices"] = Field(
        default="affinity",
        description="kubernetes: how system services are kept off the isolated CPUs. affinity: "
        "they start on the others; slices: they cannot choose isolated CPUs either (cgroup v2)",
    )


#: What may be set aside for daemons. CPUs are, by number, with the reserved pool: amounts of `cpu`
#: change nothing then.
Resource = Literal["cpu", "memory", "ephemeral-storage", "pid"]


class ReservedMemory(Model):
    """Memory of a NUMA node that the memory manager does not assign."""

    numa_node: Annotated[int, Field(ge=0)] = Field(description="the kernel's number")
    memory: Quantity = Field(description="amount that the memory manager does not assign")


class Kubelet(Model):
    """KubeletConfiguration, with its field names."""

    cpu_manager_policy: Literal["static", "none"] = Field(
        default="static",
        description="static gives exclusive CPUs to Guaranteed pods that request whole CPUs",
    )
    cpu_manager_policy_options: dict[Key, KeyValue] = Field(
        default={},
        description='options of the static policy; values are text ("true"). For openshift, see '
        "also docs/defaults.md",
    )
    cpu_manager_reconcile_period: Duration | None = Field(
        default=None,
        description="how often the kubelet sets the CPUs of containers again. Default: 5s on "
        "openshift",
    )
    topology_manager_policy: (
        Literal["none", "best-effort", "restricted", "single-numa-node"] | None
    ) = Field(
        default=None,
        description="how strictly a pod's CPUs, memory and devices are kept on one NUMA node. "
        "Default: best-effort on openshift, the kubelet's own (none) elsewhere",
    )
    topology_manager_scope: Literal["container", "pod"] | None = Field(
        default=None,
        description="what is aligned: each container separately (the kubelet's default), or "
        "whole pods",
    )
    topology_manager_policy_options: dict[Key, OptionValue] = Field(
        default={}, description='options of the topology manager; values are text ("true")'
    )
    memory_manager_policy: Literal["None", "Static"] | None = Field(
        default=None,
        description="default on openshift: Static if topologyManagerPolicy is restricted or "
        "single-numa-node; with Static elsewhere, set the next three fields to "
        "the values of the nodes",
    )
    kube_reserved: dict[Resource, KeyValue] | None = Field(
        default=None,
        description="reserved for the kubelet and the runtime. Default: memory 500Mi on openshift",
    )
    system_reserved: dict[Resource, KeyValue] | None = Field(
        default=None,
        description="reserved for system daemons. Default: memory 500Mi on openshift",
    )
    eviction_hard: dict[Key, KeyValue] | None = Field(
        default=None,
        description="pods are evicted immediately if less than this is left, by the kubelet's "
        "signals. Default: the kubelet's own thresholds, written explicitly on "
        "openshift",
    )
    reserved_memory: Annotated[tuple[ReservedMemory, ...], Listed] = Field(
        default=(),
        description="default: the reserved memory, on the NUMA nodes of the reserved CPUs",
    )
    dynamic_resource_allocation: bool = Field(
        default=False,
        description="a DRA driver assigns CPUs and memory: the kubelet's own managers have the "
        "policy none",
    )
    configuration: dict[str, Any] = Field(
        default={},
        description="additional fields of KubeletConfiguration, unchanged; not those that have a "
        "field above",
    )


class HugePages(Model):
    """Huge pages of one size, on one NUMA node or spread by the kernel over all nodes."""

    size: HugePageSize = Field(description="size of each page")
    count: Annotated[int, Field(ge=0)] = Field(description="number of pages")
    numa_node: Annotated[int, Field(ge=0)] | None = Field(
        default=None, description="the NUMA node of the pages; default: spread over all nodes"
    )


class HugePagesSpec(Model):
    """Huge pages allocated at boot."""

    default_size: HugePageSize | None = Field(
        default=None, description="page size for pods that do not name a size"
    )
    pages: Annotated[tuple[HugePages, ...], Listed] = Field(
        default=(), description="pages by size and place"
    )


class Kernel(Model):
    """The kernel and its command line."""

    real_time: bool = Field(default=False, description="openshift: kernelType realtime")
    page_size: Literal["4k", "64k"] | None = Field(
        default=None, description="base page size; aarch64 on openshift"
    )
    extra_arguments: Annotated[tuple[KernelArgument, ...], Listed] = Field(
        default=(), description="additional boot arguments, one word each", examples=["audit=0"]
    )


class WorkloadHints(Model):
    """Properties of the workloads, with the field names of PerformanceProfile."""

    real_time: bool | None = Field(
        default=None,
        description="low latency: boot arguments and sysctls against disturbance, which disable "
        "checks and safety nets. Default: true on openshift, false elsewhere",
    )
    high_power_consumption: bool = Field(
        default=False, description="no power saving that increases latency"
    )
    per_pod_power_management: bool = Field(
        default=False, description="pods state how their CPUs save power"
    )


class Runtime(Model):
    """CRI-O."""

    handler: Name = Field(
        default="high-performance",
        description="name of the runtime handler whose pods may request CRI-O's CPU hooks, and "
        "of its RuntimeClass. Default on kubernetes: a handler only if there are "
        "shared CPUs, and only for sharing",
    )
    mixed_cpus: bool | None = Field(
        default=None, description="default: true if there is a shared pool"
    )
    containers_limit: Annotated[int, Field(ge=0)] = Field(
        default=256, description="number of containers on a node that may share CPUs"
    )
    shared_namespaces: Annotated[tuple[Name, ...], Listed] = Field(
        default=(),
        description="namespaces whose pods may request shared CPUs: written with the annotation "
        "that allows it",
    )
    annotate_pods: bool | None = Field(
        default=None,
        description="kubernetes: the API server adds the annotation that CRI-O needs for shared "
        "CPUs (MutatingAdmissionPolicy); false: pods set it themselves. Default: "
        "true from 1.32 on. OpenShift does this itself",
    )
    exec_cpu_affinity: Literal["first", "none"] | None = Field(
        default=None,
        description="first: exec probes run on the first CPU of the container; none: on all of "
        "them. Default: first on openshift, none elsewhere",
    )


class NetDevice(Model):
    """Network devices that match all of these fields."""

    interface_name: _Interface | None = Field(
        default=None, description="* matches any text; a leading ! negates"
    )
    vendor_id: _PciId | None = Field(
        default=None, alias="vendorID", description="PCI vendor", examples=["0x8086"]
    )
    device_id: _PciId | None = Field(
        default=None,
        alias="deviceID",
        description="PCI device; requires vendorID",
        examples=["0x1593"],
    )


class Net(Model):
    """Network devices, with the field names of PerformanceProfile."""

    user_level_networking: bool = Field(
        default=False,
        description="devices get as many queues as there are reserved CPUs (by TuneD)",
    )
    devices: Annotated[tuple[NetDevice, ...], Listed] = Field(
        default=(), description="only these devices; default: all"
    )
    receive_packet_steering: bool = Field(
        default=False,
        description="the reserved CPUs process received packets (RPS), on virtual devices "
        "(Linux 6.3, or RHEL 9)",
    )
    physical_device_rps: bool = Field(default=False, description="also on physical devices")


class OpenVSwitch(Model):
    """Open vSwitch on the node."""

    dpdk: bool = Field(
        default=False,
        description="openshift: its DPDK threads run alone on the pool isolcpus",
    )
    load_balancing: bool = Field(
        default=True, description="false: the scheduler does not move those threads"
    )


class HardwareTuning(Model):
    """Highest CPU frequencies in kHz, set by TuneD."""

    isolated_cpu_freq: Annotated[int, Field(ge=1)] = Field(description="of isolated CPUs, in kHz")
    reserved_cpu_freq: Annotated[int, Field(ge=1)] = Field(description="of reserved CPUs, in kHz")
