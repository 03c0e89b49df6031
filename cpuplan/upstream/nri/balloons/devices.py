"""Devices that balloons are close to or far from: paths of /sys, and names for sets of CPUs."""

from cpuplan.upstream.kubelet.bits import members
from cpuplan.upstream.nri.balloons.balloon import State
from cpuplan.upstream.nri.balloons.config import BalloonType, Config, LoadClass
from cpuplan.upstream.nri.balloons.resizing import TreeAllocator
from cpuplan.upstream.nri.names import CPU_FOLDER, NODE_FOLDER
from cpuplan.upstream.nri.sysfs.files import Files
from cpuplan.upstream.nri.sysfs.system import System

RESERVED_CPUS, ISOLATED_CPUS = "reserved CPUs", "isolated CPUs"
_CORE_TYPES = {"performance": "performance cores", "efficient": "efficient cores"}
_POD_RESOURCES = "podresourceapi:"


def paths_of(files: Files) -> dict[str, int]:
    """The CPUs that paths of /sys are near to: those of caches and NUMA nodes, no other devices."""
    near = {f"{NODE_FOLDER}/node{entry.node}": entry.cpus for entry in files.nodes}
    for cpu, caches in files.caches_by_cpu().items():
        for index, cache in enumerate(caches):
            near[f"{CPU_FOLDER}/cpu{cpu}/cache/index{index}"] = cache.cpus
    return near


def virtual(state: State) -> dict[str, list[int]]:
    """Sets of CPUs that types name as if they were devices."""
    return {
        RESERVED_CPUS: [state.reserved],
        ISOLATED_CPUS: [state.topology.system.isolated],
        _CORE_TYPES["efficient"]: [state.topology.priorities.low],
        _CORE_TYPES["performance"]: [state.topology.priorities.high],
    }


def without_pod_resources(names: list[str]) -> list[str]:
    """Devices of containers are unknown before they come; none are simulated."""
    return [name for name in names if not name.startswith(_POD_RESOURCES)]


def fill_close(types: list[BalloonType]) -> None:
    """Wishes for kinds of CPUs are devices to be close to (fillCloseToDevices)."""
    for known in types:
        if known.isolated:
            known.close_to.append(ISOLATED_CPUS)
        if known.core_type in _CORE_TYPES:
            known.close_to.append(_CORE_TYPES[known.core_type])


def fill_far(config: Config, system: System, loads: dict[str, LoadClass]) -> None:
    """What a type is close to, all others are far from (fillFarFromDevices)."""
    avoided = [ISOLATED_CPUS] if system.isolated else []
    owners: dict[str, set[str]] = {}
    for known in config.types:
        for device in without_pod_resources(known.close_to):
            if device not in owners:
                avoided.append(device)
            owners.setdefault(device, set()).add(known.name)
    for device in avoided:
        for known in config.types:
            if known.name not in owners.get(device, ()):
                known.far_from.append(device)
    for known in config.types:
        known.far_from += [loads[load].device for load in known.loads]


def update_loads(state: State, allocator: TreeAllocator, wanted: BalloonType) -> frozenset[str]:
    """Set the devices of a type's loads to the CPUs that balloons with such loads disturb.

    Components of composites are not seen.
    """
    names: set[str] = set()
    for load in (state.loads[name] for name in wanted.loads):
        if load.device in names:
            continue
        names.add(load.device)
        cpus = 0
        for balloon in state.balloons:
            cpus |= balloon.cpus if load.device in balloon.loads else 0
        allocator.devices[load.device] = [_disturbed(state.topology.system, load.level, cpus)]
    return frozenset(names)


def extend_loads(state: State, allocator: TreeAllocator, wanted: BalloonType, cpus: int) -> None:
    """Add what a balloon's own CPUs disturb to the devices of its loads."""
    for load in (state.loads[name] for name in wanted.loads):
        before = allocator.devices.get(load.device) or [0]
        disturbed = _disturbed(state.topology.system, load.level, cpus)
        allocator.devices[load.device] = [before[0] | disturbed]


def _disturbed(system: System, level: str, cpus: int) -> int:
    if level == "core":
        return system.threads_of(cpus)
    return system.sharing_cache(2, cpus) if members(cpus) else 0
