"""Policy options of the CPU and the topology manager (policy_options.go of each): names, maturity,
values.
"""

from collections.abc import Mapping
from typing import NamedTuple

from cpuplan import versions
from cpuplan.kubelet.errors import KubeletError
from cpuplan.kubelet.go.text import atoi, parse_bool, quote
from cpuplan.kubelet.releases.features import Gates

#: Pairs that the static policy refuses (pkg/kubelet/cm/cpumanager/policy_static.go, NewStaticPolicy
#: and options).
EXCLUSIVE = (
    ("full-pcpus-only", "distribute-cpus-across-cores"),
    ("distribute-cpus-across-numa", "distribute-cpus-across-cores"),
    ("prefer-align-cpus-by-uncorecache", "distribute-cpus-across-cores"),
    ("prefer-align-cpus-by-uncorecache", "distribute-cpus-across-numa"),
)
MAX_NUMA_NODES = "max-allowable-numa-nodes"
CLOSEST = "prefer-closest-numa-nodes"
#: Without the option, the topology manager refuses larger machines, memory-only nodes counted.
DEFAULT_MAX_NUMA_NODES = 8


class StaticPolicyOptions(NamedTuple):
    """cpuManagerPolicyOptions of the static policy, in the order of their names."""

    align_by_socket: bool = False
    distribute_cpus_across_cores: bool = False
    distribute_cpus_across_numa: bool = False
    full_pcpus_only: bool = False
    prefer_align_cpus_by_uncorecache: bool = False
    strict_cpu_reservation: bool = False


class TopologyOptions(NamedTuple):
    """topologyManagerPolicyOptions."""

    max_allowable_numa_nodes: int = DEFAULT_MAX_NUMA_NODES
    prefer_closest_numa_nodes: bool = False


def static_policy_options(given: Mapping[str, str], gates: Gates) -> StaticPolicyOptions:
    """NewStaticPolicyOptions: KubeletError for the first option, by name, that is not right, and
    for pairs.
    """
    parsed = {}
    for name, value in sorted(given.items()):
        _check_available(name, "CPU", versions.CPU_OPTIONS, gates)
        parsed[name] = _parse_bool_option(name, value)
    for first, second in EXCLUSIVE:
        if parsed.get(first) and parsed.get(second):
            raise KubeletError(
                f"static policy options {first} and {second} can not be used at the same time"
            )
    return StaticPolicyOptions(**{name.replace("-", "_"): value for name, value in parsed.items()})


def topology_options(given: Mapping[str, str], gates: Gates) -> TopologyOptions:
    """NewPolicyOptions of the topology manager."""
    options = TopologyOptions()
    for name, value in sorted(given.items()):
        _check_available(name, "Topology", versions.TOPOLOGY_OPTIONS, gates)
        if name == CLOSEST:
            options = options._replace(prefer_closest_numa_nodes=_parse_bool_option(name, value))
        else:
            options = options._replace(max_allowable_numa_nodes=_parse_max(name, value))
    return options


def _check_available(
    name: str, manager: str, table: Mapping[str, Mapping[str, versions.Version]], gates: Gates
) -> None:
    level = versions.maturity(dict(table.get(name, {})), gates.version)
    if level is None:
        raise KubeletError(f"unknown {manager} Manager Policy option: {quote(name)}")
    words = {"alpha": "Alpha", "beta": "Beta"}
    if level in words and not gates.enabled(f"{manager}ManagerPolicy{words[level]}Options"):
        what = f"{manager} Manager Policy {words[level]}-level Options"
        raise KubeletError(f"{what} not enabled, but option {quote(name)} provided")


def _parse_bool_option(name: str, value: str) -> bool:
    try:
        return parse_bool(value)
    except KubeletError as error:
        raise KubeletError(f"bad value for option {quote(name)}: {error}") from None


def _parse_max(name: str, value: str) -> int:
    try:
        number = atoi(value)
    except KubeletError as error:
        raise KubeletError(
            f"unable to convert policy option to integer {quote(name)}: {error}"
        ) from None
    if number < DEFAULT_MAX_NUMA_NODES:
        least = f"should not be less than {DEFAULT_MAX_NUMA_NODES}"
        raise KubeletError(f"the minimum value of {quote(MAX_NUMA_NODES)} {least}")
    return number
