"""What is known of each object that Git delivers: enough to name it to Argo CD and to Flux."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from cpuplan.backends.base import Object
from cpuplan.base import yaml11
from cpuplan.fleet.hosting import HOST


class Managed(NamedTuple):
    """One object."""

    #: The cluster whose folder it is in, and the one that it belongs into.
    cluster: str
    destination: str
    api: str
    kind: str
    name: str
    #: "" of objects without one.
    namespace: str = ""

    @property
    def group(self) -> str:
        """The API group; "" for the core."""
        return self.api.rpartition("/")[0]

    @property
    def group_kind(self) -> tuple[str, str]:
        """API group and kind."""
        return self.group, self.kind

    @property
    def is_for_host(self) -> bool:
        """Whether it belongs into the cluster that hosts the control plane of another."""
        return self.cluster != self.destination


def of_objects(
    cluster: str, host: str, objects: Iterable[Object], kept: Mapping[str, bytes]
) -> Iterator[Managed]:
    """The objects of a cluster; `kept` are the files of paused classes, by path."""
    for each in objects:
        destination = host if each.is_for_host else cluster
        yield Managed(cluster, destination, each.api, each.kind, each.name, each.namespace)
    for path, data in kept.items():
        if "/manifests/" in path:
            destination = host if f"/{HOST}/" in path else cluster
            for document in yaml11.load(data.decode()):
                yield _managed(cluster, destination, document)


def _managed(cluster: str, destination: str, data: Mapping[str, Any]) -> Managed:
    metadata = data["metadata"]
    return Managed(
        cluster,
        destination,
        str(data["apiVersion"]),
        str(data["kind"]),
        str(metadata["name"]),
        str(metadata.get("namespace", "")),
    )
