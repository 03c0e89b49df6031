"""Reading a policy object as `--config-file` does: strictly, in any letter case.

Upstream: containers/nri-plugins pkg/apis/config/v1alpha1/resmgr/policy/config.go
  pkg/apis/config/v1alpha1/types.go pkg/apis/config/v1alpha1/resmgr.go
  @ 83d986e963ad28ca31790102af6d509c7b7e7d45
"""

from typing import Any, NamedTuple

from cpuplan.upstream.kubernetes import quantity
from cpuplan.upstream.kubernetes.bits import parse_cpus
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.json import kind_of
from cpuplan.upstream.kubernetes.strconv import quote
from cpuplan.upstream.kubernetes.yaml import load
from cpuplan.upstream.nri import cpuclass
from cpuplan.upstream.nri.api import NriError

#: Prefixes of amounts that are lists: of these CPUs, and of all others.
CPUSET, EXCLUDE_CPUSET = "cpuset:", "exclude-cpuset:"


def is_cpuset(amount: str) -> bool:
    return amount.startswith((CPUSET, EXCLUDE_CPUSET))


def listed_cpus(amount: str, kind: str, everything: int) -> int:
    """The CPUs of an amount that is a list, of `everything` where it excludes some.

    NriError names the `kind` of amount.
    """
    text = amount.removeprefix(CPUSET).removeprefix(EXCLUDE_CPUSET)
    try:
        cpus = parse_cpus(text)
    except KubeletError as error:
        raise NriError(
            f"failed to parse {kind} CPU cpuset '{text}': "
            f"failed to parse amount '{text}' as cpuset: {error}"
        ) from None
    return cpus if amount.startswith(CPUSET) else everything & ~cpus


def reserved_milli(amount: str) -> int:
    """Thousandths of a CPU; NriError for a text that is no quantity."""
    try:
        return int(quantity.parse(amount).milli)
    except KubeletError as error:
        raise NriError(
            f"failed to parse reserved CPU quantity '{amount}': "
            f"failed to parse amount '{amount}' as resource quantity: {error}"
        ) from None


def whole_cpus(milli: int) -> int:
    """Thousandths rounded up; Go cuts the division of a negative number towards 0."""
    return int((milli + 999) / 1000)


STRINGS = frozenset(
    {
        "string",
        "policy.Amount",
        "policy.CPUTopologyLevel",
        "policy.ComponentCreationStrategy",
        "balloons.CPUPriority",
        "topologyaware.CPUPriority",
        "resmgr.Operator",
        "policy.SchedulingPolicy",
        "policy.SchedulingFlag",
        "policy.IOPriorityClass",
    }
)
FREQUENCY = "policy.Frequency"
INTEGERS = frozenset({"int", "uint", "uint64", "int64"})

#: Fields of every spec beside those of the policy.
COMMON_SPEC = {
    "control": "control.Config",
    "log": "log.Config",
    "instrumentation": "any",
    "agent": "AgentConfig",
}
COMMON: dict[str, dict[str, str]] = {
    "control.Config": {"cpu": "cpu.Config", "rdt": "any", "blockio": "blockio.Config"},
    "cpu.Config": {"classes": "map[string]Class"},
    "Class": {
        "minFreq": "uint",
        "maxFreq": "uint",
        "energyPerformancePreference": "uint",
        "uncoreMinFreq": "uint",
        "uncoreMaxFreq": "uint",
        "freqGovernor": "string",
        "disabledCstates": "[]string",
    },
    "blockio.Config": {"enable": "bool", "usePodQoSAsDefaultClass": "bool"},
    "log.Config": {"debug": "[]string", "source": "bool", "klog": "any"},
    "AgentConfig": {"nodeResourceTopology": "bool", "podResourceAPI": "bool"},
    "SchedulingClass": {
        "name": "string",
        "policy": "policy.SchedulingPolicy",
        "priority": "int",
        "flags": "[]policy.SchedulingFlag",
        "nice": "int",
        "runtime": "uint64",
        "deadline": "uint64",
        "period": "uint64",
        "ioClass": "policy.IOPriorityClass",
        "ioPriority": "int",
    },
    "CPUClass": {
        "name": "string",
        "minFreq": FREQUENCY,
        "maxFreq": FREQUENCY,
        "energyPerformancePreference": "uint",
        "uncoreMinFreq": FREQUENCY,
        "uncoreMaxFreq": FREQUENCY,
        "freqGovernor": "string",
        "disabledCstates": "[]string",
        "turboPriority": "int",
        "pctPriority": "string",
        "sstClosID": "int",
        "pctMinFreq": FREQUENCY,
        "pctMaxFreq": FREQUENCY,
        "publishExtendedResource": "bool",
    },
}


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
        return cpuclass.read_frequency(value)
    except NriError as error:
        raise NriError(f"{_REFUSED}{error}") from None


def _mismatch(kind: str, go_type: str, struct: str, path: tuple[str, ...]) -> NriError:
    where = f"Go struct field {struct.rpartition('.')[2]}.{'.'.join(path)} of type {go_type}"
    return _refused(f"cannot unmarshal {kind} into {where}")
