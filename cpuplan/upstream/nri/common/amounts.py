"""Amounts of CPUs that are given as quantities."""

from cpuplan.upstream.kubelet import quantity
from cpuplan.upstream.kubelet.errors import KubeletError
from cpuplan.upstream.nri.errors import NriError


def reserved_milli(amount: str) -> int:
    """Thousandths of a CPU; NriError for a text that is no quantity."""
    try:
        return int(quantity.parse(amount).milli)
    except KubeletError as error:
        raise NriError(
            f"failed to parse reserved CPU quantity '{amount}': "
            f"failed to parse amount '{amount}' as resource quantity: {error}"
        ) from None


def whole_cpus(milli: int) -> int:
    """Thousandths rounded up; Go cuts the division of a negative number towards 0."""
    return int((milli + 999) / 1000)
