"""Reading KubeletConfigurations as the kubelet does: YAML, types, merging of drop-ins.

A file is decoded twice: strictly, which only yields warnings, then leniently.

Upstream: kubernetes/kubernetes pkg/kubelet/kubeletconfig/util/codec/codec.go
  pkg/kubelet/kubeletconfig/configfiles/configfiles.go @ 24e2b02af5543d7910c2bb074c7264df5a8f0467
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from cpuplan.facts.versions import Version
from cpuplan.upstream.kubelet.config.types import API_VERSION, KIND, STRUCTS, of_version, unknown
from cpuplan.upstream.kubernetes import quantity
from cpuplan.upstream.kubernetes.durations import duration_text, is_duration, parse_duration
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.json import kind_of
from cpuplan.upstream.kubernetes.kube_features import LATEST
from cpuplan.upstream.kubernetes.strconv import quote
from cpuplan.upstream.kubernetes.yaml import load

#: Python refuses to write more than 4,300 decimal digits.
_MOST_BITS = 10_000
_INTEGERS = {"int32": (-(1 << 31), (1 << 31) - 1), "int64": (-(1 << 63), (1 << 63) - 1)}
_INTEGERS["v1.VerbosityLevel"] = (0, (1 << 32) - 1)
_KINDS = {
    "string": "string",
    "bool": "bool",
    "float64": "number",
    **dict.fromkeys(_INTEGERS, "number"),
}
_META = (
    "struct "
    '{ APIVersion string "json:\\"apiVersion,omitempty\\""; '
    'Kind string "json:\\"kind,omitempty\\"" }'
)
#: Fields that are written when they are empty too: 0 is a NUMA node, and a priority.
_WRITTEN_EMPTY = frozenset({"limits", "numaNode", "priority", "shutdownGracePeriodSeconds"})
DUPLICATES = "yaml: unmarshal errors:\n  "

Config = dict[str, Any]


class Decoded(NamedTuple):
    """The fields of a file, and what the strict decoder refuses (warnings only)."""

    config: Config
    strict_errors: list[str]


class DecodeError(KubeletError):
    """A file that stops the kubelet, with what the strict decoder had found before."""

    def __init__(self, message: str, strict_errors: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.strict_errors = list(strict_errors)


def decode(text: str, path: str, version: Version = LATEST) -> Decoded:
    """The configuration file at `path`; DecodeError with the kubelet's text."""
    if not text:
        raise DecodeError(f"kubelet config file {quote(path)} was empty")
    try:
        data, duplicates = _load(text)
        api_version, kind = _type_of(data, text)
        if not api_version:
            raise KubeletError(f"Object 'apiVersion' is missing in '{text}'")
    except KubeletError as error:
        raise DecodeError(f"failed to decode: {error}") from None
    if api_version != API_VERSION or kind not in (KIND, "CredentialProviderConfig"):
        scheme = 'in scheme "pkg/kubelet/apis/config/scheme/scheme.go:33"'
        what = f"no kind {quote(kind)} is registered for version {quote(api_version)}"
        raise DecodeError(f"failed to decode: {what} {scheme}")
    known = of_version(data, version) if kind == KIND else data
    strict = [*duplicates, *_unknown_fields(data, kind, version)]
    if kind != KIND:
        what = f"{api_version}, Kind={kind}"
        raise DecodeError(
            f"failed to cast object to KubeletConfiguration, unexpected type: {what}", strict
        )
    try:
        return Decoded(convert(known, any_case=False), strict)
    except KubeletError as error:
        raise DecodeError(f"failed to decode: {error}") from None


def _unknown_fields(data: Any, kind: str, version: Version, *, any_case: bool = False) -> list[str]:
    """The strict decoder's text for each field that the version does not have."""
    known = of_version(data, version) if kind == KIND else data
    later = [name for name in data if name not in known]
    missing = sorted({*unknown(data, kind, "", any_case=any_case), *later})
    return [f"unknown field {quote(name)}" for name in missing]


