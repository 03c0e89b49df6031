"""Policy options of the CPU and the topology manager: names, maturity, values, contradictions.

From policy_options.go of each manager.

Upstream: kubernetes/kubernetes pkg/kubelet/cm/cpumanager/policy_options.go
  pkg/kubelet/cm/topologymanager/policy_options.go @ 24e2b02af5543d7910c2bb074c7264df5a8f0467
"""

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from types import MappingProxyType
from typing import Any, NamedTuple

from cpuplan.facts.versions import Version, maturity
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.kube_features import Gates
from cpuplan.upstream.kubernetes.strconv import atoi, parse_bool, quote

ALIGN_BY_SOCKET = "align-by-socket"
DISTRIBUTE_ACROSS_CORES = "distribute-cpus-across-cores"
DISTRIBUTE_ACROSS_NUMA = "distribute-cpus-across-numa"
FULL_PCPUS_ONLY = "full-pcpus-only"
PREFER_UNCORE_CACHE = "prefer-align-cpus-by-uncorecache"
STRICT_RESERVATION = "strict-cpu-reservation"
MAX_NUMA_NODES = "max-allowable-numa-nodes"
PREFER_CLOSEST = "prefer-closest-numa-nodes"
NUMA_STRATEGY = "numa-allocation-strategy"
NUMA_WEIGHTS = "numa-score-weights"
#: The values of NUMA_STRATEGY; "" is `none` too.
NUMA_STRATEGIES = ("least-allocated", "most-allocated", "none")
#: The largest weight of a resource in NUMA_WEIGHTS; 0 leaves it out.
_MOST_WEIGHT = 100

#: Without the option, the topology manager refuses larger machines, memory-only nodes counted.
DEFAULT_MAX_NUMA_NODES = 8
#: Pairs that the static policy refuses (policy_static.go, NewStaticPolicy and options).
EXCLUSIVE = (
    (FULL_PCPUS_ONLY, DISTRIBUTE_ACROSS_CORES),
    (DISTRIBUTE_ACROSS_NUMA, DISTRIBUTE_ACROSS_CORES),
    (PREFER_UNCORE_CACHE, DISTRIBUTE_ACROSS_CORES),
    (PREFER_UNCORE_CACHE, DISTRIBUTE_ACROSS_NUMA),
)


class Manager(NamedTuple):
    """A manager's options: for each, the first version of every level of maturity."""

    name: str
    options: Mapping[str, Mapping[str, Version]]

    def level(self, option: str, version: Version) -> str | None:
        """`alpha`, `beta` or `stable`; None where the version does not have the option."""
        return maturity(self.options.get(option, {}), version)

    def gate(self, level: str) -> str:
        """The feature gate without which options of this level are refused."""
        return f"{self.name}ManagerPolicy{level.capitalize()}Options"


CPU_MANAGER = Manager(
    "CPU",
    {
        FULL_PCPUS_ONLY: {"alpha": (1, 22), "beta": (1, 23), "stable": (1, 33)},
        DISTRIBUTE_ACROSS_NUMA: {"alpha": (1, 23), "beta": (1, 33)},
        ALIGN_BY_SOCKET: {"alpha": (1, 25)},
        DISTRIBUTE_ACROSS_CORES: {"alpha": (1, 31)},
        PREFER_UNCORE_CACHE: {"alpha": (1, 31), "beta": (1, 34), "stable": (1, 36)},
        STRICT_RESERVATION: {"alpha": (1, 32), "beta": (1, 33), "stable": (1, 35)},
    },
)
TOPOLOGY_MANAGER = Manager(
    "Topology",
    {
        PREFER_CLOSEST: {"alpha": (1, 26), "beta": (1, 28), "stable": (1, 32)},
        MAX_NUMA_NODES: {"beta": (1, 31), "stable": (1, 35)},
        # KEP-6007, kubernetes#142226: which of equally good NUMA nodes, by how full they are.
        NUMA_STRATEGY: {"alpha": (1, 38)},
        NUMA_WEIGHTS: {"alpha": (1, 38)},
    },
)
#: By the field of KubeletConfiguration that has the options.
MANAGERS = {
    "cpuManagerPolicyOptions": CPU_MANAGER,
    "topologyManagerPolicyOptions": TOPOLOGY_MANAGER,
}


#: The topology manager's policy with which the CPU manager refuses align-by-socket.
NOT_BY_SOCKET = "single-numa-node"


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
    numa_allocation_strategy: str = "none"
    numa_score_weights: Mapping[str, int] = MappingProxyType({})


class Cause(Enum):
    """Why a kubelet does not take an option."""

    UNKNOWN = "unknown in every version"
    TOO_NEW = "unknown in this version"
    GATE = "its gate is off"
    VALUE = "its value cannot be read"


class OptionError(KubeletError):
    """An option with which the kubelet does not start."""

    def __init__(self, option: str, cause: Cause, message: str) -> None:
        super().__init__(message)
        self.option, self.cause = option, cause


def option_errors(
    given: Mapping[str, str], manager: Manager, gates: Gates
) -> Iterator[OptionError]:
    """All that is wrong with single options, by name; the kubelet stops at the first error."""
    for option, value in sorted(given.items()):
        level = manager.level(option, gates.version)
        if level is None:
            cause = Cause.TOO_NEW if option in manager.options else Cause.UNKNOWN
            text = f"unknown {manager.name} Manager Policy option: {quote(option)}"
            yield OptionError(option, cause, text)
        elif level != "stable" and not gates.enabled(manager.gate(level)):
            what = f"{manager.name} Manager Policy {level.capitalize()}-level Options"
            text = f"{what} not enabled, but option {quote(option)} provided"
            yield OptionError(option, Cause.GATE, text)
        if option in manager.options:
            try:
                parse_option(option, value)
            except KubeletError as error:
                yield OptionError(option, Cause.VALUE, str(error))


