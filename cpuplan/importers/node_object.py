"""A Node object of Kubernetes: what its cluster tells of a node."""

import re
from typing import Any

from cpuplan.importers.base import NodeObject

#: An RFC 1123 subdomain, which is what the API server takes as the name of a node.
NODE_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
#: GOARCH to uname(1).
_ARCHITECTURES = {
    "amd64": "x86_64", "arm64": "aarch64", "ppc64le": "ppc64le", "s390x": "s390x", "riscv64": "riscv64",
    "loong64": "loongarch64",
}  # fmt: skip
#: Labels of these domains are kept by the system; selectors of people use the others.
_SYSTEM_LABEL = re.compile(r"([^/]*\.)?(kubernetes\.io|k8s\.io|openshift\.io)/")
_KEPT_LABEL = re.compile(r"(node-role|node-restriction)\.kubernetes\.io/|kubernetes\.io/arch$")


def read(data: dict[str, Any], cluster: str | None = None) -> NodeObject | None:
    """The node of `data`, with the labels that people select nodes by; None where it has no usable name."""
    metadata = data.get("metadata")
    if not isinstance(metadata, dict) or not NODE_NAME.fullmatch(str(metadata.get("name", ""))):
        return None
    found = metadata.get("labels")
    labels = {str(key): str(value) for key, value in found.items()} if isinstance(found, dict) else {}
    kept = {key: value for key, value in labels.items() if _KEPT_LABEL.match(key) or not _SYSTEM_LABEL.match(key)}
    return NodeObject(str(metadata["name"]), kept, _ARCHITECTURES.get(labels.get("kubernetes.io/arch", "")), cluster)
