"""What a class by itself contributes to `out/`, and its objects as `check` compares them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple, TypeAlias

from cpuplan.backends import deliveries, state
from cpuplan.backends.base import (
    DRA_POLICY,
    Backend,
    Facts,
    Files,
    Manifest,
    Object,
    object_of,
    to_file,
)
from cpuplan.backends.delivery import path_of
from cpuplan.base.emit import to_json, to_yaml
from cpuplan.components import mixedcpus, nrt
from cpuplan.components.chosen import asked_or
from cpuplan.diagnostics import Reason
from cpuplan.facts.settings import kubelet, objects, openshift, tuned
from cpuplan.facts.settings.crio import MIXED_CPUS
from cpuplan.fleet import class_names
from cpuplan.fleet.previous import CLASSES
from cpuplan.language.model import vocabulary
from cpuplan.plan import ConfiguredPlan, NodeClass
from cpuplan.plan.expected import folder as topologies
from cpuplan.plan.expected.folder import OBJECTS_FOLDER, Compiled, object_file, render_compiled

#: The kinds that are compared, and the components whose settings say why there is an object.
_COMPONENTS: dict[str, tuple[str, ...]] = {
    "RuntimeClass": (objects.RUNTIME_CLASS,),
    "MachineConfigPool": (openshift.POOL,),
    "KubeletConfig": (kubelet.NAME,),
    "PerformanceProfile": (openshift.PROFILE,),
    "Tuned": (tuned.NAME,),
    "BalloonsPolicy": (objects.BALLOONS,),
    "TopologyAwarePolicy": (objects.TOPOLOGY_AWARE,),
    "DeviceClass": (objects.DEVICE_CLASSES,),
    "ClusterColocationProfile": (objects.COLOCATION,),
    "ConfigMap": (objects.SLO_CONTROLLER, objects.KOORD_SCHEDULER),
}
#: For pods with shared CPUs, and policies for claims and for the tokens of agents.
_OF_SHARED_CPUS = (
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
    "Namespace",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
)
#: All others are compared otherwise, or not: what becomes of a MachineConfig is in the rendered
#: one, which belongs to a class; Nodes with Koordinator have a check of their own.
COMPARED = frozenset({*_COMPONENTS, *_OF_SHARED_CPUS})
#: What the node tuning operator makes of a profile and is the same for all releases.
_PREDICTED = ("RuntimeClass", "KubeletConfig")


def of_class(plan: ConfiguredPlan, manifests: Iterable[Manifest]) -> dict[str, bytes]:
    """The objects of a class, and what operators make of them, by the file of their manifest.

    Empty are those that are not compared.
    """
    made: dict[str, bytes] = {}
    for manifest in (*manifests, *_predicted(plan)):
        if manifest.file not in made:
            made[manifest.file] = _rendered(manifest, [plan])
    return made


def files(
    cluster: str,
    of_classes: Iterable[Mapping[str, bytes]],
    shared: Iterable[Manifest],
    members: Sequence[ConfiguredPlan],
) -> Files:
    """The files of a cluster, by path below `out/`: objects of classes, and `shared` ones.

    Of classes with the same object the first gives the reasons. `members` are the plans that the
    shared ones are for.
    """
    made: dict[str, bytes] = {}
    for name, data in chain.from_iterable(compiled.items() for compiled in of_classes):
        made.setdefault(name, data)
    made |= {manifest.file: _rendered(manifest, members) for manifest in shared}
    return {expected_path(cluster, name): data for name, data in made.items() if data}


def expected_path(cluster: str, name: str) -> str:
    """The path below `out/` of the object whose manifest has this name."""
    return f"clusters/{cluster}/{OBJECTS_FOLDER}/{object_file(name)}"


def _predicted(plan: ConfiguredPlan) -> Iterator[Manifest]:
    """What the node tuning operator makes of a profile."""
    if not plan.node_class.target.is_profile:
        return
    from cpuplan.backends.openshift import objects as of_operator

    for manifest in of_operator.predicted_manifests(plan):
        if manifest.data["kind"] in _PREDICTED:
            yield manifest


def _rendered(manifest: Manifest, plans: Sequence[ConfiguredPlan]) -> bytes:
    """The file of an object; empty of one that is not compared."""
    if manifest.data["kind"] not in COMPARED:
        return b""
    because = _because(manifest, plans)
    return render_compiled(Compiled(manifest.data, because, manifest.is_for_host)).encode()


def _because(manifest: Manifest, plans: Sequence[ConfiguredPlan]) -> tuple[Reason, ...]:
    """The reasons of the setting that the object has, by its name or the first, in any plan."""
    kind, name = manifest.data["kind"], manifest.data["metadata"]["name"]
    if name.startswith(class_names.AGENT):
        return ()
    is_of_claims = name.startswith(DRA_POLICY)
    components = (objects.DEVICE_CLASSES,) if is_of_claims else _COMPONENTS.get(kind, ())
    for plan in plans:
        if kind in _OF_SHARED_CPUS and not is_of_claims and mixedcpus.are_used(plan):
            return (asked_or(plan, MIXED_CPUS),)
        settings = [setting for component in components for setting in plan.settings.of(component)]
        named = [setting for setting in settings if setting.key == name]
        for setting in named or settings:
            return setting.reasons
    return ()


class Parts(NamedTuple):
    """The objects and files of a class; other classes may have the same objects."""

    objects: tuple[Object, ...]
    #: As `check` compares them, by the file of their manifest; empty of those that it does not.
    compiled: Mapping[str, bytes]
    #: Objects that verify the nodes, where the intent asks for them.
    verifying: tuple[Object, ...]
    #: By path below `out/`.
    files: Files

    def paths(self, cluster: str) -> Iterator[str]:
        """The paths of all files that are made of the parts, but for the class's own record."""
        yield from (path for path in self.files if not path.startswith(f"{CLASSES}/"))
        yield from (path_of(cluster, manifest) for manifest in (*self.objects, *self.verifying))
        yield from (expected_path(cluster, name) for name, data in self.compiled.items() if data)


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
        state.plan_path(plan): state.render_plan(plan),
        **_node_files(plan, backend),
        **_expected(plan, backend),
        state.path(cluster, name): text.encode(),
        **_node_labels(plan.node_class),
        **_pods(plan),
    }
    verifying: Iterable[Manifest] = ()
    if plan.spec.verify:
        from cpuplan.backends import verify

        verifying = verify.manifests(plan, text)
    return Parts(
        tuple(map(object_of, manifests)),
        of_class(plan, manifests),
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
        return vocabulary.node_selector(node_class.target)
    labels: dict[str, str] = {}
    if node_class.target.has_nri_policy:
        from cpuplan.components.nri.policies import GROUP_LABEL

        labels[GROUP_LABEL] = node_class.name
    if node_class.target.has_dra:
        from cpuplan.backends import dra

        labels |= dra.node_labels(node_class)
    return labels | deliveries.node_labels(node_class)


def _expected(plan: ConfiguredPlan, backend: Backend) -> Files:
    """What other programs will make of the files, for reviews and checkers; never synced."""
    node_class = plan.node_class
    folder = f"clusters/{node_class.cluster}/expected"
    files: Files = {}
    if plan.settings.of(nrt.NAME):
        text = topologies.render_topology(node_class.nodes, nrt.node_resource_topology(plan))
        files[topologies.topology_file(*node_class.key)] = text.encode()
    if plan.settings.of(objects.RESOURCE_SLICES):
        from cpuplan.backends import dra
        from cpuplan.components.dra import resource_slices

        path = f"{folder}/{dra.FOLDER}/{node_class.name}.yaml"
        files[path] = to_file(resource_slices.document(plan))
    for manifest in backend.expected(plan):
        files[f"{folder}/operator/{manifest.file}"] = _with_comment(manifest)
    return files


def _with_comment(manifest: Manifest) -> bytes:
    return to_yaml(manifest.data, manifest.comment).encode()


def _pods(plan: ConfiguredPlan) -> Files:
    """What templates of pods must have for Koordinator."""
    if not plan.node_class.target.has_koordinator:
        return {}
    from cpuplan.backends import koordinator

    folder = f"clusters/{plan.node_class.cluster}/koordinator"
    return {f"{folder}/{path}": data for path, data in koordinator.pods(plan).items()}
