"""What was made of units as bytes, to be sent or kept: values only, and classes by their keys.

Whoever reads such bytes makes nothing but these values (`codec`), and refuses what cannot be right:
another severity than the finding's code has, CPUs that the machine does not have, settings of
programs that the class does not have.
"""

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from cpuplan import backends
from cpuplan.backends.parts import Parts
from cpuplan.base.codec import Codec, CodecError, frame, unframe
from cpuplan.base.cpuset import union
from cpuplan.diagnostics import Diagnostic, is_possible
from cpuplan.fleet.before import Key
from cpuplan.pipeline.perclass.unit import Made
from cpuplan.plan import ConfiguredPlan, Limited, NodeClass, NodePlan, Pool
from cpuplan.plan.setting import Setting, Settings

__all__ = ["UnpackError", "frame", "pack", "unframe", "unpack", "unpack_parts"]

#: Bytes that are not what `pack` made.
UnpackError = CodecError


class _Plan(NamedTuple):
    """A plan without its class."""

    cluster: str
    name: str
    pools: tuple[Pool, ...]
    sets: tuple[Pool, ...]
    limited: Limited | None
    settings: tuple[Setting, ...]


class _Made(NamedTuple):
    plans: tuple[_Plan, ...]
    problems: tuple[Diagnostic, ...]
    found: tuple[tuple[Diagnostic, ...], ...]


def pack(value: Made | Parts) -> bytes:
    """The bytes of what was made, without its classes of nodes.

    Raises UnpackError where it has bytes that are no text.
    """
    if isinstance(value, Parts):
        return _parts().encode(value)
    plans = tuple(map(_plain, value.plans))
    return _made().encode(_Made(plans, value.problems, value.found))


def unpack(data: bytes, classes: Mapping[Key, NodeClass]) -> Made:
    """What `pack` was given, for classes that are known here. Raises UnpackError."""
    made = _made().decode(data)
    plans = tuple(_configured(plan, classes) for plan in made.plans)
    return Made(plans, made.problems, made.found)


def unpack_parts(data: bytes) -> Parts:
    """The same of files, which name no classes."""
    return _parts().decode(data)


@cache
def _made() -> Codec[_Made]:
    return Codec(_Made, {Diagnostic: _is_finding, Limited: _is_limited})


@cache
def _parts() -> Codec[Parts]:
    return Codec(Parts)


def _is_finding(diagnostic: Diagnostic) -> bool:
    """Whether a class by itself can have this finding: waivers and days come later."""
    is_open = not (diagnostic.waiver or diagnostic.after)
    return is_open and is_possible(diagnostic)


def _is_limited(limited: Limited) -> bool:
    return limited.seconds > 0 and bool(limited.goals)


def _plain(plan: ConfiguredPlan) -> _Plan:
    cluster, name = plan.node_class.key
    return _Plan(cluster, name, plan.pools, plan.sets, plan.limited, tuple(plan.settings))


def _configured(plan: _Plan, classes: Mapping[Key, NodeClass]) -> ConfiguredPlan:
    node_class = classes.get((plan.cluster, plan.name))
    if node_class is None:
        raise UnpackError(f"no class {plan.cluster}/{plan.name}")
    _check_cpus(plan, node_class)
    known = {component.NAME for component in backends.of(node_class).COMPONENTS}
    others = {setting.component for setting in plan.settings} - known
    if others:
        raise UnpackError(f"settings of {', '.join(sorted(others))}")
    of_class = NodePlan(node_class, plan.pools, plan.sets, plan.limited)
    return ConfiguredPlan(of_class, Settings(plan.settings))


def _check_cpus(plan: _Plan, node_class: NodeClass) -> None:
    """Raise UnpackError for CPUs that the machine does not have, or that two pools have."""
    pools = [pool.cpus for pool in plan.pools]
    used = union([*pools, *(each.cpus for each in plan.sets)])
    machine = union([node_class.topology.online, node_class.topology.offline])
    if used.bits & ~machine.bits:
        raise UnpackError("CPUs that the machine does not have")
    if sum(map(len, pools)) != len(union(pools)):
        raise UnpackError("a CPU in two pools")
