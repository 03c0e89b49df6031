"""Objects of a cluster that cpuplan does not write, as entries of its Cluster document.

A must-gather and files in Git have the same objects, and both are read here. Left out are those
that the machine config operator makes (it makes them again), those of a PerformanceProfile, and
those that cpuplan wrote.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

from cpuplan import API_VERSION
from cpuplan.base.naming import is_label, is_subdomain
from cpuplan.base.text import printable
from cpuplan.diagnostics import Diagnostic
from cpuplan.diagnostics.source import Field, Mark, Marks, Source
from cpuplan.facts.settings.openshift import KERNEL_TYPE, POOL_SELECTOR
from cpuplan.fleet import given_tuneds
from cpuplan.language.model import cluster as model
from cpuplan.language.model.base import Model
from cpuplan.language.read.documents import Document, Documents, validate

_GENERATED = "machineconfiguration.openshift.io/generated-by-controller-version"
#: How cpuplan has its own objects synced (`backends.base.metadata`).
SYNC_OPTIONS, CONFIRMED = "argocd.argoproj.io/sync-options", "Prune=confirm,Delete=confirm"
_PROFILES = ("50-nto-", "50-performance-", "performance-", "rendered-")
_BUILT_IN = ("master", "worker", "arbiter")
_RUNTIMES = ("crun", "runc")
_KERNELS = ("realtime", "64k-pages")


#: An entry of a list of the Cluster document, and for its fields those of the object.
_Made: TypeAlias = tuple[dict[str, Any], dict[Field, Field]]


class _Entry:
    """Collects the fields of an entry, each with the field of the object that it comes from."""

    def __init__(self, item: Mapping[str, Any]) -> None:
        self.data: dict[str, Any] = {}
        self.places: dict[Field, Field] = {}
        self.put("name", name_of(item), ("metadata", "name"))

    def put(self, key: str, value: Any, origin: Field) -> None:
        self.data[key] = value
        self.places[key,] = origin

    def put_texts(self, key: str, texts: Iterable[tuple[object, Field]]) -> None:
        """A list, unless it is empty; what is no text is no value."""
        usable = [(printable(text), origin) for text, origin in texts if isinstance(text, str)]
        if usable:
            self.put(key, [text for text, _ in usable], usable[0][1])
            self.places |= {(key, index): origin for index, (_, origin) in enumerate(usable)}

    def made(self) -> _Made:
        return self.data, self.places


def name_of(item: Mapping[str, Any]) -> str:
    """The name of an object; empty without one."""
    return str(_mapping(item.get("metadata")).get("name") or "")


def is_foreign(item: Mapping[str, Any]) -> bool:
    """Whether an object is one of others: none of an operator's, and none that cpuplan wrote."""
    name = name_of(item)
    if not is_subdomain(name):
        return False
    if item.get("kind") == given_tuneds.KIND:
        return given_tuneds.is_foreign(item)
    if item.get("kind") == "MachineConfigPool":
        return name not in _BUILT_IN
    annotations = _mapping(_mapping(item.get("metadata")).get("annotations"))
    is_own = str(annotations.get(SYNC_OPTIONS)).startswith(CONFIRMED)
    return not (name.startswith(_PROFILES) or _GENERATED in annotations or is_own)


def _labels(item: Mapping[str, Any]) -> dict[str, str]:
    return _usable(_mapping(_mapping(item.get("metadata")).get("labels")))


def _usable(labels: Mapping[str, Any]) -> dict[str, str]:
    """The labels that an API server takes: no other is on an object."""
    texts = {key: str(value) for key, value in sorted(labels.items())}
    return {key: value for key, value in texts.items() if is_label(key, value)}


def _pool(item: Mapping[str, Any]) -> _Made:
    entry = _Entry(item)
    if labels := _labels(item):
        entry.put("labels", labels, ("metadata", "labels"))
    for key in (POOL_SELECTOR.key, "nodeSelector"):
        _put_selector(entry, item, key)
    return entry.made()


