"""The annotations of CRI-O's hooks for high performance, and their values."""

from collections.abc import Mapping

from cpuplan.upstream.kubelet.errors import KubeletError
from cpuplan.upstream.kubelet.go.text import atoi

SHARED = "cpu-shared.crio.io"
LOAD_BALANCING = "cpu-load-balancing.crio.io"
QUOTA = "cpu-quota.crio.io"
IRQ = "irq-load-balancing.crio.io"
C_STATES = "cpu-c-states.crio.io"
GOVERNOR = "cpu-freq-governor.crio.io"
ENABLE = "enable"
#: What switches a thing off; `true` is the old way to write it.
OFF = ("disable", "true")
#: Interrupts stay on the container's first core.
HOUSEKEEPING = "housekeeping"
_MAX_LATENCY = "max_latency:"


def value_of(annotations: Mapping[str, str], name: str, container: str) -> str:
    """The value for a container: its own annotation, or else the pod's."""
    return annotations.get(f"{name}/{container}", annotations.get(name, ""))


def resume_latency(value: str) -> str:
    """The pm_qos_resume_latency_us for a C-states annotation; KubeletError refuses the start."""
    if value in (ENABLE, "disable"):
        return "0" if value == ENABLE else "n/a"
    if value.startswith(_MAX_LATENCY):
        latency = atoi(value.removeprefix(_MAX_LATENCY))
        if latency > 0:
            return str(latency)
    raise KubeletError(f"invalid annotation value {value}")
