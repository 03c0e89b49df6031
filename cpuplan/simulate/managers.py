"""What fails when the kubelet makes its managers, on every machine (container_manager_linux.go)."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from cpuplan.diagnostics.source import Field
from cpuplan.platforms.versions import Version
from cpuplan.upstream.kubelet.allowlist import check_allowlist
from cpuplan.upstream.kubelet.policy_options import static_policy_options, topology_options
from cpuplan.upstream.kubernetes import quantity
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.kube_features import Gates
from cpuplan.upstream.kubernetes.pod import HUGEPAGES
from cpuplan.upstream.kubernetes.strconv import quote

_WORD = re.compile("[A-Za-z][A-Za-z0-9-]*")
#: Fields that have other names in the kubelet's texts.
_CALLED = {
    "the limit type": "reservedMemory",
    "reserved memory": "reservedMemory",
    "pod logs path": "podLogsDir",
    "taint": "registerWithTaints",
    "CrashLoopBackOff.": "crashLoopBackOff",
    "ImageMaximumGCAge feature gate": "imageMaximumGCAge",
    "NodeLogQuery feature gate": "enableSystemLogQuery",
    "host using cgroup v1": "failCgroupV1",
    "--show-hidden-metrics": "showHiddenMetricsForVersion",
    "sysctl": "allowedUnsafeSysctls",
}


class Finding(NamedTuple):
    """A code, the kubelet's text, and the field or the line that it is about.

    `file` is the number of the file, where it is known before the field is looked for; 0 is the
    configuration file.
    """

    code: str
    text: str
    field: Field = ()
    is_key: bool = False
    line: int = 0
    file: int | None = None


def check(config: dict[str, Any], version: Version) -> Iterator[Finding]:
    """Policies and options of an effective configuration that no kubelet of the version takes."""
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


def field_of(text: str, config: dict[str, Any]) -> tuple[str, ...]:
    """The field, and its entry, that a text of the kubelet is about; empty if it names none."""
    words = _WORD.findall(text)
    for word in words:
        if word in config:
            inside = config[word]
            entry = next(
                (other for other in words if isinstance(inside, dict) and other in inside), None
            )
            return (word,) if entry is None else (word, entry)
    gates = config.get("featureGates")
    if gate := next((word for word in words if isinstance(gates, dict) and word in gates), None):
        return ("featureGates", gate)
    return next(
        ((field,) for called, field in _CALLED.items() if called in text and field in config), ()
    )
