"""CPU lists as Koordinator reads them (pkg/util/cpuset)."""

from cpuplan.upstream.kubelet.errors import KubeletError
from cpuplan.upstream.kubelet.go.text import parse_int32

#: The last CPU that a range may name. A number alone may be larger: it is left out here, since no
#: machine has it.
_MOST = 4096


def parse_cpus(text: str) -> int:
    """The set as bits; a range that runs backwards is empty. KubeletError with Koordinator's text.

    Unlike the kubelet's, the reader takes no sign: a minus always separates the ends of a range.
    """
    bits = 0
    for item in text.split(",") if text else ():
        ends = item.split("-")
        if len(ends) > 2:
            raise KubeletError(f"invalid format: {item}")
        start = parse_int32(ends[0])
        if len(ends) == 1:
            bits |= 1 << start if start <= _MOST else 0
            continue
        end = parse_int32(ends[1])
        if end > _MOST:
            raise KubeletError(f"end {end} exceed the maximum available CPU count: {_MOST}")
        if start <= end:
            bits |= (1 << end + 1) - (1 << start)
    return bits