def parse_option(option: str, value: str) -> bool | int | str | Mapping[str, int]:
    """The value of an option; KubeletError where it has none."""
    if option == MAX_NUMA_NODES:
        return _parse_max(value)
    if option == NUMA_STRATEGY:
        return _parse_strategy(value)
    if option == NUMA_WEIGHTS:
        return _parse_weights(value)
    return _parse_bool_option(option, value)


def _parse_strategy(value: str) -> str:
    if value and value not in NUMA_STRATEGIES:
        known = " ".join(map(quote, NUMA_STRATEGIES))
        bad = f"bad value for option {quote(NUMA_STRATEGY)}"
        raise KubeletError(f"{bad}: {quote(value)} must be one of [{known}]")
    return value or "none"


def _parse_weights(value: str) -> dict[str, int]:
    """`cpu=3,memory=1`; empty parts count as nothing."""
    try:
        pairs = (part.strip() for part in value.split(","))
        weights = dict(_parse_weight(pair) for pair in pairs if pair)
        for name, weight in sorted(weights.items()):
            if not 0 <= weight <= _MOST_WEIGHT:
                least = f"must be in range [0, {_MOST_WEIGHT}], got {weight}"
                raise KubeletError(f"weight for {quote(name)} {least}")
    except KubeletError as error:
        raise KubeletError(f"bad value for option {quote(NUMA_WEIGHTS)}: {error}") from None
    return weights


def _parse_weight(pair: str) -> tuple[str, int]:
    resource, equals, weight = pair.partition("=")
    if not equals:
        raise KubeletError(f"invalid weight entry {quote(pair)}: expected resource=weight")
    name = resource.strip()
    if not name:
        raise KubeletError(f"empty resource name in weight entry {quote(pair)}")
    try:
        return name, atoi(weight.strip())
    except KubeletError as error:
        raise KubeletError(f"invalid weight value for {quote(name)}: {error}") from None


def _parse_bool_option(option: str, value: str) -> bool:
    try:
        return parse_bool(value)
    except KubeletError as error:
        raise KubeletError(f"bad value for option {quote(option)}: {error}") from None


def _parse_max(value: str) -> int:
    name = quote(MAX_NUMA_NODES)
    try:
        number = atoi(value)
    except KubeletError as error:
        raise KubeletError(f"unable to convert policy option to integer {name}: {error}") from None
    if number < DEFAULT_MAX_NUMA_NODES:
        least = f"should not be less than {DEFAULT_MAX_NUMA_NODES}"
        raise KubeletError(f"the minimum value of {name} {least}")
    return number


def switched_on(given: Mapping[str, str]) -> set[str]:
    """The options that are true."""
    return {option for option, value in given.items() if _is_true(value)}


def _is_true(value: str) -> bool:
    try:
        return parse_bool(value)
    except KubeletError:
        return False


def exclusive_pairs(options: Iterable[str]) -> list[tuple[str, str]]:
    """The pairs of options that cannot be true together."""
    chosen = set(options)
    return [pair for pair in EXCLUSIVE if chosen.issuperset(pair)]


def can_align_by_socket(sockets: int, numa_nodes: int) -> bool:
    """Whether the CPU manager takes align-by-socket on such a machine."""
    return sockets <= numa_nodes


def max_numa_nodes(given: Mapping[str, str]) -> int:
    """The largest machine that the topology manager takes; unreadable values do not count."""
    try:
        return _parse_max(given[MAX_NUMA_NODES])
    except (KeyError, KubeletError):
        return DEFAULT_MAX_NUMA_NODES


def static_policy_options(given: Mapping[str, str], gates: Gates) -> StaticPolicyOptions:
    """NewStaticPolicyOptions: KubeletError for the first wrong option by name, then for pairs."""
    options = _parse(given, CPU_MANAGER, gates)
    for first, second in exclusive_pairs(switched_on(given)):
        problem = "can not be used at the same time"
        raise KubeletError(f"static policy options {first} and {second} {problem}")
    return StaticPolicyOptions(**options)


def topology_options(given: Mapping[str, str], gates: Gates) -> TopologyOptions:
    """NewPolicyOptions of the topology manager."""
    return TopologyOptions(**_parse(given, TOPOLOGY_MANAGER, gates))


def _parse(given: Mapping[str, str], manager: Manager, gates: Gates) -> dict[str, Any]:
    """The values by field of the options' class."""
    for error in option_errors(given, manager, gates):
        raise error
    return {option.replace("-", "_"): parse_option(option, given[option]) for option in given}


def with_gates(config: dict[str, Any], version: Version) -> dict[str, Any]:
    """The configuration with the gates that its alpha options need, unless it sets them itself.

    CP505 says that they must be on.
    """
    gates = dict(config.get("featureGates") or {})
    for field, manager in MANAGERS.items():
        levels = [manager.level(option, version) for option in config.get(field) or {}]
        if "alpha" in levels:
            gates.setdefault(manager.gate("alpha"), True)
    return {**config, "featureGates": gates} if gates else config
