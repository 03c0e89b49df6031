"""What a class by itself contributes to `out/`: bytes, which can be made anywhere, and kept."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from cpuplan.backends import compiled, deliveries, dra, koordinator, planfile, state, verify
from cpuplan.backends.base import Backend, Facts, Files, Manifest, Object, object_of, to_file
from cpuplan.base.emit import to_json, to_yaml
from cpuplan.components.dra import slices
from cpuplan.components.nri import policies
from cpuplan.components.published import nrt
from cpuplan.language.model import roles
from cpuplan.plan import ConfiguredPlan, NodeClass
from cpuplan.plan.expected import topologies


class Parts(NamedTuple):
    """The objects and files of a class; other classes may have the same objects."""

    objects: tuple[Object, ...]
    #: As `check` compares them, by the file of their manifest; empty of those that it does not.
    compiled: Mapping[str, bytes]
    #: Objects that verify the nodes, where the intent asks for them.
    verifying: tuple[Object, ...]
    #: By path below `out/`.
    files: Files


class Wanted(NamedTuple):
    """A class whose parts are wanted, and facts of it that other classes decide too."""

    plan: ConfiguredPlan
    backend: Backend
    facts: Facts


def of(wanted: Wanted) -> Parts:
    """The parts of a class. They depend on nothing else, but for the program's own files."""
    plan, backend, facts = wanted
    manifests = list(backend.manifests(plan))
    text = state.text(plan, backend, facts)
    cluster, name = plan.node_class.key
    files = {
        planfile.path(plan): planfile.render(plan),
        **_node_files(plan, backend),
        **_expected(plan, backend),
        state.path(cluster, name): text.encode(),
        **_node_labels(plan.node_class),
        **_pods(plan),
    }
    verifying = verify.manifests(plan, text) if plan.spec.verify else ()
    return Parts(
        tuple(map(object_of, manifests)),
        compiled.of_class(plan, manifests),
        tuple(map(object_of, verifying)),
        files,
    )


#: Gives the parts of classes, in their order, however it comes by them.
Every: TypeAlias = Callable[[Sequence[Wanted]], Iterable[Parts]]


def every(wanted: Sequence[Wanted]) -> Iterator[Parts]:
    """The parts of each class, in their order."""
    return map(of, wanted)


def _node_files(plan: ConfiguredPlan, backend: Backend) -> Files:
    """Files of nodes without an operator: once for each class, with a list of the class's nodes."""
    files: Files = {}
    of_node = backend.node_files(plan)
    cluster, name = plan.node_class.key
    place = f"nodes/{cluster}/{name}"
    if not deliveries.WITH_TREE.isdisjoint(plan.node_class.target.delivery):
        files |= {f"{place}/{path}": data for path, data in of_node.items()}
    delivered = backend.delivered(plan)
    files |= delivered
    if of_node or delivered:
        files[f"{place}.json"] = to_json({"nodes": list(plan.node_class.nodes)}).encode()
    return files


def _node_labels(node_class: NodeClass) -> Files:
    """The labels that nodes must carry, by node; people or their tools set them."""
    labels = _labels(node_class)
    if not labels:
        return {}
    path = f"clusters/{node_class.cluster}/node-labels/{node_class.name}.json"
    return {path: to_json(dict.fromkeys(node_class.nodes, labels)).encode()}


def _labels(node_class: NodeClass) -> dict[str, str]:
    """Those of a split pool, of what gives CPUs to pods, and of deliveries."""
    if node_class.mixed_hardware == "split":
        return roles.node_selector(node_class.target)
    labels = {policies.GROUP_LABEL: node_class.name} if node_class.target.has_nri_policy else {}
    return labels | dra.node_labels(node_class) | deliveries.node_labels(node_class)


def _expected(plan: ConfiguredPlan, backend: Backend) -> Files:
    """What other programs will make of the files, for reviews and checkers; never synced."""
    node_class = plan.node_class
    folder = f"clusters/{node_class.cluster}/expected"
    files: Files = {}
    if plan.settings.of(nrt.NAME):
        text = topologies.render(node_class.nodes, nrt.node_resource_topology(plan))
        files[topologies.file_of(*node_class.key)] = text.encode()
    if plan.settings.of(slices.NAME):
        path = f"{folder}/{dra.FOLDER}/{node_class.name}.yaml"
        files[path] = to_file(slices.document(plan))
    for manifest in backend.expected(plan):
        files[f"{folder}/operator/{manifest.file}"] = _with_comment(manifest)
    return files


def _with_comment(manifest: Manifest) -> bytes:
    return to_yaml(manifest.data, manifest.comment).encode()


def _pods(plan: ConfiguredPlan) -> Files:
    """What templates of pods must have for Koordinator."""
    folder = f"clusters/{plan.node_class.cluster}/koordinator"
    return {f"{folder}/{path}": data for path, data in koordinator.pods(plan).items()}
