"""Which CPUs the policy may use, and which are reserved (checkConstraints)."""

from cpuplan.upstream.kubelet.bits import to_text
from cpuplan.upstream.nri.common.amounts import is_cpuset, listed_cpus, reserved_milli, whole_cpus
from cpuplan.upstream.nri.common.decoding import Json
from cpuplan.upstream.nri.cpuallocator.allocator import allocate
from cpuplan.upstream.nri.cpuallocator.priorities import NORMAL
from cpuplan.upstream.nri.cpuallocator.request import Topology
from cpuplan.upstream.nri.errors import NriError
from cpuplan.upstream.nri.topologyaware.config import Config
from cpuplan.upstream.nri.topologyaware.pools import Cpus
from cpuplan.upstream.nri.topologyaware.taking import policy_error


def constraints(topology: Topology, config: Config) -> Cpus:
    """NriError where the policy does not start."""
    allowed = _allowed(topology, config.available) & topology.system.online
    isolated = topology.system.isolated & allowed
    reserved = _reserved(topology, config.reserved, allowed, isolated)
    if not reserved:
        raise policy_error("cannot start without CPU reservation")
    return Cpus(allowed, isolated, reserved)


def _allowed(topology: Topology, available: Json) -> int:
    everything = topology.system.all_cpus
    if "cpu" not in available:
        return everything
    amount = available["cpu"]
    if not is_cpuset(amount):
        raise NriError(f"can't handle CPU resources given as resource.Quantity ({amount})")
    return listed_cpus(amount, "available", everything)


def _reserved(topology: Topology, reserved: Json, allowed: int, isolated: int) -> int:
    if "cpu" not in reserved:
        raise policy_error("cannot start without CPU reservation")
    amount = reserved["cpu"]
    if not is_cpuset(amount):
        return _counted(topology, amount, allowed & ~isolated)
    cpus = listed_cpus(amount, "reserved", allowed)
    if outside := cpus & ~allowed:
        raise policy_error(
            f"invalid reserved cpuset {to_text(cpus)}, some CPUs ({to_text(outside)}) are not "
            f"part of the online allowed cpuset ({to_text(allowed)})"
        )
    _check_isolated(cpus, cpus & isolated)
    return cpus


def _check_isolated(cpus: int, isolated: int) -> None:
    """An isolated CPU may be reserved only if it is the only one."""
    if isolated and cpus != isolated:
        raise policy_error(
            f"invalid reserved cpuset {to_text(cpus)}, mixes isolated ({to_text(isolated)}) and "
            f"normal ({to_text(cpus & ~isolated)})"
        )
    if isolated.bit_count() > 1:
        raise policy_error(
            f"invalid reserved cpuset {to_text(cpus)}, multiple isolated CPUs ({to_text(isolated)})"
        )


def _counted(topology: Topology, amount: str, free: int) -> int:
    milli = reserved_milli(amount)
    try:
        return allocate(topology, free, whole_cpus(milli), NORMAL)[0]
    except NriError as error:
        raise policy_error(
            f"cannot reserve {milli}m CPUs for ReservedResources from AvailableResources: {error}"
        ) from None
