"""What a kubelet makes of a KubeletConfiguration file, without a machine; findings by line."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.kubelet import quantity
from cpuplan.kubelet.config import files
from cpuplan.kubelet.config.decoding import DUPLICATES, DecodeError, raw_fields
from cpuplan.kubelet.config.fields import API_VERSION, KIND
from cpuplan.kubelet.errors import KubeletError, PanicError
from cpuplan.kubelet.go.text import quote
from cpuplan.kubelet.pods.pod import HUGEPAGES
from cpuplan.kubelet.releases.features import Gates
from cpuplan.kubelet.releases.policy_options import static_policy_options, topology_options
from cpuplan.kubelet.sysctls import check_allowlist
from cpuplan.simulate.traps import field_of
from cpuplan.source import Field, Position, Source
from cpuplan.versions import Version

_KIND = re.compile(rf"""^\s*["']?kind["']?\s*:\s*["']?{KIND}\b""", re.MULTILINE)
#: A KubeletConfig of OpenShift holds one: the file itself is none.
_MACHINE_CONFIG_API = re.compile(
    r"""["']?apiVersion["']?\s*:\s*["']?machineconfiguration\.openshift\.io/"""
)
_LINE = re.compile(r"\bline ([0-9]+):")
_UNKNOWN = re.compile('unknown field "(.*)"')
_STRUCT_FIELD = re.compile(r"Go struct field \w+\.(\S+) of type")
_PART = re.compile(r"[^.\[\]]+")


class Finding(NamedTuple):
    """A code, the kubelet's text, and the field or the line that it is about."""

    code: str
    text: str
    field: Field = ()
    is_key: bool = False
    line: int = 0


def is_kubelet_configuration(text: str) -> bool:
    """Whether a file says so of itself."""
    named = API_VERSION.partition("/")[0] in text and bool(_KIND.search(text))
    return named and not _MACHINE_CONFIG_API.search(text)


def check(
    path: str, text: str, version: Version, *, openshift: bool = False, cgroup_v1: bool = False
) -> list[Diagnostic]:
    """Everything that a kubelet of the version refuses, or drops with only a line in its log."""
    from cpuplan.read import yaml

    # Problems of this reader are not the kubelet's: it takes octal numbers, anchors and keys that
    # are there twice.
    sources, _ = yaml.parse(path, text)
    source = sources[0] if sources else None
    diagnostics = []
    for finding in findings(text, version, openshift=openshift, cgroup_v1=cgroup_v1):
        position = _position(path, source, finding)
        diagnostics.append(
            diagnose(finding.code, position, where="this file", problem=finding.text)
        )
    return diagnostics


def findings(
    text: str, version: Version, *, openshift: bool = False, cgroup_v1: bool = False
) -> Iterator[Finding]:
    """The same without places."""
    try:
        loaded = files.load(text, version=version, is_openshift=openshift, cgroup_v1=cgroup_v1)
    except files.StageError as error:
        cause = error.__cause__
        yield from _dropped(cause.strict_errors if isinstance(cause, DecodeError) else ())
        line = _LINE.search(str(error))
        field = _STRUCT_FIELD.search(str(error))
        yield Finding(
            "CP710", str(error), _parts(field[1]) if field else (), line=int(line[1]) if line else 0
        )
        return
    except PanicError as error:
        raw = raw_fields(text)
        yield Finding(
            "CP702",
            str(error),
            field_of(str(error), {"featureGates": raw.get("featureGates")}),
            is_key=True,
        )
        return
    yield from _dropped(loaded.strict_errors)
    raw = raw_fields(text)
    for problem in loaded.errors:
        yield Finding("CP703", problem, field_of(problem, raw))
    yield from _check_managers(loaded.config, version)


def _dropped(strict_errors: Iterable[str]) -> Iterator[Finding]:
    """What the strict decoder refuses; all repeated keys are one text of the kubelet."""
    for error in strict_errors:
        for text in error.removeprefix(DUPLICATES).split("\n"):
            line, field = _LINE.search(text), _UNKNOWN.search(text)
            parts = _parts(field[1]) if field else ()
            yield Finding("CP709", text.strip(), parts, True, int(line[1]) if line else 0)


def _parts(path: str) -> Field:
    """`reservedMemory[0].numaNode` as the way to a value."""
    return tuple(int(part) if part.isdecimal() else part for part in _PART.findall(path))


def _check_managers(config: dict[str, Any], version: Version) -> Iterator[Finding]:
    """What fails when the managers are made, on every machine (container_manager_linux.go)."""
    gates = Gates(config.get("featureGates") or {}, version)
    policy, options = config["cpuManagerPolicy"], config.get("cpuManagerPolicyOptions") or {}
    if policy not in ("none", "static"):
        yield Finding("CP703", f"unknown policy: {quote(policy)}", ("cpuManagerPolicy",))
    elif policy == "none" and options:
        shown = " ".join(f"{key}:{options[key]}" for key in sorted(options))
        text = f"new none policy error: None policy: received unsupported options=map[{shown}]"
        yield Finding("CP703", text, ("cpuManagerPolicyOptions",), is_key=True)
    elif policy == "static":
        yield from _options(
            "cpuManagerPolicyOptions", options, lambda: static_policy_options(options, gates)
        )
        amounts = [
            (config.get(field) or {}).get("cpu", "0")
            for field in ("systemReserved", "kubeReserved")
        ]
        if not config.get("reservedSystemCPUs") and not any(map(_is_more_than_nothing, amounts)):
            text = "[cpumanager] unable to determine reserved CPU resources for static policy"
            yield Finding("CP703", text, ("cpuManagerPolicy",))
    if config["topologyManagerPolicy"] != "none":
        given = config.get("topologyManagerPolicyOptions") or {}
        yield from _options(
            "topologyManagerPolicyOptions", given, lambda: topology_options(given, gates)
        )
    try:
        check_allowlist(config.get("allowedUnsafeSysctls") or ())
    except KubeletError as error:
        yield Finding("CP703", str(error), ("allowedUnsafeSysctls",))
    memory = config["memoryManagerPolicy"]
    if memory not in ("None", "Static"):
        yield Finding("CP703", f"unknown policy: {quote(memory)}", ("memoryManagerPolicy",))
    for index, entry in enumerate(config.get("reservedMemory") or () if memory == "Static" else ()):
        for kind in entry.get("limits") or {}:
            if kind.startswith(HUGEPAGES):
                yield Finding("CP711", kind, ("reservedMemory", index, "limits", kind), is_key=True)


def _is_more_than_nothing(amount: str) -> bool:
    """An amount that is none is found on the machine, where all reservations are read."""
    try:
        return quantity.parse(amount).nano > 0
    except KubeletError:
        return True


def _options(field: str, options: dict[str, str], parse: Any) -> Iterator[Finding]:
    try:
        parse()
    except KubeletError as error:
        entry = next((name for name in options if name in str(error)), None)
        yield Finding("CP703", str(error), (field,) if entry is None else (field, entry))


def _position(path: str, source: Source | None, finding: Finding) -> Position:
    if finding.line or source is None:
        return Position(path, finding.line or 1, 1)
    return (
        source.key_at(finding.field)
        if finding.is_key and finding.field
        else source.value_at(finding.field)
    )
