"""Built-in rules and defaults that an intent switches off or on, each with a reason (pydantic)."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from cpuplan.language.model.base import Model, problem
from cpuplan.language.model.document import Listed, Reason

#: The names of `defaults.SWITCHES`.
DefaultName = Literal[
    "infra-containers",
    "gomaxprocs",
    "handler",
    "latency",
    "tuned",
    "system-services",
    "kubelet-drop-ins",
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


class RuleSwitch(Model):
    """A built-in rule that is disabled or enabled, and the reason for later readers."""

    disable: RuleName | None = Field(default=None, description="the rule to disable")
    enable: RuleName | None = Field(
        default=None, description="the rule to enable, if it is off by default"
    )
    because: Reason = Field(
        description="the reason, for later readers",
        examples=["the vendor's guide pins its own threads"],
    )

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
    because: Reason = Field(
        description="the reason", examples=["devices are given to pods by VFIO"]
    )

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        """Find what contradicts itself."""
        if (self.disable is None) == (self.enable is None):
            raise problem("rule_switch", "one of disable and enable")
        return self


Rules = Annotated[tuple[RuleSwitch, ...], Listed]
Defaults = Annotated[tuple[DefaultSwitch, ...], Listed]
