"""Kubernetes with CRI-O or containerd on nodes without an operator: files, and a RuntimeClass."""

from collections.abc import Iterator, Mapping, Sequence

from cpuplan.backends import deliveries, state
from cpuplan.backends.base import (
    MAY_BE_MISSING,
    NODE_WAVE,
    Facts,
    Files,
    Key,
    Manifest,
    NodeFile,
    NodeTree,
    metadata,
    to_file,
)
from cpuplan.backends.deliveries import script
from cpuplan.components import containerd, crio, kernel, kubelet, runtimeclass, slices, units
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
from cpuplan.diagnostics import Diagnostic
from cpuplan.diagnostics.source import Locate
from cpuplan.plan import ConfiguredPlan
from cpuplan.plan.expected import folder

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
    flag = plan.node_class.platform.folder_flag
    unit = kubelet_unit.render(settings.of(kubelet_unit.NAME), flag)
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


def check(plan: ConfiguredPlan, locate: Locate) -> Iterator[Diagnostic]:
    """What deliveries cannot do; files can say all that an intent says."""
    return deliveries.check(plan, locate)


def manifests(plan: ConfiguredPlan) -> Iterator[Manifest]:
    """Objects of deliveries, CRI-O's RuntimeClass, and those of what gives CPUs to pods."""
    yield from deliveries.manifests(plan, stamped(plan))
    if settings := plan.settings.of(runtimeclass.NAME):
        intent = plan.node_class.intent
        data = runtimeclass.document(settings)
        data["metadata"] = metadata(f"performance-{intent}", NODE_WAVE)
        yield Manifest(f"10-runtimeclass-{intent}.yaml", data)
    yield from _of_mechanism(plan)


def _of_mechanism(plan: ConfiguredPlan) -> Iterator[Manifest]:
    """Objects of what gives CPUs to pods, if that is not the kubelet."""
    target = plan.node_class.target
    if target.has_nri_policy:
        yield from _nri_policies(plan)
    if target.has_dra:
        from cpuplan.backends import dra

        yield from dra.manifests(plan)
    if target.has_koordinator:
        from cpuplan.backends import koordinator

        yield from koordinator.manifests(plan)


def _nri_policies(plan: ConfiguredPlan) -> Iterator[Manifest]:
    from cpuplan.components.nri import balloons, topologyaware

    for policy in (balloons, topologyaware):
        if settings := plan.settings.of(policy.NAME):
            data = policy.document(settings)
            name = data["metadata"]["name"]
            made = metadata(name, NODE_WAVE, options=MAY_BE_MISSING)
            data["metadata"] = {**data["metadata"], **made}
            yield Manifest(f"20-{policy.KIND.lower()}-{plan.node_class.name}.yaml", data)


def node_files(plan: ConfiguredPlan) -> Mapping[str, bytes]:
    """The plain tree: what nodes get, and lines for boot loaders, by path below the root."""
    tree = stamped(plan)
    files = {path.lstrip("/"): file.data for path, file in tree.files.items()}
    return files | script.boot_files(tree)


def on_node(plan: ConfiguredPlan) -> Mapping[str, NodeFile]:
    """The files of the tree."""
    return of(plan).files


@once
def stamped(plan: ConfiguredPlan) -> NodeTree:
    """The tree with the file that says whose it is."""
    text = folder.render_stamp(folder.stamp_of(state.of(plan, on_node)))
    tree = of(plan)
    files = {**tree.files, folder.STAMP_PATH: NodeFile(text.encode())}
    return tree._replace(files=dict(sorted(files.items())))


def delivered(plan: ConfiguredPlan) -> Mapping[str, bytes]:
    """The files of the deliveries that the target names."""
    return deliveries.files(plan, stamped(plan))


def expected(_plan: ConfiguredPlan) -> Iterator[Manifest]:
    """Nothing: no operator makes objects of the files."""
    return iter(())


def check_cluster(plans: Sequence[ConfiguredPlan], locate: Locate) -> Iterator[Diagnostic]:
    """What intents say about Koordinator, of which a cluster has one; nodes share no files."""
    if any(plan.node_class.target.has_koordinator for plan in plans):
        from cpuplan.components.checks import koordinator

        yield from koordinator.check_cluster(plans, locate)


def expected_of_cluster(_plans: Sequence[ConfiguredPlan]) -> Mapping[Key, Files]:
    """None: nobody merges files of other nodes."""
    return {}


def facts_of_cluster(_plans: Sequence[ConfiguredPlan]) -> Mapping[Key, Facts]:
    """None, for the same reason."""
    return {}
