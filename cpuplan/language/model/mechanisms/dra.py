"""The DRA CPU driver (dra-driver-cpu), as a target has it (pydantic)."""

from typing import Annotated, Literal

from pydantic import Field

from cpuplan.language.model.base import Model
from cpuplan.language.model.document import Listed, Name

Release = Literal["0.2", "0.3"]
Mode = Literal["grouped", "individual"]
Accounting = Literal["requests", "podResources", "mapping"]


class Dra(Model):
    """With mechanism dra: the driver in the cluster, and how pods claim CPUs of it."""

    release: Release = Field(
        default="0.2",
        description="release of the driver. 0.2 takes flags; 0.3 reads a configuration file",
    )
    mode: Mode | None = Field(
        default=None,
        description="individual: each CPU is a device; grouped: each NUMA node or socket is one, "
        "with CPUs as its capacity. Default: individual where the isolated pool has partitions, "
        "which grouped devices cannot keep apart; else grouped",
    )
    group_by: Literal["numanode", "socket"] = Field(
        default="numanode",
        description="mode grouped: what is one device. The driver's `machine` is left out: no "
        "scheduler of Kubernetes writes the CPUs that it needs",
    )
    accounting: Accounting = Field(
        default="requests",
        description="how the CPUs of claims are counted. requests: containers request as many "
        "CPUs as they claim; podResources: the pod does (spec.resources); mapping: the driver "
        "tells the scheduler and the kubelet (KEP-5517: Kubernetes 1.37 and driver 0.3)",
    )
    align: Literal["numaNode", "cache"] | None = Field(
        default=None,
        description="all CPUs of a claim are on one NUMA node, or have one last-level cache (mode "
        "individual). Default: no such condition",
    )
    namespaces: dict[Name, Annotated[tuple[Name, ...], Field(min_length=1), Listed]] = Field(
        default={},
        description="by partition of the isolated pool: the namespaces whose pods may claim its "
        "CPUs. Default: all",
        examples=[{"dpdk": ["upf"]}],
    )
