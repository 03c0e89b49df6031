"""The PerformanceProfile (performance.openshift.io/v2), as the operator's CRD defines it.

Unknown keys are refused, although an API server silently drops them. The webhook's rules are in
`profiles.rules`.
"""

from typing import Annotated

from pydantic import Field

from cpuplan.language.model.base import Model
from cpuplan.language.model.document import KubeletList, Listed


class Cpu(Model):
    """CPU sets, by number."""

    reserved: KubeletList
    isolated: KubeletList
    balance_isolated: bool | None = None
    offlined: KubeletList | None = None
    shared: KubeletList | None = None
    ovs_dpdk: KubeletList | None = None


#: The operator's Go type; its decoder refuses larger numbers.
Int32 = Annotated[int, Field(ge=-(2**31), le=2**31 - 1)]


class HugePage(Model):
    """Pages of one size."""

    size: str = ""
    count: Int32 = 0
    node: Int32 | None = None


class HugePages(Model):
    """Huge pages at boot."""

    default_hugepages_size: str | None = None
    pages: Annotated[tuple[HugePage, ...], Listed] | None = None


class RealTimeKernel(Model):
    """The kernel."""

    enabled: bool | None = None


class Numa(Model):
    """The topology manager."""

    topology_policy: str | None = None


class Device(Model):
    """Network devices that fit everything that is written here."""

    interface_name: str | None = None
    vendor_id: str | None = Field(default=None, alias="vendorID")
    device_id: str | None = Field(default=None, alias="deviceID")


class Net(Model):
    """Queues of network devices."""

    user_level_networking: bool | None = None
    devices: Annotated[tuple[Device, ...], Listed] | None = None


class HardwareTuning(Model):
    """Highest frequencies in kHz."""

    isolated_cpu_freq: int | None = None
    reserved_cpu_freq: int | None = None


class WorkloadHints(Model):
    """What the workloads are like."""

    high_power_consumption: bool | None = None
    real_time: bool | None = None
    per_pod_power_management: bool | None = None
    mixed_cpus: bool | None = None


class PerformanceProfileSpec(Model):
    """`spec`; null means left out, as everywhere in Kubernetes."""

    cpu: Cpu
    node_selector: dict[str, str]
    hardware_tuning: HardwareTuning | None = None
    hugepages: HugePages | None = None
    machine_config_label: dict[str, str] | None = None
    machine_config_pool_selector: dict[str, str] | None = None
    real_time_kernel: RealTimeKernel | None = None
    kernel_page_size: str | None = None
    additional_kernel_args: Annotated[tuple[str, ...], Listed] | None = None
    numa: Numa | None = None
    net: Net | None = None
    globally_disable_irq_load_balancing: bool | None = None
    workload_hints: WorkloadHints | None = None