def unread_fields(text: str, version: Version = LATEST) -> list[str]:
    """The fields of a drop-in that the kubelet drops without a word, as a file would be told."""
    return _unknown_fields(raw_fields(text), KIND, version, any_case=True)


def raw_fields(text: str) -> Config:
    """The fields of a file as they are written; none where it cannot be read."""
    try:
        data, _ = _load(text)
    except KubeletError:
        return {}
    return data if isinstance(data, dict) else {}


def decode_drop_in(text: str, path: str) -> Config:
    """A drop-in at `path`, still to be merged; only its version and kind are checked.

    Keys that are there twice stop the kubelet here, unlike in the configuration file.
    """
    if not text:
        raise KubeletError(f"kubelet config file {quote(path)} was empty")
    data, duplicates = _load(text)
    api_version, kind = _type_of(data, text)
    if duplicates:
        raise KubeletError(f"strict decoding error: {', '.join(duplicates)}")
    if (api_version, kind) != (API_VERSION, KIND):
        group, _, version = api_version.rpartition("/")
        raise KubeletError(f"unknown apiVersion/kind: {group}/{version}, Kind={kind}")
    fields: Config = data
    return fields


def merge(config: Any, patch: Any) -> Any:
    """A JSON merge patch (RFC 7386): maps merge, lists replace, null deletes."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(config) if isinstance(config, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge(merged.get(key), value)
    return merged


def _load(text: str) -> tuple[Any, list[str]]:
    """The first document, and the strict reader's text for keys that are there twice, if any."""
    document, duplicates = load(text, "found a tab character that violates indentation")
    return document, [DUPLICATES + "\n  ".join(duplicates)] if duplicates else []


def _type_of(data: Any, text: str) -> tuple[str, str]:
    """(apiVersion, kind); KubeletError without a kind."""
    unread = "couldn't get version/kind; json parse error: json: cannot unmarshal"
    if data is not None and not isinstance(data, dict):
        raise KubeletError(f"{unread} {kind_of(data)} into Go value of type {_META}")
    fields = data or {}
    for name in ("apiVersion", "kind"):
        if not isinstance(fields.get(name) or "", str):
            where = f"Go struct field .{name} of type string"
            raise KubeletError(f"{unread} {kind_of(fields[name])} into {where}")
    if not fields.get("kind"):
        raise KubeletError(f"Object 'Kind' is missing in '{text}'")
    return fields.get("apiVersion") or "", fields["kind"]


def convert(data: Any, *, any_case: bool) -> Config:
    """The known fields in the types that they must have; KubeletError for the first that has not.

    Go's own decoder, which reads what drop-ins give, takes fields in `any_case`; the API
    machinery's does not.
    """
    converted: Config = _convert_struct(data, KIND, (), any_case)
    return converted


def _convert_struct(value: Any, struct: str, path: tuple[str, ...], any_case: bool) -> Any:
    if not isinstance(value, dict):
        raise _mismatch(value, struct, path, f"v1beta1.{struct}")
    fields = STRUCTS[struct]
    spelt = {name.lower(): name for name in fields} if any_case else {name: name for name in fields}
    converted = {}
    for key in sorted(value) if any_case else value:
        name = spelt.get(key.lower() if any_case else key)
        if name is not None and (value[key] is not None or fields[name] == "metav1.Duration"):
            converted[name] = _convert(value[key], fields[name], struct, (*path, name), any_case)
    return converted


