"""Kubernetes with CRI-O or containerd on nodes without an operator: files, and a RuntimeClass.

The files are laid over the root file system by whatever installs the nodes; a target names the
forms that it takes (`deliveries`). They are drop-ins only, so that none edits a file that somebody
else wrote.
"""

from collections.abc import Iterator, Mapping, Sequence

from cpuplan.backends import deliveries, dra, koordinator, state
from cpuplan.backends.base import MAY_BE_MISSING, NODE_WAVE, Facts, Key, Manifest, metadata
from cpuplan.backends.deliveries import boot
from cpuplan.backends.kubernetes import node
from cpuplan.backends.tree import NodeFile, NodeTree
from cpuplan.components import containerd, crio, kernel, kubelet, runtimeclass, slices, units
from cpuplan.components.base import Component, once
from cpuplan.components.checks.koordinator import cluster as koordinator_checks
from cpuplan.components.dra import claims, classes, driver
from cpuplan.components.dra import slices as device_slices
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
from cpuplan.components.koordinator import colocation, scheduler, slo
from cpuplan.components.koordinator import node as koordinator_node
from cpuplan.components.nri import balloons, topologyaware
from cpuplan.components.published import nrt
from cpuplan.diagnostics import Diagnostic
from cpuplan.diagnostics.source import Locate
from cpuplan.plan import ConfiguredPlan
from cpuplan.plan.expected import stamp

#: In the order in which they are printed.
COMPONENTS: tuple[Component, ...] = (
    kubelet,
    kubelet_unit,
    crio,
    containerd,
    balloons,
    topologyaware,
    driver,
    classes,
    claims,
    device_slices,
    koordinator_node,
    scheduler,
    slo,
    colocation,
    runtimeclass,
    kernel,
    sysctl,
    tuned,
    systemd,
    workqueue,
    interrupts,
    irqbalance,
    rps,
    units,
    slices,
    partitions,
    nrt,
)
PATHS: Mapping[str, str] = {
    crio.NAME: node.CRIO_DROP_IN,
    containerd.NAME: containerd.DROP_IN,
}


def check(plan: ConfiguredPlan, locate: Locate) -> Iterator[Diagnostic]:
    """What deliveries cannot do; files can say all that an intent says."""
    return deliveries.check(plan, locate)


def manifests(plan: ConfiguredPlan) -> Iterator[Manifest]:
    """Objects of deliveries, a RuntimeClass for CRI-O's handler, and what gives CPUs to pods
    reads.
    """
    yield from deliveries.manifests(plan, stamped(plan))
    if settings := plan.settings.of(runtimeclass.NAME):
        intent = plan.node_class.intent
        data = runtimeclass.document(settings)
        data["metadata"] = metadata(f"performance-{intent}", NODE_WAVE)
        yield Manifest(f"10-runtimeclass-{intent}.yaml", data)
    for policy in (balloons, topologyaware):
        if settings := plan.settings.of(policy.NAME):
            data = policy.document(settings)
            name = data["metadata"]["name"]
            made = metadata(name, NODE_WAVE, options=MAY_BE_MISSING)
            data["metadata"] = {**data["metadata"], **made}
            yield Manifest(f"20-{policy.KIND.lower()}-{plan.node_class.name}.yaml", data)
    yield from dra.manifests(plan)
    yield from koordinator.manifests(plan)


def node_files(plan: ConfiguredPlan) -> Mapping[str, bytes]:
    """The plain tree: what nodes get, and lines for boot loaders, by path below the root."""
    tree = stamped(plan)
    files = {path.lstrip("/"): file.data for path, file in tree.files.items()}
    return files | boot.files(tree)


def on_node(plan: ConfiguredPlan) -> Mapping[str, NodeFile]:
    """The files of the tree."""
    return node.of(plan).files


@once
def stamped(plan: ConfiguredPlan) -> NodeTree:
    """The tree with the file that says whose it is."""
    text = stamp.render(stamp.of(state.of(plan, on_node)))
    tree = node.of(plan)
    files = {**tree.files, stamp.PATH: NodeFile(text.encode())}
    return tree._replace(files=dict(sorted(files.items())))


def delivered(plan: ConfiguredPlan) -> Mapping[str, bytes]:
    """The files of the deliveries that the target names."""
    return deliveries.files(plan, stamped(plan))


def expected(_plan: ConfiguredPlan) -> Iterator[Manifest]:
    """Nothing: no operator makes objects of the files."""
    return iter(())


def check_cluster(plans: Sequence[ConfiguredPlan], locate: Locate) -> Iterator[Diagnostic]:
    """What intents say about Koordinator, of which a cluster has one; nodes share no files."""
    return koordinator_checks.check(plans, locate)


def expected_of_cluster(_plans: Sequence[ConfiguredPlan]) -> Mapping[str, bytes]:
    """None: nobody merges files of other nodes."""
    return {}


def facts_of_cluster(_plans: Sequence[ConfiguredPlan]) -> Mapping[Key, Facts]:
    """None, for the same reason."""
    return {}
