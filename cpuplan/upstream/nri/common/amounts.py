"""Amounts of CPUs: quantities, or lists of CPUs with a prefix."""

from cpuplan.upstream.kubelet import quantity
from cpuplan.upstream.kubelet.bits import parse_cpus
from cpuplan.upstream.kubelet.errors import KubeletError
from cpuplan.upstream.nri.errors import NriError

#: Prefixes of amounts that are lists: of these CPUs, and of all others.
CPUSET, EXCLUDE_CPUSET = "cpuset:", "exclude-cpuset:"


def is_cpuset(amount: str) -> bool:
    return amount.startswith((CPUSET, EXCLUDE_CPUSET))


def listed_cpus(amount: str, kind: str, everything: int) -> int:
    """The CPUs of an amount that is a list, of `everything` where it excludes some.

    NriError names the `kind` of amount.
    """
    text = amount.removeprefix(CPUSET).removeprefix(EXCLUDE_CPUSET)
    try:
        cpus = parse_cpus(text)
    except KubeletError as error:
        raise NriError(
            f"failed to parse {kind} CPU cpuset '{text}': "
            f"failed to parse amount '{text}' as cpuset: {error}"
        ) from None
    return cpus if amount.startswith(CPUSET) else everything & ~cpus


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
