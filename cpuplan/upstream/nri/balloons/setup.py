"""From a BalloonsPolicy to the balloons that exist before any container, or a refusal.

Upstream: containers/nri-plugins cmd/plugins/balloons/policy/balloons-policy.go
  pkg/apis/config/v1alpha1/balloons-policy.go @ 83d986e963ad28ca31790102af6d509c7b7e7d45
"""

from copy import deepcopy
from typing import Any

from cpuplan.upstream.kubernetes.bits import to_text
from cpuplan.upstream.kubernetes.strconv import quote
from cpuplan.upstream.nri import cpuclass, expressions, libmem
from cpuplan.upstream.nri.api import DEFAULT, RESERVED, SYSTEM_NAMESPACE, NriError
from cpuplan.upstream.nri.balloons import instances
from cpuplan.upstream.nri.balloons.config import EMBEDDED, STRUCTS, BalloonType, Config, read_config
from cpuplan.upstream.nri.balloons.instances import (
    State,
    balloons_error,
    share_idle,
    update_pinning,
)
from cpuplan.upstream.nri.config import (
    Decoder,
    Json,
    is_cpuset,
    listed_cpus,
    reserved_milli,
    whole_cpus,
)
from cpuplan.upstream.nri.cpuallocator import LOW, NONE, NORMAL
from cpuplan.upstream.nri.expressions import compiled_pattern
from cpuplan.upstream.nri.libmem import type_mask

_CREATIONS = ("", "all", "balance-balloons")


def validate_expressions(config: Config) -> None:
    """What is refused before the policy sees a configuration; NriError with all errors."""
    errors = []
    for expression in [
        *config.preserve,
        *(expression for known in config.types for expression in known.expressions),
    ]:
        try:
            expressions.validate_expression(expression)
        except NriError as error:
            errors.append(str(error))
    if errors:
        raise NriError("\n".join(errors))


def validate_config(config: Config) -> None:
    """The policy's own checks (validateConfig); NriError for the first that fails."""
    seen: set[str] = set()
    for known in config.types:
        _validate_type(known, seen)
        seen.add(known.name)
    _validate_classes(config)
    cpuclass.validate_classes(config.cpu_classes)
    composites = {known.name: known for known in config.types if known.components}
    for composite in composites.values():
        _validate_components(composite, seen)
        _check_circles(composite.name, composites, ())


def _validate_type(known: BalloonType, seen: set[str]) -> None:
    """A refusal because of the number of balloons shows numbers of CPUs instead (bug)."""
    name = quote(known.name)
    if not known.name:
        raise balloons_error("missing or empty name in a balloon type")
    if known.name in seen:
        raise balloons_error(f"two balloon types with the same name: {name}")
    sizes = f"({known.min_cpus}) > {{}} ({known.max_cpus}) in balloon type {name}"
    if known.max_cpus and known.min_cpus > known.max_cpus:
        raise balloons_error(f"MinCpus {sizes.format('MaxCpus')}")
    if known.max_balloons and known.min_balloons > known.max_balloons:
        raise balloons_error(f"MinBalloons {sizes.format('MaxBalloons')}")
    try:
        type_mask(known.memory_types)
    except NriError as error:
        raise balloons_error(f"invalid memoryTypes: {error}") from None
    if known.components:
        _validate_composite(known)
    if known.creation and not known.components:
        raise balloons_error(
            f"ComponentCreation mode {quote(known.creation)} specified but no components "
            f"defined in balloon type {name}"
        )
    if known.creation not in _CREATIONS:
        mode = quote(known.creation)
        raise balloons_error(f"unknown ComponentCreation mode {mode} in balloon type {name}")


def _validate_composite(known: BalloonType) -> None:
    if known.cpu_class:
        raise balloons_error(f"composite balloon {quote(known.name)} cannot have CpuClasses")
    options = {
        "PreferSpreadOnPhysicalCores": known.spread is not None,
        "AllocatorTopologyBalancing": known.balancing is not None,
        "PreferCloseToDevices": bool(known.close_to),
        "PreferIsolCpus": known.isolated,
        "PreferCoreType": bool(known.core_type),
    }
    if forbidden := [option for option, given in options.items() if given]:
        raise balloons_error(
            "CPU allocation options not allowed in composite balloons, "
            f"but {quote(known.name)} has: {', '.join(forbidden)}"
        )


def _validate_classes(config: Config) -> None:
    for index, load in enumerate(config.loads):
        if not load.name:
            raise balloons_error(f"missing or empty name in a load classes list, index {index}")
        if not load.level:
            raise balloons_error(f"missing or invalid level in load class {quote(load.name)}")
    defined = {load.name for load in config.loads}
    loads = {load for known in config.types for load in known.loads if load not in defined}
    if loads:
        raise balloons_error(
            f"loads defined in balloonTypes but missing from loadClasses: {_set_text(loads)}"
        )
    scheduling = {known.scheduling_class for known in config.types} - {""}
    if missing := scheduling - set(config.scheduling_classes):
        raise balloons_error(
            "schedulingClass(es) defined in balloonTypes but missing from schedulingClasses: "
            f"{_set_text(missing)}"
        )


def _set_text(names: set[str]) -> str:
    """A Go map with empty values."""
    return f"map[{' '.join(f'{name}:{{}}' for name in sorted(names))}]"


def _validate_components(composite: BalloonType, names: set[str]) -> None:
    for index, component in enumerate(composite.components, 1):
        if not component:
            raise balloons_error(
                "missing or empty component balloonType name in composite balloon "
                f"{quote(composite.name)} component {index}"
            )
        if component not in names:
            raise balloons_error(
                f"balloon type {quote(component)} in composite balloon {quote(composite.name)} "
                "is not defined in balloonTypes"
            )


def _check_circles(name: str, composites: dict[str, BalloonType], above: tuple[str, ...]) -> None:
    """Which type of a circle is named is chance in the program; here it is the first."""
    if name in above:
        raise balloons_error(f"circular composition detected in composite balloon {quote(name)}")
    for component in composites[name].components if name in composites else ():
        _check_circles(component, composites, (*above, name))


_DECODER = Decoder("BalloonsPolicy", STRUCTS, EMBEDDED)


def decode(text: str) -> Config:
    """The configuration of a file; NriError with the program's text."""
    return _validated(_DECODER.text(text))


def decode_object(data: Any) -> Config:
    """The configuration of an object; NriError with the program's text."""
    return _validated(_DECODER.object(data))


def _validated(spec: Json) -> Config:
    config = read_config(spec)
    try:
        validate_expressions(config)
    except NriError as error:
        raise NriError(f"validate: {error}") from None
    return config


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
        validate_config(config)
    except NriError as error:
        raise balloons_error(f"invalid configuration: {error}") from None
    try:
        cpuclass.validate_turbo_domain(config.turbo_domain)
    except NriError as error:
        raise balloons_error(f"failed to configure CPU class handler: {error}") from None
    state.loads = {load.name: load for load in config.loads}
    instances.fill_close(config.types)
    instances.fill_far(config, state.topology.system, state.loads)
    state.balloons = []
    state.free = state.allowed
    try:
        libmem.check(state.topology.system)
    except NriError as error:
        raise balloons_error(f"failed to create memory allocator: {error}") from None
    state.memory = libmem.Allocator(state.topology.system)
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
    reserved.close_to.insert(0, instances.RESERVED_CPUS)


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
