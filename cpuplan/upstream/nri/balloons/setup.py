"""From a configuration to the balloons that exist before any container (setConfig)."""

from copy import deepcopy

from cpuplan.upstream.kubelet.bits import to_text
from cpuplan.upstream.nri.balloons import devices, instances, memory, validation
from cpuplan.upstream.nri.balloons.balloon import State
from cpuplan.upstream.nri.balloons.config import BalloonType, Config
from cpuplan.upstream.nri.balloons.instances import balloons_error
from cpuplan.upstream.nri.balloons.pinning import share_idle, update_pinning
from cpuplan.upstream.nri.common import cpuclasses
from cpuplan.upstream.nri.common.amounts import is_cpuset, listed_cpus, reserved_milli, whole_cpus
from cpuplan.upstream.nri.common.globs import compiled_pattern
from cpuplan.upstream.nri.cpuallocator.priorities import LOW, NONE, NORMAL
from cpuplan.upstream.nri.errors import NriError
from cpuplan.upstream.nri.libmem import nodes as libmem
from cpuplan.upstream.nri.names import DEFAULT, RESERVED, SYSTEM_NAMESPACE


def apply(state: State, written: Config) -> None:
    """Take over a configuration; after NriError the state is of no use until another is applied."""
    config = deepcopy(written)
    state.allowed = _allowed(state, config) & state.topology.system.online
    if config.reserved_namespaces is None:
        config.reserved_namespaces = [SYSTEM_NAMESPACE]
    for pattern in config.interrupts:
        if compiled_pattern(pattern) is None:
            raise balloons_error(
                f'failed to set allowed interrupts: invalid globbing pattern "{pattern}": '
                "syntax error in pattern"
            )
    state.config = config
    _fill_builtin(state, config)
    try:
        validation.validate(config)
    except NriError as error:
        raise balloons_error(f"invalid configuration: {error}") from None
    try:
        cpuclasses.validate_turbo_domain(config.turbo_domain)
    except NriError as error:
        raise balloons_error(f"failed to configure CPU class handler: {error}") from None
    state.loads = {load.name: load for load in config.loads}
    devices.fill_close(config.types)
    devices.fill_far(config, state.topology.system, state.loads)
    state.balloons = []
    state.free = state.allowed
    try:
        libmem.check(state.topology.system)
    except NriError as error:
        raise balloons_error(f"failed to create memory allocator: {error}") from None
    state.memory = memory.Memory(state.topology.system)
    _create_balloons(state, config)
    update_pinning(state, share_idle(state, state.free, 0))


def _create_balloons(state: State, config: Config) -> None:
    """By priority, and of one priority in the order of the list."""
    for priority in range(NONE + 1):
        for known in config.types:
            for _ in range(known.min_balloons if known.priority == priority else 0):
                state.balloons.append(instances.create(state, known))


def _allowed(state: State, config: Config) -> int:
    """The CPUs that the policy may use at all; they need not exist."""
    amount = config.available
    if amount is None:
        return state.topology.system.all_cpus
    if not is_cpuset(amount):
        raise balloons_error(f"can't handle CPU resources given as resource.Quantity ({amount})")
    return _listed_cpus(amount, "available", state.topology.system.all_cpus)


def _listed_cpus(amount: str, kind: str, everything: int) -> int:
    try:
        return listed_cpus(amount, kind, everything)
    except NriError as error:
        raise balloons_error(str(error)) from None


def _fill_builtin(state: State, config: Config) -> None:
    """The types `reserved` and `default`; of the first there is always one balloon."""
    reserved = next((known for known in config.types if known.name == RESERVED), None)
    if reserved is None:
        reserved = BalloonType(RESERVED, min_balloons=1, priority=LOW)
        config.types.insert(0, reserved)
    if not any(known.name == DEFAULT for known in config.types):
        config.types.append(BalloonType(DEFAULT, min_balloons=1, max_balloons=1, priority=LOW))
    amount = config.reserved
    if amount is not None and is_cpuset(amount):
        _reserve_cpus(state, reserved, amount)
    elif amount is not None:
        _reserve_count(reserved, amount)
        state.reserved = 0
    reserved.min_balloons = reserved.max_balloons = 1
    namespaces = config.reserved_namespaces or []
    reserved.namespaces = [*(reserved.namespaces or ()), SYSTEM_NAMESPACE, *namespaces]


def _reserve_cpus(state: State, reserved: BalloonType, amount: str) -> None:
    """Without a maximum the balloon starts empty, and others may take its CPUs."""
    cpus = _listed_cpus(amount, "reserved", state.allowed)
    if outside := cpus & ~state.allowed:
        raise balloons_error(
            f"ReservedResources cpus {to_text(cpus)} contains CPUs not in AllowedResources "
            f"{to_text(state.allowed)}, namely {to_text(outside)}"
        )
    state.reserved = cpus
    if not reserved.min_cpus:
        reserved.min_cpus = min(cpus.bit_count(), reserved.max_cpus)
    reserved.priority = NORMAL
    reserved.close_to.insert(0, devices.RESERVED_CPUS)


def _reserve_count(reserved: BalloonType, amount: str) -> None:
    try:
        milli = reserved_milli(amount)
    except NriError as error:
        raise balloons_error(str(error)) from None
    count = whole_cpus(milli)
    if not reserved.min_cpus:
        reserved.min_cpus = count
        if 0 < reserved.max_cpus < count or reserved.max_cpus < 0:
            raise balloons_error(
                f"mismatching reserved balloon maxCpus: {reserved.max_cpus} and "
                f"ReservedResources cpus: {milli} mCPU (implies minCpu {count})"
            )
    if reserved.min_cpus != count:
        raise balloons_error(
            f"mismatching reserved balloon minCpus: {reserved.min_cpus} and "
            f"ReservedResources cpus: {milli} mCPU"
        )
