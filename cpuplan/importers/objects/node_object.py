"""A Node object of Kubernetes: what its cluster knows of a node."""

import re
from collections.abc import Mapping
from typing import Any

from cpuplan.base.naming import is_label, is_subdomain
from cpuplan.base.quantity import to_bytes
from cpuplan.importers.base import NodeObject
from cpuplan.importers.data import mapping, number
from cpuplan.importers.machine import MAX_COUNT, MAX_MEMORY

#: GOARCH to uname(1).
_ARCHITECTURES = {
    "amd64": "x86_64",
    "arm64": "aarch64",
    "ppc64le": "ppc64le",
    "s390x": "s390x",
    "riscv64": "riscv64",
    "loong64": "loongarch64",
}
#: Labels of these domains are kept by the system; selectors of people use the others.
_SYSTEM_LABEL = re.compile(r"([^/]*\.)?(kubernetes\.io|k8s\.io|openshift\.io)/")
_KEPT_LABEL = re.compile(r"(node-role|node-restriction)\.kubernetes\.io/|kubernetes\.io/arch\Z")
_HUGE_PAGES = re.compile(r"hugepages-([0-9]{1,6}[KMG]i)")


def read(data: dict[str, Any], cluster: str | None = None) -> NodeObject | None:
    """The node of `data`; None where it has no usable name."""
    name = object_name(data)
    if name is None:
        return None
    texts = mapping(data["metadata"].get("labels"))
    labels = {str(key): str(value) for key, value in texts.items()}
    status = mapping(data.get("status"))
    reported = mapping(status.get("nodeInfo")).get("architecture")
    architecture = labels.get("kubernetes.io/arch") or reported
    capacity = mapping(status.get("capacity"))
    return NodeObject(
        name,
        kept_labels(labels),
        _ARCHITECTURES.get(str(architecture)),
        cluster,
        number(capacity.get("cpu"), 1, MAX_COUNT),
        size(capacity.get("memory")),
        huge_pages(capacity),
    )


def kept_labels(labels: Mapping[str, str]) -> dict[str, str]:
    """The labels that an inventory has: those that people select nodes by."""
    return {
        key: value
        for key, value in labels.items()
        if is_label(key, value) and (_KEPT_LABEL.match(key) or not _SYSTEM_LABEL.match(key))
    }


def object_name(data: dict[str, Any]) -> str | None:
    """The name of an object that is called as a node is; None where it has no usable one."""
    name = mapping(data.get("metadata")).get("name")
    return name if isinstance(name, str) and is_subdomain(name) else None


def size(value: object) -> int | None:
    """A quantity of memory in bytes; None for any other value."""
    try:
        amount = to_bytes(str(value))
    except ValueError:
        return None
    return amount if amount <= MAX_MEMORY else None


def huge_pages(resources: dict[str, Any]) -> dict[int, int]:
    """Pages by size in kB, ascending; the amounts of resources `hugepages-<size>` are bytes."""
    pages = {}
    for key, value in resources.items():
        match = _HUGE_PAGES.fullmatch(key)
        page, amount = to_bytes(match[1]) if match else 0, size(value)
        if page and amount is not None:
            pages[page // 1024] = amount // page
    return dict(sorted(pages.items()))
