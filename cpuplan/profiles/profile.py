"""A PerformanceProfile that its CRD takes, with the places of its fields."""

from collections.abc import Callable
from typing import NamedTuple

from cpuplan.diagnostics.source import Position
from cpuplan.profiles.model import PerformanceProfileSpec

#: The fields of `cpu`: their names in YAML, and in the model.
CPU_SETS = {
    "reserved": "reserved",
    "isolated": "isolated",
    "offlined": "offlined",
    "shared": "shared",
    "ovsDpdk": "ovs_dpdk",
}


class Profile(NamedTuple):
    """A profile. `at` returns the place of a field, or of its parent if it is missing."""

    name: str
    spec: PerformanceProfileSpec
    at: Callable[..., Position]
