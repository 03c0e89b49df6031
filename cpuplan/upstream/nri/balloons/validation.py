"""What the policy refuses about a configuration."""

from cpuplan.upstream.kubelet.go.text import quote
from cpuplan.upstream.nri.balloons.config import BalloonType, Config
from cpuplan.upstream.nri.balloons.instances import balloons_error
from cpuplan.upstream.nri.common import cpuclasses, expressions
from cpuplan.upstream.nri.errors import NriError
from cpuplan.upstream.nri.libmem.nodes import type_mask

_CREATIONS = ("", "all", "balance-balloons")


def validate_expressions(config: Config) -> None:
    """What is refused before the policy sees a configuration; NriError with all errors."""
    errors = []
    for expression in [
        *config.preserve,
        *(expression for known in config.types for expression in known.expressions),
    ]:
        try:
            expressions.validate(expression)
        except NriError as error:
            errors.append(str(error))
    if errors:
        raise NriError("\n".join(errors))


def validate(config: Config) -> None:
    """The policy's own checks (validateConfig); NriError for the first that fails."""
    seen: set[str] = set()
    for known in config.types:
        _validate_type(known, seen)
        seen.add(known.name)
    _validate_classes(config)
    cpuclasses.validate(config.cpu_classes)
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
