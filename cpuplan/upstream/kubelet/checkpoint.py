"""State files of the managers: compact JSON with a checksum of Go's dump of the struct.

From pkg/kubelet/checkpointmanager.
"""

import json
from collections.abc import Mapping
from typing import Any

from cpuplan.upstream.kubelet.errors import KubeletError
from cpuplan.upstream.kubelet.go.text import quote


def write(content: Mapping[str, Any], check: int) -> str:
    """The file: empty entries left out, keys of maps sorted, those of structs as given."""
    kept = {
        key: value for key, value in content.items() if value or not key.lower().endswith("entries")
    }
    return json.dumps(
        _sorted_maps({**kept, "checksum": check}, is_struct=True), separators=(",", ":")
    )


def _sorted_maps(value: Any, *, is_struct: bool = False) -> Any:
    if not isinstance(value, dict):
        return value
    keys = value if is_struct else sorted(value)
    return {key: _sorted_maps(value[key], is_struct=_is_struct(value[key])) for key in keys}


def _is_struct(value: Any) -> bool:
    """Whether a value was a struct, not a map.

    The kubelet's maps have the names of pods, containers, nodes and resources as keys.
    """
    return isinstance(value, dict) and not value.keys().isdisjoint(
        {"numberOfAssignments", "systemReserved"}
    )


def checksum(text: str) -> int:
    """32-bit FNV-1a."""
    total = 0x811C9DC5
    for byte in text.encode():
        total = (total ^ byte) * 0x01000193 & 0xFFFFFFFF
    return total


def is_verified(content: Mapping[str, Any], dumped: str, *, may_lack: bool) -> bool:
    """Whether the content has the checksum of its dump.

    With `may_lack` a checksum of 0 passes, as in the files of old kubelets.
    """
    written: int = content.get("checksum", 0)
    return (may_lack and written == 0) or written == checksum(dumped)


def dump_map(values: Mapping[str, str]) -> str:
    """A map in Go's dump, its values dumped already."""
    return f"map[{' '.join(f'{key}:{values[key]}' for key in sorted(values))}]"


def unreadable(error: KubeletError, manager: str, path: str) -> KubeletError:
    """What a kubelet says of a file that it cannot use, and why it does not start."""
    remedy = (
        f"please drain this node and delete the {manager} checkpoint file {quote(path)} "
        "before restarting Kubelet"
    )
    return KubeletError(f"could not restore state from checkpoint: {error}, {remedy}")
