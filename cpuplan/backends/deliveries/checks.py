"""What a delivery cannot do for the nodes of a class."""

from collections.abc import Iterator

from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate
from cpuplan.language.model.base import has_key
from cpuplan.plan import NodePlan

#: Read by the first boot of a machine and never again.
_FIRST_BOOT = frozenset({"butane", "cloudInit", "ignition"})
#: Why Flatcar cannot take a delivery (coreos-cloudinit's README; Flatcar's documentation of
#: containers as the way to run what it lacks).
_NOT_ON_FLATCAR = {
    "clusterApi": "its coreos-cloudinit does not run what this template needs",
    "nodeWright": "it has no program that sets boot arguments",
    "ansible": "the image has no Python, which the modules of Ansible need",
    "cloudInit": "its coreos-cloudinit knows neither runcmd nor power_state",
}


def check(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP595 to CP597, at the delivery in the target."""
    node_class = plan.node_class
    target = node_class.target
    for index, name in enumerate(target.delivery):
        place = locate(node_class.place(node_class.target_field(f"delivery.{index}")))
        if name == "clusterApi" and not has_key(target, "hostingNamespace"):
            yield diagnose("CP597", place)
        if target.os_family == "flatcar" and name in _NOT_ON_FLATCAR:
            problem = _NOT_ON_FLATCAR[name]
            yield diagnose("CP595", place, delivery=name, system="Flatcar", problem=problem)
    if _FIRST_BOOT.issuperset(target.delivery):
        place = locate(node_class.place(node_class.target_field("delivery")))
        yield diagnose("CP596", place, deliveries=", ".join(target.delivery))
