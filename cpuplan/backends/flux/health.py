"""Health checks in CEL: what the status of each kind says about its nodes (Flux 2.5 and newer).

They answer as those in Lua for Argo CD do. An expression about a field that an object does not have
fails, and Flux waits then: so optional fields are asked for first.
"""

from collections.abc import Collection

_SEEN = "has(status.observedGeneration) && status.observedGeneration == metadata.generation"
#: Releases that do not write observedGeneration leave only conditions.
_SEEN_IF_TOLD = f"(!has(status.observedGeneration) || {_SEEN})"
_PAUSED = "(has(spec.paused) && spec.paused)"
_LAST = "status.conditions[size(status.conditions) - 1].type"
_OF_NODE = "status.nodes[n].generation == metadata.generation && status.nodes[n].status"


def _all(*parts: str) -> str:
    return " && ".join(parts)


def _true(*names: str) -> str:
    """Whether one of these conditions is true."""
    listed = ", ".join(f"'{name}'" for name in names)
    found = f"status.conditions.exists(c, c.type in [{listed}] && c.status == 'True')"
    return f"(has(status.conditions) && {found})"


def _last(name: str) -> str:
    """Whether the last condition is this one."""
    is_there = "has(status.conditions) && size(status.conditions) > 0"
    return _all(is_there, f"{_LAST} == '{name}'", _SEEN_IF_TOLD)


def _same_configuration() -> str:
    """Whether the nodes of a pool have what it wants."""
    named = (
        f"has({of}.configuration) && has({of}.configuration.name)" for of in ("spec", "status")
    )
    return _all(*named, "spec.configuration.name == status.configuration.name")


def _nodes(status: str, how: str) -> str:
    """Whether some or all nodes took this generation with this status."""
    there = "has(status.nodes) && size(status.nodes) > 0"
    return _all(there, f"status.nodes.{how}(n, {_OF_NODE} == '{status}')")


def _complete() -> str:
    """Whether a Skyhook is done: of the first generation, its operator notes none."""
    seen = f"(metadata.generation == 1 || {_SEEN})"
    done = _all("status.status == 'complete'", seen)
    return f"has(status.status) && (status.status in ['paused', 'disabled'] || {done})"


_DEGRADED = _all(f"!{_PAUSED}", _true("Degraded", "NodeDegraded", "RenderDegraded"))
_UPDATED = _all(_SEEN, _same_configuration(), _true("Updated"))
_MACHINE_CONFIG = "machineconfiguration.openshift.io/v1"
#: By API version and kind: when an object has failed, and when it is as Git wants it.
_CHECKS: dict[tuple[str, str], tuple[str, str]] = {
    ("config.nri/v1alpha1", "BalloonsPolicy"): (
        _nodes("Failure", "exists"),
        _nodes("Success", "all"),
    ),
    ("config.nri/v1alpha1", "TopologyAwarePolicy"): (
        _nodes("Failure", "exists"),
        _nodes("Success", "all"),
    ),
    (_MACHINE_CONFIG, "KubeletConfig"): (_last("Failure"), _last("Success")),
    (_MACHINE_CONFIG, "MachineConfigPool"): (_DEGRADED, f"{_PAUSED} || ({_UPDATED})"),
    ("performance.openshift.io/v2", "PerformanceProfile"): (
        _true("Degraded"),
        _all(_true("Available"), f"!{_true('Progressing')}"),
    ),
    ("skyhook.nvidia.com/v1alpha1", "Skyhook"): (
        "has(status.status) && status.status == 'erroring'",
        _complete(),
    ),
}


def expressions(kinds: Collection[tuple[str, str]]) -> list[dict[str, str]]:
    """The checks of these kinds, by API version and kind."""
    return [
        {"apiVersion": api, "kind": kind, "failed": failed, "current": current}
        for (api, kind), (failed, current) in _CHECKS.items()
        if (api, kind) in kinds
    ]