def _kubelet_config(item: Mapping[str, Any]) -> _Made:
    entry = _Entry(item)
    _put_selector(entry, item, "machineConfigPoolSelector")
    return entry.made()


def _runtime_config(item: Mapping[str, Any]) -> _Made:
    entry = _Entry(item)
    _put_selector(entry, item, "machineConfigPoolSelector")
    config = _mapping(_mapping(item.get("spec")).get("containerRuntimeConfig"))
    runtime = config.get("defaultRuntime")
    if runtime in _RUNTIMES:
        origin = ("spec", "containerRuntimeConfig", "defaultRuntime")
        entry.put("defaultRuntime", runtime, origin)
    return entry.made()


def _put_selector(entry: _Entry, item: Mapping[str, Any], key: str) -> None:
    selector = _mapping(_mapping(item.get("spec")).get(key))
    stated = {
        "matchLabels": _usable(_mapping(selector.get("matchLabels"))),
        "matchExpressions": [item for _, item in _items(selector.get("matchExpressions"))],
    }
    entry.put(key, {name: value for name, value in stated.items() if value}, ("spec", key))


def _machine_config(item: Mapping[str, Any]) -> _Made:
    entry, spec = _Entry(item), _mapping(item.get("spec"))
    config = _mapping(spec.get("config"))
    entry.put("labels", _labels(item), ("metadata", "labels"))
    entry.put_texts("kernelArguments", _listed(spec, "kernelArguments"))
    kernel_type = spec.get(KERNEL_TYPE.key)
    if kernel_type in _KERNELS:
        entry.put(KERNEL_TYPE.key, kernel_type, ("spec", KERNEL_TYPE.key))
    entry.put_texts("extensions", _listed(spec, "extensions"))
    storage, systemd = _mapping(config.get("storage")), _mapping(config.get("systemd"))
    # Ignition gives each path to one of them: a later link takes an earlier file away.
    nodes = [_named(storage, "storage", kind, "path") for kind in ("directories", "files", "links")]
    entry.put_texts("files", _each_once(chain(*nodes)))
    entry.put_texts("units", _each_once(_named(systemd, "systemd", "units", "name")))
    return entry.made()


def _listed(spec: Mapping[str, Any], key: str) -> Iterator[tuple[object, Field]]:
    texts = spec.get(key)
    for index, text in enumerate(texts if isinstance(texts, list) else ()):
        yield text, ("spec", key, index)


def _named(
    section: Mapping[str, Any], name: str, kind: str, key: str
) -> Iterator[tuple[object, Field]]:
    """What each file or unit of a section of an Ignition config is called."""
    for index, node in _items(section.get(kind)):
        yield node.get(key), ("spec", "config", name, kind, index, key)


def _each_once(texts: Iterable[tuple[object, Field]]) -> Iterable[tuple[object, Field]]:
    """Ignition 2 takes a path or name twice."""
    by_text: dict[str, Field] = {}
    for text, origin in texts:
        if isinstance(text, str):
            by_text.setdefault(text, origin)
    return sorted(by_text.items())


class _Kind(NamedTuple):
    """How objects of a kind are read, the field that has them, and the model of its entries."""

    field: str
    model: type[Model]
    read: Callable[[Mapping[str, Any]], _Made]
    is_foreign: Callable[[Mapping[str, Any]], bool] = is_foreign


KINDS: Mapping[str, _Kind] = {
    "MachineConfigPool": _Kind("machineConfigPools", model.MachineConfigPool, _pool),
    "MachineConfig": _Kind("machineConfigs", model.MachineConfig, _machine_config),
    "KubeletConfig": _Kind("kubeletConfigs", model.KubeletConfig, _kubelet_config),
    "ContainerRuntimeConfig": _Kind(
        "containerRuntimeConfigs", model.ContainerRuntimeConfig, _runtime_config
    ),
    given_tuneds.KIND: _Kind(given_tuneds.FIELD, model.Tuned, given_tuneds.entry),
}


