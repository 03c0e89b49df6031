"""Bottlerocket: settings as user data, all that can be said to it.

What the kubelet may be told is a list of its own (bottlerocket-settings-sdk,
settings-extensions/kubernetes and modeled-types). Its store keeps no order of boot arguments.
Options of the CPU manager are those of Bottlerocket 1.51.0 and later (bottlerocket#4690, #4787),
options of the topology manager those of 1.57.0 and later (bottlerocket#4778,
bottlerocket-core-kit#901); seen on 28 November 2026.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from cpuplan.backends import kubernetes, registry, unsupported
from cpuplan.base.emit import to_toml
from cpuplan.components import cmdline, kernel, kubelet
from cpuplan.components.host import sysctl
from cpuplan.diagnostics import Diagnostic
from cpuplan.diagnostics.source import Locate
from cpuplan.facts.settings.kubelet import (
    CPU_MANAGER_OPTIONS,
    CPU_MANAGER_POLICY,
    EVICTION_HARD,
    KUBE_RESERVED,
    MEMORY_MANAGER_POLICY,
    RECONCILE_PERIOD,
    RESERVED_CPUS,
    RESERVED_MEMORY,
    SYSTEM_RESERVED,
    TOPOLOGY_MANAGER_OPTIONS,
    TOPOLOGY_MANAGER_POLICY,
    TOPOLOGY_MANAGER_SCOPE,
)
from cpuplan.plan import ConfiguredPlan
from cpuplan.plan.setting import Setting, plain
from cpuplan.upstream.kubelet.policy_options import MAX_NUMA_NODES
from cpuplan.upstream.kubernetes.strconv import TRUE

#: Settings by fields of the kubelet.
_NAMES = {
    CPU_MANAGER_POLICY.key: "cpu-manager-policy",
    RECONCILE_PERIOD.key: "cpu-manager-reconcile-period",
    MEMORY_MANAGER_POLICY.key: "memory-manager-policy",
    RESERVED_CPUS.key: "reserved-cpus",
    TOPOLOGY_MANAGER_POLICY.key: "topology-manager-policy",
    TOPOLOGY_MANAGER_SCOPE.key: "topology-manager-scope",
    "podPidsLimit": "pod-pids-limit",
    "maxPods": "max-pods",
    "singleProcessOOMKill": "single-process-oom-kill",
    "cpuCFSQuota": "cpu-cfs-quota-enforced",
}
#: The same of fields that are maps.
_TABLES = {
    EVICTION_HARD.head: "eviction-hard",
    "evictionSoft": "eviction-soft",
    "evictionSoftGracePeriod": "eviction-soft-grace-period",
    KUBE_RESERVED.head: "kube-reserved",
    SYSTEM_RESERVED.head: "system-reserved",
}
_RESERVED_MEMORY, _MEMORY_TABLE = RESERVED_MEMORY.key, "memory-manager-reserved-memory"
#: A list of the options that are on.
_CPU_OPTIONS, _CPU_LIST = CPU_MANAGER_OPTIONS.head, "cpu-manager-policy-options"
#: A table: a switch, and a number.
_TOPOLOGY_OPTIONS, _TOPOLOGY_TABLE = (
    TOPOLOGY_MANAGER_OPTIONS.head,
    "topology-manager-policy-options",
)
_KNOWN_OPTIONS = {
    _CPU_OPTIONS: frozenset(
        {
            "full-pcpus-only",
            "distribute-cpus-across-numa",
            "strict-cpu-reservation",
            "prefer-align-cpus-by-uncorecache",
        }
    ),
    _TOPOLOGY_OPTIONS: frozenset({"prefer-closest-numa-nodes", MAX_NUMA_NODES}),
}
#: Arguments whose order has a meaning.
_ORDERED = ("hugepages", "hugepagesz")
manifests = unsupported.manifests
node_files = unsupported.node_files
on_node = unsupported.on_node
expected = kubernetes.expected
check_cluster = kubernetes.check_cluster
expected_of_cluster = kubernetes.expected_of_cluster
facts_of_cluster = kubernetes.facts_of_cluster


def check(plan: ConfiguredPlan, locate: Locate) -> Iterator[Diagnostic]:
    """What needs files, units or CRI-O, and what its settings have no name for."""
    yield from unsupported.check(plan, registry.lacking(plan), locate)
    for setting in plan.settings.of(kubelet.NAME):
        if not _is_known(setting):
            yield unsupported.refused(plan, setting, locate)
    for setting in plan.settings.of(kernel.NAME):
        if setting.key.startswith(_ORDERED):
            yield unsupported.refused(plan, setting, locate)


def delivered(plan: ConfiguredPlan) -> Mapping[str, bytes]:
    """The user data, by path below `out/`."""
    cluster, name = plan.node_class.key
    settings: dict[str, Any] = {"kubernetes": _kubernetes(plan.settings.of(kubelet.NAME))}
    if arguments := _arguments(plan.settings.of(kernel.NAME)):
        # Without it, arguments count from the second boot on.
        settings["boot"] = {"reboot-to-reconcile": True, "kernel-parameters": arguments}
    if values := plan.settings.values(sysctl.NAME):
        settings["kernel"] = {"sysctl": {key: str(plain(value)) for key, value in values.items()}}
    text = to_toml({"settings": settings})
    return {f"nodes/{cluster}/{name}.bottlerocket.toml": text.encode()}


def _is_known(setting: Setting) -> bool:
    """Whether its settings can say a value of the kubelet."""
    field, _, key = setting.key.partition(".")
    if key:
        return field in _TABLES or key in _KNOWN_OPTIONS.get(field, ())
    return field in _NAMES or field == _RESERVED_MEMORY


def _kubernetes(settings: Iterator[Setting] | Any) -> dict[str, Any]:
    """The kubelet's values as settings: plain ones first, since tables end them in TOML."""
    values: dict[str, Any] = {}
    tables: dict[str, Any] = {}
    for setting in settings:
        field, _, key = setting.key.partition(".")
        if field == _CPU_OPTIONS:
            if setting.value in TRUE:
                values.setdefault(_CPU_LIST, []).append(key)
        elif field == _TOPOLOGY_OPTIONS:
            tables.setdefault(_TOPOLOGY_TABLE, {})[key] = _typed(key, str(setting.value))
        elif key and field in _TABLES:
            tables.setdefault(_TABLES[field], {})[key] = plain(setting.value)
        elif field == _RESERVED_MEMORY:
            tables[_MEMORY_TABLE] = _reserved_memory(plain(setting.value))
        elif field in _NAMES:
            values[_NAMES[field]] = plain(setting.value)
    return dict(sorted(values.items())) | dict(sorted(tables.items()))


