"""Which profile a node gets: the recommendations of all Tuned objects, by priority.

Upstream: openshift/cluster-node-tuning-operator pkg/operator/profilecalculator.go
  @ d2394aa81ffe6a5411a674128995979956f40193
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

#: What the operator recommends itself, by a match of all nodes, and of those of control planes.
DEFAULT_PROFILE, CONTROL_PLANE_PROFILE = "openshift-node", "openshift-control-plane"
DEFAULT_OBJECT = "default"
_PRIORITY_OF_CONTROL_PLANES, _PRIORITY_OF_ALL = 30, 40
#: Levels of matches within matches; deeper ones match nothing here.
_MOST_LEVELS = 32


def performance_profile(name: str) -> str:
    """The profile of a PerformanceProfile (pkg/performanceprofile/.../components/consts.go)."""
    return f"openshift-node-performance-{name}"


class Match(NamedTuple):
    """A label of a node or pod, and matches that must hold too, of which one is enough."""

    label: str | None = None
    value: str | None = None
    is_pod: bool = False
    match: tuple["Match", ...] = ()


class Recommendation(NamedTuple):
    """One of a Tuned object, which has the `number` among those of `tuned`."""

    tuned: str
    number: int
    profile: str
    priority: int
    match: tuple[Match, ...] | None = None
    machine_config_labels: Mapping[str, str] | None = None


def defaults() -> tuple[Recommendation, ...]:
    """What the operator's own object recommends."""
    roles = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/infra")
    return (
        Recommendation(
            DEFAULT_OBJECT,
            0,
            CONTROL_PLANE_PROFILE,
            _PRIORITY_OF_CONTROL_PLANES,
            tuple(map(Match, roles)),
        ),
        Recommendation(DEFAULT_OBJECT, 1, DEFAULT_PROFILE, _PRIORITY_OF_ALL),
    )


def in_order(recommendations: Iterable[Recommendation]) -> list[Recommendation]:
    """The lowest number first; of equal ones by the names of objects, then as they stand there."""
    return sorted(recommendations, key=lambda given: (given.priority, given.tuned, given.number))


def profile_matches(match: Sequence[Match], labels: Mapping[str, str], level: int = 0) -> bool:
    """Whether a node with these labels is meant; without any match, every node is.

    Which pods run on a node is not known: a match of pods is none.
    """
    if not match:
        return True
    return level < _MOST_LEVELS and any(
        _label_matches(given, labels) and profile_matches(given.match, labels, level + 1)
        for given in match
    )


def _label_matches(match: Match, labels: Mapping[str, str]) -> bool:
    if match.is_pod:
        return match.label is None
    if match.label is None:
        return True
    return match.label in labels and match.value in (None, labels[match.label])


def uses_pods(match: Sequence[Match]) -> bool:
    """Whether pods decide about a match."""
    return any(given.is_pod or uses_pods(given.match) for given in match)


#: Whether the MachineConfigs with labels are for one of a node's pools.
SelectsLabels = Callable[[Mapping[str, str]], bool]


def is_for(given: Recommendation, labels: Mapping[str, str], selects_labels: SelectsLabels) -> bool:
    """Whether a node with these labels, in pools that select labels, gets a recommendation."""
    if not is_by_labels(given, labels):
        return True
    wanted = given.machine_config_labels
    return bool(wanted) and selects_labels(wanted or {})


def is_by_labels(given: Recommendation, labels: Mapping[str, str]) -> bool:
    """Whether it was found by MachineConfig labels: for others no boot arguments are written."""
    has_match = given.match is not None or given.machine_config_labels is None
    return not (has_match and profile_matches(given.match or (), labels))