def entry(kind: str, item: Mapping[str, Any]) -> dict[str, Any]:
    """What the Cluster document has of an object of a kind in KINDS."""
    return KINDS[kind].read(item)[0]


class GivenObject(NamedTuple):
    """An object of a file: the field that has it, and the entry with its places in the file."""

    field: str
    entry: Source

    @property
    def name(self) -> str:
        data: Any = self.entry.data
        return str(data["name"])


def given(sources: Iterable[Source]) -> tuple[list[GivenObject], list[Diagnostic]]:
    """The objects of others in files, and what is wrong with them, as in a Cluster document."""
    objects: list[GivenObject] = []
    diagnostics: list[Diagnostic] = []
    for source in sources:
        item: Any = source.data
        kind = KINDS.get(str(item.get("kind")))
        if kind is None or not kind.is_foreign(item):
            continue
        retold = source.retold(*kind.read(item))
        _, problems = validate(kind.model, retold, ())
        diagnostics += problems
        if not problems:
            objects.append(GivenObject(kind.field, retold))
    return objects, diagnostics


def with_given(documents: Documents, objects: list[GivenObject]) -> Documents:
    """The documents, and for each cluster with nodes what a Cluster document would say of objects.

    No object says which cluster it is for. Of a name that the document has too, the file counts.
    """
    if not objects:
        return documents
    clusters = {document.spec.cluster for document in documents.of_kind("Nodes")}
    by_name = dict(documents.by_name)
    for cluster in sorted(clusters):
        stated = by_name.get(("Cluster", cluster))
        by_name["Cluster", cluster] = _with_given(stated, cluster, objects)
    return documents._replace(by_name=by_name)


def _with_given(stated: Document | None, cluster: str, objects: list[GivenObject]) -> Document:
    """The document of a cluster with entries of other files."""
    source = stated.source if stated else _empty(cluster)
    fields = dict.fromkeys(known.field for known in objects)
    own: Any = source.at(("spec",))
    added = frozenset(fields.keys() - own.keys())
    for field in fields:
        source = _with_list(source, field, [known for known in objects if known.field == field])
    spec = model.ClusterSpec.read(source.at(("spec",)))
    return Document("Cluster", cluster, spec, source, of_objects=added)


def _with_list(source: Source, field: str, objects: list[GivenObject]) -> Source:
    """The document with objects in one of its lists; each keeps its places in its own file."""
    data, spec = source.at(()), source.at(("spec",))
    names = {known.name for known in objects}
    before: list[Any] = spec.get(field) or []
    marks_before = source.marks.get(id(before), {})
    kept = [index for index, item in enumerate(before) if item["name"] not in names]
    items = [before[index] for index in kept] + [known.entry.data for known in objects]
    spec = {**spec, field: items}
    made = {**data, "spec": spec}
    marks: Marks = dict(source.marks)
    for known in objects:
        marks |= known.entry.marks
    marks[id(made)] = {"spec": _NOWHERE, **source.marks.get(id(data), {})}
    marks[id(spec)] = {field: _NOWHERE, **source.marks.get(id(source.at(("spec",))), {})}
    places = [marks_before.get(index, _NOWHERE) for index in kept]
    marks[id(items)] = dict(enumerate([*places, *[_NOWHERE] * len(objects)]))
    grafts = source.grafts | {id(known.entry.data): known.entry.path for known in objects}
    return Source(source.path, made, marks, source.start, grafts)


#: The place of what stands in no file.
_NOWHERE = Mark((0, 0, 0), (0, 0, 0))


def _empty(cluster: str) -> Source:
    data: Any = {
        "apiVersion": API_VERSION,
        "kind": "Cluster",
        "metadata": {"name": cluster},
        "spec": {},
    }
    return Source("", data, {}, (0, 0))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _items(value: Any) -> list[tuple[int, Mapping[str, Any]]]:
    """The mappings of a list, with their indexes."""
    listed = enumerate(value) if isinstance(value, list) else ()
    return [(index, item) for index, item in listed if isinstance(item, dict)]
