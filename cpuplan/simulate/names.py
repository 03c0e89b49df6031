"""How texts name pods and nodes."""

from collections.abc import Sequence

from cpuplan.base import text
from cpuplan.base.name_ranges import fold_names
from cpuplan.upstream.kubernetes.pod import Pod

#: Names in a line before the others are only counted.
_MOST_NAMES = 4


def full_name(pod: Pod) -> str:
    """`namespace/name`; the UID of a pod that only a state file knows."""
    return f"{pod.namespace}/{pod.name}" if pod.namespace else pod.name


def listed(names: Sequence[str]) -> str:
    """`a, b, c, d and 9 more`, in the order of the names; of many names, ranges: `w[0-99]`."""
    if len(names) <= _MOST_NAMES:
        return text.listed(names, _MOST_NAMES)
    return text.listed(fold_names(names), _MOST_NAMES)