def _typed(option: str, text: str) -> int | bool | str:
    """The value of an option of the topology manager, which the settings have with its type."""
    if option != MAX_NUMA_NODES:
        return text in TRUE
    return int(text) if text.isdecimal() else text


def _reserved_memory(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Reservations by NUMA node."""
    return {str(entry["numaNode"]): {"enabled": True, **entry["limits"]} for entry in entries}


def _arguments(settings: Any) -> dict[str, list[str]]:
    """The values of each argument; none of one without a value."""
    values: dict[str, list[str]] = {}
    for name, value in cmdline.pairs(kernel.render(settings)):
        values.setdefault(name, [])
        if value is not None:
            values[name].append(value)
    return values


def fields_of(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The kubelet's fields that its settings below `kubernetes` say."""
    fields: dict[str, Any] = {}
    for names in (_NAMES, _TABLES):
        fields |= {field: settings[name] for field, name in names.items() if name in settings}
    if options := settings.get(_CPU_LIST):
        fields[_CPU_OPTIONS] = dict.fromkeys(options, "true")
    if options := settings.get(_TOPOLOGY_TABLE):
        fields[_TOPOLOGY_OPTIONS] = {name: str(value).lower() for name, value in options.items()}
    if entries := settings.get(_MEMORY_TABLE):
        fields[_RESERVED_MEMORY] = [
            {"numaNode": int(node), "limits": _limits(entry)}
            for node, entry in entries.items()
            if entry.get("enabled")
        ]
    return fields


#: The setting of each field.
SETTINGS = {
    **_NAMES,
    **_TABLES,
    _CPU_OPTIONS: _CPU_LIST,
    _TOPOLOGY_OPTIONS: _TOPOLOGY_TABLE,
    _RESERVED_MEMORY: _MEMORY_TABLE,
}


def _limits(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {name: amount for name, amount in entry.items() if name != "enabled"}
