"""What is reserved, what is enforced, and how memory is shared."""

from collections.abc import Iterator

from cpuplan.upstream.kubelet.bits import parse_cpus
from cpuplan.upstream.kubelet.config.rules.base import Given, alternatives
from cpuplan.upstream.kubelet.errors import KubeletError
from cpuplan.upstream.kubelet.go.text import quote
from cpuplan.upstream.kubelet.pods.pod import is_memory

_FLAG = "enforceNodeAllocatable (--enforce-node-allocatable)"
_ENFORCEABLE = (
    "pods",
    "system-reserved",
    "system-reserved-compressible",
    "kube-reserved",
    "kube-reserved-compressible",
)
_ENFORCEABLE_UNTIL_131 = ("pods", "system-reserved", "kube-reserved")
#: Values of memorySwap.swapBehavior.
_SWAP = ("LimitedSwap", "NoSwap")
_SWAP_UNTIL_129 = ("LimitedSwap", "UnlimitedSwap")
_TIERED = "TieredReservation"


def _enforceable(given: Given) -> tuple[str, ...]:
    return _ENFORCEABLE if given.is_since(32) else _ENFORCEABLE_UNTIL_131


def system_cgroups(given: Given) -> Iterator[str]:
    if given.config.get("systemCgroups") and not given.config.get("cgroupRoot"):
        missing = "cgroupRoot (--cgroup-root) was not specified"
        yield f"systemCgroups (--system-cgroups) was specified and {missing}"


def nothing_enforced(given: Given) -> Iterator[str]:
    """Until 1.30 without cgroupsPerQOS the list must be empty, even of "none"."""
    if not given.config["cgroupsPerQOS"] and given.config["enforceNodeAllocatable"]:
        condition = "unless cgroupsPerQOS (--cgroups-per-qos) is set to true"
        yield f"{_FLAG} is not supported {condition}"


def enforced_twice(given: Given) -> Iterator[str]:
    seen = set()
    for value in given.config["enforceNodeAllocatable"]:
        if value in seen:
            yield f"duplicated enforcements {quote(value)} in {_FLAG}"
        seen.add(value)


def compressible(given: Given) -> Iterator[str]:
    enforced = given.config["enforceNodeAllocatable"]
    for whole in ("system-reserved", "kube-reserved"):
        part = f"{whole}-compressible"
        if whole in enforced and part in enforced:
            yield f"both {quote(whole)} and {quote(part)} cannot be specified together in {_FLAG}"


def enforced(given: Given) -> Iterator[str]:
    """Values that are unknown, lack their cgroup, or stand beside "none"."""
    for value in _each_enforcement(given):
        if value == "none":
            if len(given.config["enforceNodeAllocatable"]) > 1:
                yield f'{_FLAG} may not contain additional enforcements when "none" is specified'
        elif value not in _enforceable(given):
            options = (*_enforceable(given), "none")
            listed = alternatives(options, comma=not given.is_since(32))
            yield f"option {quote(value)} specified for {_FLAG}. Valid options are {listed}"
        elif value != "pods":
            yield from _reserved_cgroup(given, value)


def _each_enforcement(given: Given) -> list[str]:
    """Since 1.31 a value that is there twice is looked at once."""
    values = given.config["enforceNodeAllocatable"]
    return list(dict.fromkeys(values)) if given.is_since(31) else list(values)


def _reserved_cgroup(given: Given, value: str) -> Iterator[str]:
    kind = value.removesuffix("-compressible")
    field = f"{kind.split('-')[0]}ReservedCgroup"
    if given.config.get(field):
        return
    condition = f'"{kind}" contained'
    if given.is_since(32):
        condition = f'"{kind}" or "{kind}-compressible" included'
    yield f"{field} (--{kind}-cgroup) must be specified when {condition} in {_FLAG}"


def cgroups_per_qos(given: Given) -> Iterator[str]:
    """Since 1.31 every known value but "none" needs the cgroups of the QoS classes."""
    if given.config["cgroupsPerQOS"]:
        return
    for value in _each_enforcement(given):
        if value in _enforceable(given):
            when = f"when {quote(value)} contained in {_FLAG}"
            yield f"cgroupsPerQOS (--cgroups-per-qos) must be set to true {when}"


def reserved_cpus(given: Given) -> Iterator[str]:
    config, cpus = given.config, given.config.get("reservedSystemCPUs")
    if not cpus:
        return
    if config.get("systemReservedCgroup") or config.get("kubeReservedCgroup"):
        system = "systemReservedCgroup (--system-reserved-cgroup)"
        kube = "kubeReservedCgroup (--kube-reserved-cgroup)"
        yield f"can't use reservedSystemCPUs (--reserved-cpus) with {system} or {kube}"
    try:
        parse_cpus(cpus)
    except KubeletError as error:
        yield f"unable to parse reservedSystemCPUs (--reserved-cpus) {cpus}, error: {error}"


def reserved_memory(given: Given) -> Iterator[str]:
    seen = set()
    for entry in given.config.get("reservedMemory", ()):
        node = entry.get("numaNode", 0)
        for kind, amount in sorted(entry.get("limits", {}).items()):
            where = f"NUMA node {node}"
            if not is_memory(kind):
                accepted = "only [memory hugepages-<HugePageSize>] is accepted"
                yield f"the limit type {quote(kind)} for {where} is not supported, {accepted}"
            place = f"for {where} and resource {quote(kind)}"
            if not amount.nano:
                yield f"reserved memory may not be zero {place}"
            if (node, kind) in seen:
                yield f"the reserved memory has a duplicate value {place}"
            seen.add((node, kind))


def swap(given: Given) -> Iterator[str]:
    if not given.gates.enabled("NodeSwap"):
        if given.config["memorySwap"].get("swapBehavior"):
            condition = "when NodeSwap feature flag is disabled"
            yield f"memorySwap.swapBehavior cannot be set {condition}"
        return
    behaviour = given.config["memorySwap"].get("swapBehavior", "")
    known = _SWAP if given.is_since(30) else _SWAP_UNTIL_129
    if behaviour not in ("", *known):
        listed = alternatives(("", *known), comma=not given.is_since(30))
        yield f"memorySwap.swapBehavior {quote(behaviour)} must be one of: {listed}"


def memory_reservation(given: Given) -> Iterator[str]:
    policy = given.config["memoryReservationPolicy"]
    if policy == _TIERED and not given.gates.enabled("MemoryQoS"):
        need = "requires MemoryQoS feature gate to be enabled"
        yield f"memoryReservationPolicy {quote(policy)} {need}"
    if policy not in ("None", _TIERED):
        listed = alternatives(("None", _TIERED))
        option = f"option {quote(policy)} specified for memoryReservationPolicy"
        yield f"{option}. Valid options are {listed}"
