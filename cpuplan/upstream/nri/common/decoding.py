"""Reading a policy object as `--config-file` does: strictly, in any letter case."""

from typing import Any, NamedTuple

from cpuplan.upstream.kubelet.errors import KubeletError
from cpuplan.upstream.kubelet.go.json import kind_of
from cpuplan.upstream.kubelet.go.text import quote
from cpuplan.upstream.kubelet.go.yaml import load
from cpuplan.upstream.nri.common import frequencies
from cpuplan.upstream.nri.common.schema import FREQUENCY, INTEGERS, STRINGS
from cpuplan.upstream.nri.errors import NriError

Json = dict[str, Any]
_REFUSED = "error unmarshaling JSON: while decoding JSON: "
_LIMITS = {"int": (-(1 << 63), (1 << 63) - 1), "int64": (-(1 << 63), (1 << 63) - 1)}
_UNSIGNED = (0, (1 << 64) - 1)


class Decoder(NamedTuple):
    """The Go types of one kind of object; `embedded` fields of its spec are those of `Config`."""

    kind: str
    structs: dict[str, dict[str, str]]
    embedded: frozenset[str]

    def text(self, text: str) -> Json:
        """The spec of a file; NriError with the program's text."""
        try:
            data = _load(text)
        except NriError as error:
            raise NriError(f"decode: {error}") from None
        return self.object(data)

    def object(self, data: Any) -> Json:
        """The spec of an object; NriError with the program's text."""
        try:
            converted = self._struct(data, self.kind, ())
        except NriError as error:
            raise NriError(f"decode: {error}") from None
        spec: Json = (converted or {}).get("spec") or {}
        return spec

    def _struct(self, value: Any, struct: str, path: tuple[str, ...]) -> Any:
        """The fields of a struct in the order of their names; NriError for the first wrong one."""
        if value is None:
            return None
        if not isinstance(value, dict):
            raise _mismatch(kind_of(value), struct, struct, path)
        fields = self.structs[struct]
        spelt = {name.lower(): name for name in fields}
        converted = {}
        for key in sorted(value):
            name = spelt.get(key.lower())
            if name is None:
                raise _refused(f"unknown field {quote(key)}")
            is_embedded = struct == f"{self.kind}Spec" and name in self.embedded
            embedded = ("Config",) if is_embedded else ()
            result = self._value(value[key], fields[name], struct, (*path, *embedded, name))
            if result is not None:
                converted[name] = result
        return converted

    def _value(self, value: Any, go_type: str, struct: str, path: tuple[str, ...]) -> Any:
        if value is None or go_type == "any":
            return value
        if go_type in self.structs:
            return self._struct(value, go_type, path)
        if go_type.startswith("[]"):
            if not isinstance(value, list):
                raise _mismatch(kind_of(value), go_type, struct, path)
            return [self._value(item, go_type[2:], struct, path) for item in value]
        if go_type.startswith("map[string]"):
            if not isinstance(value, dict):
                raise _mismatch(kind_of(value), go_type, struct, path)
            inner = go_type.removeprefix("map[string]")
            return {key: self._value(value[key], inner, struct, path) for key in sorted(value)}
        return _scalar(value, go_type, struct, path)


def _load(text: str) -> Any:
    try:
        document, duplicates = load(text, "found character that cannot start any token")
    except KubeletError as error:
        raise NriError(f"error converting YAML to JSON: {error}") from None
    if duplicates:
        lines = "\n  ".join(duplicates)
        raise NriError(f"error converting YAML to JSON: yaml: unmarshal errors:\n  {lines}")
    return document


def _refused(text: str) -> NriError:
    return NriError(f"{_REFUSED}json: {text}")


def _scalar(value: Any, go_type: str, struct: str, path: tuple[str, ...]) -> Any:
    if go_type == FREQUENCY:
        return _frequency(value)
    kind = kind_of(value)
    if kind != _json_kind(go_type):
        raise _mismatch(kind, go_type, struct, path)
    if go_type not in INTEGERS:
        return value
    number = int(value) if float(value).is_integer() else value
    lowest, highest = _LIMITS.get(go_type, _UNSIGNED)
    if not isinstance(number, int) or not lowest <= number <= highest:
        raise _mismatch(f"number {number}", go_type, struct, path)
    return number


def _json_kind(go_type: str) -> str:
    if go_type in STRINGS:
        return "string"
    return "number" if go_type in INTEGERS else "bool"


def _frequency(value: Any) -> int:
    try:
        return frequencies.read(value)
    except NriError as error:
        raise NriError(f"{_REFUSED}{error}") from None


def _mismatch(kind: str, go_type: str, struct: str, path: tuple[str, ...]) -> NriError:
    where = f"Go struct field {struct.rpartition('.')[2]}.{'.'.join(path)} of type {go_type}"
    return _refused(f"cannot unmarshal {kind} into {where}")
