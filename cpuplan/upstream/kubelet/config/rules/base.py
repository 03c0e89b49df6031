"""What every rule of a KubeletConfiguration is given, and words that several rules share."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from cpuplan.upstream.kubelet.go.text import quote
from cpuplan.upstream.kubelet.releases.features import Gates


class Given(NamedTuple):
    """An effective configuration, the kubelet's gates, and the host's cgroup version."""

    config: dict[str, Any]
    gates: Gates
    cgroup_v1: bool = False

    def is_since(self, minor: int) -> bool:
        """Whether the kubelet is of version 1.`minor` or later."""
        return self.gates.version >= (1, minor)


#: Yields the kubelet's texts, without "invalid configuration: ".
Check = Callable[[Given], Iterator[str]]


def alternatives(words: Sequence[str], *, comma: bool = False) -> str:
    """`"a", "b" or "c"`; with `comma` one stands before the last word too."""
    quoted = [quote(word) for word in words]
    return f"{', '.join(quoted[:-1])}{',' if comma else ''} or {quoted[-1]}"
