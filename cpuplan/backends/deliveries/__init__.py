"""The content of nodes in the forms that installers take, each a module; docs/delivery.md."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from cpuplan.backends.base import Manifest, NodeTree
from cpuplan.base.modules import Modules
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate
from cpuplan.language.model.base import has_key
from cpuplan.language.model.intent import Target
from cpuplan.plan import ConfiguredPlan, NodeClass, NodePlan

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
    """CP595 to CP597 and CP5505, at the delivery in the target."""
    node_class = plan.node_class
    target = node_class.target
    for index, name in enumerate(target.delivery):
        place = locate(node_class.place(node_class.target_field(f"delivery.{index}")))
        if problem := node_class.platform.refused_deliveries.get(name):
            title = node_class.platform.title
            yield diagnose("CP5505", place, delivery=name, platform=title, problem=problem)
        elif name == "clusterApi" and not has_key(target, "hostingNamespace"):
            yield diagnose("CP597", place)
        if target.os_family == "flatcar" and name in _NOT_ON_FLATCAR:
            problem = _NOT_ON_FLATCAR[name]
            yield diagnose("CP595", place, delivery=name, system="Flatcar", problem=problem)
    if _FIRST_BOOT.issuperset(target.delivery):
        place = locate(node_class.place(node_class.target_field("delivery")))
        yield diagnose("CP596", place, deliveries=", ".join(target.delivery))


__all__ = ["WITH_TREE", "check", "common_files", "files", "manifests", "node_labels"]


class Objects(Protocol):
    """A module whose delivery is objects of a class."""

    def manifests(self, node_class: NodeClass, tree: NodeTree) -> Iterator[Manifest]:
        """The objects."""


#: By delivery.
_OBJECTS: Mapping[str, Objects] = Modules(
    {
        "clusterApi": "cpuplan.backends.deliveries.cluster_api",
        "nodeWright": "cpuplan.backends.deliveries.node_wright",
    }
)
#: Those that need the plain tree too.
WITH_TREE = frozenset({"tree", "ansible"})


def files(plan: ConfiguredPlan, tree: NodeTree) -> dict[str, bytes]:
    """The files of the deliveries that a class's target names, by path below `out/`."""
    node_class = plan.node_class
    cluster, name = node_class.key
    delivery = node_class.target.delivery
    made = {
        f"nodes/{cluster}/{name}{suffix}": data
        for suffix, data in _beside_tree(node_class.target, tree)
    }
    if "ansible" in delivery:
        from cpuplan.backends.deliveries import ansible

        made[f"{ansible.FOLDER}/{cluster}/{name}.yaml"] = ansible.inventory(node_class, tree)
    return made


def _beside_tree(target: Target, tree: NodeTree) -> Iterator[tuple[str, bytes]]:
    """Files of deliveries that are one file: the end of its name, and its bytes."""
    if "butane" in target.delivery:
        from cpuplan.backends.deliveries import ignition

        yield ".butane.yaml", ignition.butane(tree, target)
    if "cloudInit" in target.delivery:
        from cpuplan.backends.deliveries import cloud_init

        yield ".cloud-init.yaml", cloud_init.render(tree, target)
    if "ignition" in target.delivery:
        from cpuplan.backends.deliveries import ignition

        yield ".ign", ignition.ignition(tree, target)


def manifests(plan: ConfiguredPlan, tree: NodeTree) -> Iterator[Manifest]:
    """The objects of the deliveries that a class's target names."""
    for name in _OBJECTS:
        if name in plan.node_class.target.delivery:
            yield from _OBJECTS[name].manifests(plan.node_class, tree)


def node_labels(node_class: NodeClass) -> dict[str, str]:
    """The labels by which objects of deliveries know the nodes of a class."""
    if "nodeWright" in node_class.target.delivery:
        from cpuplan.backends.deliveries import node_wright

        return node_wright.labels(node_class)
    return {}


def common_files(plans: Iterable[ConfiguredPlan]) -> dict[str, bytes]:
    """The files that are the same for all classes with a delivery, by path below `out/`.

    A paused class keeps its files, so that it needs these as long as it is there.
    """
    classes = [plan.node_class for plan in plans]
    members = [node_class for node_class in classes if "ansible" in node_class.target.delivery]
    if not members:
        return {}
    from cpuplan.backends.deliveries import ansible

    return dict([*ansible.common_files(), *ansible.playbooks(members)])
