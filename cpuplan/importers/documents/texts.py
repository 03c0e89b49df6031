"""A document as data, as YAML, and the file where it is first written."""

from collections.abc import Iterable, Mapping
from typing import Any

from cpuplan import API_VERSION
from cpuplan.base.emit import to_yaml


def document(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    """A whole document."""
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec}


def texts_of(documents: Iterable[Mapping[str, Any]], header: str = "") -> dict[str, str]:
    """YAML by file name. `header` goes above each document; {kind} in it becomes the kind."""
    return {file_name(document): text_of(document, header) for document in documents}


def file_name(document: Mapping[str, Any]) -> str:
    """Where a document is written first."""
    return f"{document['kind'].lower()}-{document['metadata']['name']}.yaml"


def text_of(document: Mapping[str, Any], header: str = "") -> str:
    """A document as YAML; see `texts_of`."""
    return to_yaml(dict(document), header.replace("{kind}", document["kind"].lower()))
