"""A planned class as it would be compiled for another mechanism: the layout stays as it is."""

from copy import copy
from typing import TypeVar

from cpuplan import backends
from cpuplan.components import checks
from cpuplan.diagnostics import Diagnostic
from cpuplan.diagnostics.source import Locate
from cpuplan.language.model.base import Model
from cpuplan.plan import ConfiguredPlan, NodeClass, NodePlan
from cpuplan.simulate.mechanisms.promises import BALLOONS, TOPOLOGY_AWARE

#: What only the kubelet's CPU manager reads: options that its policy none refuses, too.
_OF_CPU_MANAGER = ("cpu_manager_policy", "cpu_manager_policy_options")

#: Fields of the target and the spec that are for one mechanism only.
_OF_MECHANISMS = ("koordinator", "dra")
_OF_NRI_POLICIES = ("reserved_namespaces",)

_M = TypeVar("_M", bound=Model)


def under(plan: ConfiguredPlan, mechanism: str) -> ConfiguredPlan:
    """The class with `mechanism` in its target; itself if it has that one.

    What an intent says of the kubelet's CPU manager is for the mechanism that it names: under any
    other the defaults are taken.
    """
    node_class = plan.node_class
    if node_class.target.mechanism == mechanism:
        return plan
    other = _saying(node_class, mechanism)
    return backends.configure(NodePlan(other, plan.pools, plan.sets))


def _saying(node_class: NodeClass, mechanism: str) -> NodeClass:
    """The same nodes with another mechanism in their target."""
    given, spec = node_class.target, node_class.spec
    foreign = tuple(name for name in _OF_MECHANISMS if name != mechanism)
    if mechanism not in (BALLOONS, TOPOLOGY_AWARE):
        foreign += _OF_NRI_POLICIES
    target = _without(given, foreign).model_copy(update={"mechanism": mechanism})
    changed = {
        "targets": tuple(target if one == given else one for one in spec.targets),
        "kubelet": _without(spec.kubelet, _OF_CPU_MANAGER),
    }
    other = copy(node_class.saying(_without(spec, foreign).model_copy(update=changed)))
    other.target = target
    return other


def _without(model: _M, names: tuple[str, ...]) -> _M:
    """A mapping without some of its keys: each has its default again."""
    written = model.model_fields_set - set(names)
    values = {name: getattr(model, name) for name in written}
    return type(model).model_construct(_fields_set=set(written), **values)


def judged(plan: ConfiguredPlan, locate: Locate) -> list[Diagnostic]:
    """What its mechanism cannot keep of the intent, or does not start with, and all else."""
    return [*checks.check(plan, locate), *backends.check(plan, locate)]
