"""Objects as text, and what is found in them."""

import json
from typing import Any

from cpuplan.base.emit import to_yaml
from cpuplan.facts.versions import Version
from cpuplan.language.read import yaml
from cpuplan.simulate.files.koordinator import check
from cpuplan.upstream.koordinator.extension.releases import LATEST

CPUS = {"requests": {"cpu": "2", "memory": "1Gi"}, "limits": {"cpu": "2", "memory": "1Gi"}}


def found(*objects: Any, release: Version = LATEST) -> list[str]:
    """`code: message` of everything about the objects, each in a file of its own."""
    sources = []
    for index, given in enumerate(objects):
        read, problems = yaml.parse(f"{index}.yaml", to_yaml(given))
        assert not problems
        sources += read
    return [f"{problem.code}: {problem.message}" for problem in check(sources, release)]


def node(labels: Any = None, annotations: Any = None, **metadata: Any) -> dict[str, Any]:
    """A Node; annotations that are no text are written as JSON."""
    texts = {key: _text(value) for key, value in (annotations or {}).items()}
    meta = {"name": "worker-0", "labels": labels or {}, "annotations": texts, **metadata}
    return {"apiVersion": "v1", "kind": "Node", "metadata": meta}


def pod(labels: Any = None, annotations: Any = None, **spec: Any) -> dict[str, Any]:
    """A Pod with a container of 2 CPUs."""
    texts = {key: _text(value) for key, value in (annotations or {}).items()}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "labels": labels or {}, "annotations": texts},
        "spec": {"containers": [{"name": "main", "resources": CPUS}], **spec},
    }


def config_map(name: str, data: Any) -> dict[str, Any]:
    """A ConfigMap; values that are no text are written as JSON."""
    texts = {key: _text(value) for key, value in data.items()}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "koordinator-system"},
        "data": texts,
    }


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
