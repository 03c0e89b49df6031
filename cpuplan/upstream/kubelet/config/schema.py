"""The JSON Schema of a KubeletConfiguration, from the Go types of its fields."""

from typing import Any

from cpuplan.upstream.kubelet.config.fields import KIND, STRUCTS

#: What the JSON of a Go type is; `any` and names that are no struct are anything.
_SCALARS: dict[str, dict[str, Any]] = {
    "string": {"type": "string"},
    "metav1.Duration": {
        "type": "string",
        "pattern": r"^[-+]?([0-9]*(\.[0-9]*)?[a-zµ]+)+$(?!\n)|^0$(?!\n)",
    },
    "int32": {"type": "integer"},
    "int64": {"type": "integer"},
    "float64": {"type": "number"},
    "bool": {"type": "boolean"},
    "Quantity": {"type": ["string", "number"]},
}
#: What cpuplan itself gives these fields.
_NARROWER: dict[str, dict[str, Any]] = {
    "reservedSystemCPUs": {
        "type": "string",
        "pattern": r"^[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*$(?!\n)",
    },
    "cpuManagerPolicy": {"enum": ["none", "static"]},
    "memoryManagerPolicy": {"enum": ["None", "Static"]},
    "topologyManagerPolicy": {"enum": ["none", "best-effort", "restricted", "single-numa-node"]},
    "topologyManagerScope": {"enum": ["container", "pod"]},
}


def schema() -> dict[str, Any]:
    """The whole of it: no field that it does not have, none of another type."""
    document = _struct(KIND)
    document["properties"] |= _NARROWER
    document["required"] = ["apiVersion", "kind"]
    return document


def _struct(name: str) -> dict[str, Any]:
    fields = {field: _type(go_type) for field, go_type in STRUCTS[name].items()}
    return {"type": "object", "properties": fields, "additionalProperties": False}


def _type(go_type: str) -> dict[str, Any]:
    go_type = go_type.lstrip("*")
    if go_type.startswith("[]"):
        return {"type": "array", "items": _type(go_type[2:])}
    if go_type.startswith("map[string]"):
        return {
            "type": "object",
            "additionalProperties": _type(go_type.removeprefix("map[string]")),
        }
    return _struct(go_type) if go_type in STRUCTS else _SCALARS.get(go_type, {})
