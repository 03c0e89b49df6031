"""The objects in files, with their places."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Field, Source
from cpuplan.language.read.pods import CONTROLLERS, template_of, value_of

PROFILE, NRT = "ClusterColocationProfile", "NodeResourceTopology"
#: ConfigMaps of Koordinator, by name.
SLO_CONFIG, SCHEDULER_CONFIG = "slo-controller-config", "koord-scheduler-config"
KINDS = ("Pod", *CONTROLLERS, "Node", "ConfigMap", PROFILE, NRT)


class Object(NamedTuple):
    """An object of Kubernetes, or the template of pods in one; `at` is where it stands."""

    source: Source
    at: Field
    data: Mapping[str, Any]
    title: str

    @property
    def kind(self) -> str:
        kind = self.data.get("kind")
        return kind if isinstance(kind, str) else ""

    @property
    def name(self) -> str:
        return str(value_of(self.data, ("metadata", "name")) or "")

    def texts(self, *field: str) -> dict[str, str]:
        """The entries of a mapping that are text; others are no valid object."""
        given = value_of(self.data, field)
        entries = given.items() if isinstance(given, dict) else ()
        return {key: text for key, text in entries if isinstance(text, str)}

    @property
    def labels(self) -> dict[str, str]:
        return self.texts("metadata", "labels")

    @property
    def annotations(self) -> dict[str, str]:
        return self.texts("metadata", "annotations")

    @property
    def is_live(self) -> bool:
        """Whether a cluster gave it: what others wrote into it is no mistake."""
        known = value_of(self.data, ("metadata", "resourceVersion"))
        return known is not None or bool(value_of(self.data, ("spec", "nodeName")))

    def finding(self, code: str, field: Field, **values: Any) -> Diagnostic:
        """A diagnostic at the value of a field of the object."""
        place = self.source.value_at((*self.at, *field))
        return diagnose(code, place, object=self.title, **values)


def objects(sources: Iterable[Source]) -> Iterator[Object]:
    """All objects of files, those of Lists one by one."""
    for source in sources:
        yield from _objects(source, (), source.data)


def _objects(source: Source, at: Field, data: Any) -> Iterator[Object]:
    kind = data.get("kind") if isinstance(data, dict) else None
    if not isinstance(kind, str):
        return
    items = data.get("items")
    if kind.endswith("List") and isinstance(items, list):
        for index, item in enumerate(items):
            yield from _objects(source, (*at, "items", index), item)
        return
    name = value_of(data, ("metadata", "name"))
    yield Object(source, at, data, f"{kind} {name}" if name else f"a {kind} without name")


def template(manifest: Object) -> Object | None:
    """The pod, or the template of pods of a workload."""
    known = template_of(manifest.data)
    if known is None:
        return None
    at, data = known
    title = manifest.title if not at else f"the pods of {manifest.title}"
    return manifest._replace(at=(*manifest.at, *at), data=data, title=title)


def is_koordinators(data: Any) -> bool:
    """Whether an object of a file says anything to Koordinator."""
    kind = data.get("kind") if isinstance(data, dict) else None
    if kind == "ConfigMap":
        return value_of(data, ("metadata", "name")) in (SLO_CONFIG, SCHEDULER_CONFIG)
    return kind in KINDS