def _convert(value: Any, go_type: str, struct: str, path: tuple[str, ...], any_case: bool) -> Any:
    go_type = go_type.removeprefix("*")
    if go_type == "any":
        return value
    if go_type in STRUCTS:
        return _convert_struct(value, go_type, path, any_case)
    if go_type.startswith("[]"):
        if not isinstance(value, list):
            raise _mismatch(value, struct, path, go_type)
        return [_convert(element, go_type[2:], struct, path, any_case) for element in value]
    if go_type.startswith("map[string]"):
        if not isinstance(value, dict):
            raise _mismatch(value, struct, path, go_type)
        inner = go_type.removeprefix("map[string]")
        # Go's errors tell the fields on the way, and no keys of maps (encoding/json, decode.go:
        # errorContext).
        return {
            key: _convert(element, inner, struct, path, any_case)
            for key, element in value.items()
            if element is not None
        }
    return _convert_scalar(value, go_type, struct, path)


def _convert_scalar(value: Any, go_type: str, struct: str, path: tuple[str, ...]) -> Any:
    if go_type == "TimeOrMetaDuration":
        return _convert_flush(value)
    if go_type == "metav1.Duration":
        if value is not None and not isinstance(value, str):
            raise _mismatch(value, struct, path, "string")
        return parse_duration(value or "")
    if go_type == "Quantity":
        return quantity.parse(str(value))
    if kind_of(value) != _KINDS[go_type]:
        raise _mismatch(value, struct, path, go_type)
    if go_type in _INTEGERS:
        lowest, highest = _INTEGERS[go_type]
        if not isinstance(value, int) or not lowest <= value <= highest:
            raise _mismatch(value, struct, path, go_type, number=True)
    return value


def _convert_flush(value: Any) -> Any:
    """A duration as a text or in nanoseconds, as it is written."""
    if isinstance(value, str):
        parse_duration(value)
    elif kind_of(value) != "number" or not isinstance(value, int):
        shown, kind = json.dumps(value), kind_of(value)
        problem = f"json: cannot unmarshal {kind} into Go value of type time.Duration"
        raise KubeletError(f"invalid duration {quote(shown)}: {problem}")
    return value


def encode(config: Config) -> Config:
    """The JSON of a configuration without empty values.

    Empty values are lost here, so that drop-ins bring the defaults back.
    """
    encoded: Config = _encode(config, KIND)
    return encoded


def _encode(value: Any, go_type: str) -> Any:
    go_type = go_type.removeprefix("*").removeprefix("[]")
    if isinstance(value, list):
        return [_encode(element, go_type) for element in value]
    if go_type in STRUCTS:
        fields = STRUCTS[go_type]
        inner = {name: _encode(element, fields[name]) for name, element in value.items()}
        return {
            name: encoded
            for name, encoded in inner.items()
            if name in _WRITTEN_EMPTY
            or (encoded not in ("", [], {}) and (encoded or fields[name][0] == "*"))
        }
    if isinstance(value, dict):
        return {
            key: _encode(element, go_type.removeprefix("map[string]"))
            for key, element in value.items()
        }
    if go_type == "metav1.Duration":
        return duration_text(value)
    return str(value) if go_type == "Quantity" else value


def _number(value: Any) -> str:
    """A number as JSON has it; hexadecimal beyond what Python writes in decimal."""
    huge = isinstance(value, int) and value.bit_length() > _MOST_BITS
    return hex(value) if huge else json.dumps(value)


def _mismatch(
    value: Any, struct: str, path: Iterable[str], go_type: str, *, number: bool = False
) -> KubeletError:
    given = f"number {_number(value)}" if number else kind_of(value)
    where = f"Go struct field {struct}.{'.'.join(path)} of type {go_type}"
    return KubeletError(f"json: cannot unmarshal {given} into {where}")


def normal_durations(value: Any, go_type: str = KIND) -> Any:
    """The same configuration, all else as it is written."""
    go_type = go_type.removeprefix("*")
    if go_type in STRUCTS and isinstance(value, Mapping):
        types = STRUCTS[go_type]
        return {
            name: normal_durations(inner, types.get(name, "any")) for name, inner in value.items()
        }
    if go_type == "metav1.Duration" and isinstance(value, str) and is_duration(value):
        return duration_text(parse_duration(value))
    return value
