"""What CRI-O makes of a pod before its hooks run: allowed annotations, and which hooks.

From cri-o/cri-o, pkg/config/workloads.go and internal/runtimehandlerhooks.
"""

from collections.abc import Collection, Iterable, Mapping

from cpuplan.upstream.kubelet.pods.qos import GUARANTEED
from cpuplan.upstream.runtime.annotations import (
    C_STATES,
    GOVERNOR,
    IRQ,
    LOAD_BALANCING,
    QUOTA,
    SHARED,
)

#: The annotations of the hooks for high performance.
HOOKS = (LOAD_BALANCING, QUOTA, IRQ, C_STATES, GOVERNOR, SHARED)
_HIGH_PERFORMANCE = "high-performance"
_SKIP_GOMAXPROCS = "skip-gomaxprocs.crio.io"
GOMAXPROCS = "GOMAXPROCS"
_SHARES_OF_CPU = 1024


def allowed(annotations: Mapping[str, str], names: Collection[str]) -> dict[str, str]:
    """The hooks' annotations that a handler with these `allowed_annotations` leaves.

    The filter goes by prefix.
    """
    dropped = tuple(hook for hook in HOOKS if hook not in names)
    return {
        key: value
        for key, value in annotations.items()
        if key.startswith(HOOKS) and not key.startswith(dropped)
    }


def runs_hooks(handler: str, annotations: Mapping[str, str]) -> bool:
    """Whether a pod gets the hooks, by its handler's name or an annotation that is left."""
    return _HIGH_PERFORMANCE in handler or any(key.startswith(HOOKS) for key in annotations)


def gomaxprocs(
    qos: str,
    shares: int,
    quota: int,
    env: Iterable[str],
    annotations: Mapping[str, str],
    floor: int,
) -> int | None:
    """The GOMAXPROCS that `min_injected_gomaxprocs` (`floor`) gives a container, or None."""
    is_set = any(variable.startswith(f"{GOMAXPROCS}=") for variable in env)
    is_skipped = annotations.get(_SKIP_GOMAXPROCS) == "true"
    if not floor or qos == GUARANTEED or quota > 0 or is_set or is_skipped:
        return None
    return max(-(-shares * 2 // _SHARES_OF_CPU), 1, floor)
