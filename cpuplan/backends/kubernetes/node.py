"""From settings to what a node without an operator gets."""

from collections.abc import Iterator, Mapping

from cpuplan.backends.base import to_file
from cpuplan.backends.tree import NodeFile, NodeTree
from cpuplan.components import containerd, crio, kernel, kubelet, slices, units
from cpuplan.components.base import once
from cpuplan.components.host import (
    interrupts,
    irqbalance,
    kubelet_unit,
    partitions,
    rps,
    sysctl,
    systemd,
    tuned,
    workqueue,
)
from cpuplan.plan import ConfiguredPlan

#: The name sorts after the vendor's, since handlers replace each other whole.
CRIO_DROP_IN = "/etc/crio/crio.conf.d/99-zz-cpuplan.conf"
#: Where Flatcar has programs that are not in its image, which is /usr.
_FLATCAR_BIN = "/opt/bin"


@once
def of(plan: ConfiguredPlan) -> NodeTree:
    """The content of the nodes of a plan, from its settings."""
    settings = plan.settings
    configuration = kubelet.configuration(settings.of(kubelet.NAME))
    files = {
        path: NodeFile(text.encode(), component=component)
        for component, texts in _texts(plan)
        for path, text in texts.items()
        if text
    }
    files[kubelet.drop_in(plan.node_class.target)] = NodeFile(
        to_file(configuration), component=kubelet.NAME
    )
    tree = NodeTree(
        files=dict(sorted(files.items())),
        arguments=tuple(kernel.arguments(settings.of(kernel.NAME))),
        enabled=(),
        kubelet=configuration,
        has_grub_folder=plan.node_class.target.os_family in (None, "debian"),
    )
    is_read_only = plan.node_class.target.os_family == "flatcar"
    return tree.moved(units.BIN, _FLATCAR_BIN) if is_read_only else tree


#: Components that give all their files by absolute path.
_BY_PATH = (sysctl, tuned, systemd, workqueue, interrupts, irqbalance, units, slices, partitions)


def _texts(plan: ConfiguredPlan) -> Iterator[tuple[str, dict[str, str]]]:
    """The texts of each component by absolute path; empty where it has no settings."""
    settings = plan.settings
    steering = settings.of(rps.NAME)
    unit = kubelet_unit.render(settings.of(kubelet_unit.NAME))
    yield crio.NAME, {CRIO_DROP_IN: settings.text(crio.NAME, crio.render)}
    yield containerd.NAME, {containerd.DROP_IN: containerd.render(settings.of(containerd.NAME))}
    yield kubelet_unit.NAME, {kubelet_unit.path(plan.node_class.target): unit}
    yield rps.NAME, {path: text for path, (_mode, text) in rps.files(steering).items()}
    for component in _BY_PATH:
        yield component.NAME, component.files(settings.of(component.NAME))
    yield units.NAME, _at_home(units.units(settings.of(units.NAME)))
    yield rps.NAME, _at_home(rps.units(steering, shell=units.SHELL))


def _at_home(texts: Mapping[str, str]) -> dict[str, str]:
    """Units by absolute path."""
    return {f"{units.UNIT_FOLDER}/{name}": text for name, text in texts.items()}
