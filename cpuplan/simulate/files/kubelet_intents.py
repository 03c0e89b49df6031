"""A kubelet's configuration as an Intent that compiles to the same settings.

Beside the kubelet nothing is set: what cpuplan adds for isolated CPUs is switched off. What an
Intent cannot say is told, each at its line.
"""

import json
from collections.abc import Collection, Mapping
from functools import reduce
from typing import Any, NamedTuple

from cpuplan import API_VERSION
from cpuplan.base.cpuset import CpuSet
from cpuplan.base.topology import Topology
from cpuplan.diagnostics import Diagnostic, diagnose, errors
from cpuplan.diagnostics.source import Position, Source
from cpuplan.facts import platforms
from cpuplan.facts.settings.kubelet import (
    CPU_MANAGER_OPTIONS,
    CPU_MANAGER_POLICY,
    ENFORCED,
    EVICTION_HARD,
    FEATURE_GATES,
    KUBE_RESERVED,
    MEMORY_MANAGER_POLICY,
    RESERVED_CGROUP,
    RESERVED_CPUS,
    RESERVED_MEMORY,
    SYSTEM_RESERVED,
)
from cpuplan.facts.versions import Version
from cpuplan.language.model.base import attributes
from cpuplan.language.model.tuning import Kubelet as KubeletModel
from cpuplan.language.read.documents import validate
from cpuplan.simulate.files import kubelet_configuration
from cpuplan.simulate.files.kubelet_configuration import place_of
from cpuplan.simulate.files.kubelet_documents import Judged
from cpuplan.upstream.kubelet import node_container_manager, server
from cpuplan.upstream.kubelet.config import types
from cpuplan.upstream.kubelet.config.codec import encode, merge, raw_fields
from cpuplan.upstream.kubelet.config.options import override
from cpuplan.upstream.kubelet.kubelet import Kubelet
from cpuplan.upstream.kubelet.sysinfo import machine_of
from cpuplan.upstream.kubernetes.bits import parse_cpus, to_text
from cpuplan.upstream.kubernetes.durations import is_duration, parse_duration
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.pod import CPU
from cpuplan.upstream.kubernetes.quantity import ZERO

#: What cpuplan sets by default beside the kubelet, and what it needs there (docs/defaults.md).
_ISOLATION = ("managedIrq", "nohzFull", "rcuNocbs", "irqAffinity")
_DEFAULTS = ("infra-containers", "system-services", "workqueues")
_BECAUSE = "imported: the nodes do not have it"
#: A header of requests may hold a password.
_SECRET = "staticPodURLHeader"  # noqa: S105 - the name of a field
#: kubeadm gives it as a flag, and no intent changes it.
_SOCKET = "containerRuntimeEndpoint"
_ALL_ENFORCED = ("pods", "none", "")
#: A threshold that is none (pkg/kubelet/eviction/helpers.go, parseThresholdStatement).
_NEVER = "0%"
_OWN = frozenset(attributes(KubeletModel)) & frozenset(types.NAMES)


class Wanted(NamedTuple):
    """What no kubelet's configuration says: the Intent's name, its nodes, and their target.

    `topology` is the machine, where it is known. Of an `is_effective` configuration all fields are
    there, with those that nobody has set.
    """

    name: str
    selector: Mapping[str, Any]
    target: Mapping[str, Any]
    topology: Topology | None = None
    is_effective: bool = False

    @property
    def version(self) -> Version:
        """The kubelet's release."""
        return platforms.PLATFORMS[self.target["platform"]].releases[self.target["version"]]


class Made(NamedTuple):
    """The Intent, None with errors; and what is to be said of it."""

    intent: dict[str, Any] | None
    diagnostics: tuple[Diagnostic, ...] = ()


def intent(judged: Judged, wanted: Wanted) -> Made:
    """The Intent of a kubelet that starts with its configuration."""
    problems = kubelet_configuration.check(
        judged.main,
        wanted.version,
        judged.drop_ins,
        command=judged.command,
        is_partial=judged.is_partial,
    )
    if errors(problems):
        return Made(None, tuple(problems))
    draft = _Draft(judged, wanted)
    draft.tell_of_flags()
    spec = {
        "selector": dict(wanted.selector),
        "targets": [dict(wanted.target)],
        **draft.pools(),
        "isolation": dict.fromkeys(_ISOLATION, False),
        "kubelet": draft.kubelet(),
        "defaults": [{"disable": name, "because": _BECAUSE} for name in _DEFAULTS],
    }
    problems += draft.diagnostics
    if errors(problems):
        return Made(None, tuple(problems))
    head = {"apiVersion": API_VERSION, "kind": "Intent", "metadata": {"name": wanted.name}}
    return Made({**head, "spec": spec}, tuple(problems))


class _Draft:
    """Takes a configuration apart, and collects what is said of it."""

    def __init__(self, judged: Judged, wanted: Wanted) -> None:
        self.judged, self.wanted = judged, wanted
        self.files = (judged.main, *judged.drop_ins)
        self.diagnostics: list[Diagnostic] = []
        self.fields = _stated(judged, wanted.version)
        if not judged.is_partial:
            kept = () if wanted.is_effective else _OWN
            self.fields = _needed(self.fields, wanted.version, kept)
        self.reserved = str(self.fields.pop(RESERVED_CPUS.key, None) or "")
        self._list_by_amounts()

    def _at(self, *field: str) -> Position | None:
        return place_of(self.files, self.judged.command, field)

    def _say(self, code: str, *field: str, **values: Any) -> None:
        self.diagnostics.append(
            diagnose(code, self._at(*field), field=".".join(map(str, field)), **values)
        )

    def tell_of_flags(self) -> None:
        """CP2530: they count more than the file that is compiled."""
        flags = ", ".join(sorted(self.judged.command.fields.keys() - {_SOCKET}))
        if flags:
            self.diagnostics.append(diagnose("CP2530", self.judged.command.place, fields=flags))

    @property
    def _is_static(self) -> bool:
        return self.fields.get(CPU_MANAGER_POLICY.key) == "static"

    # Pools

    def _list_by_amounts(self) -> None:
        """The CPUs that the static policy would reserve by amounts, as a list."""
        self.number = 0 if self.reserved or not self._is_static else self._amount()
        if self.number and self.wanted.topology:
            self.reserved = self._by_port(self.wanted.topology)
        if self.number:
            self._without_cgroups()

    def _amount(self) -> int:
        """How many CPUs the policy keeps for amounts; at least one, as it would not start else."""
        parts = [
            node_container_manager.parse_reserved(self.fields.get(row.head) or {}).get(CPU, ZERO)
            for row in (SYSTEM_RESERVED, KUBE_RESERVED)
        ]
        nano = sum(part.nano for part in parts)
        return max(1, -(-nano // 10**9))

    def _by_port(self, topology: Topology) -> str:
        names = (
            CPU_MANAGER_POLICY.key,
            CPU_MANAGER_OPTIONS.head,
            KUBE_RESERVED.head,
            SYSTEM_RESERVED.head,
            FEATURE_GATES.head,
        )
        config = {name: self.fields[name] for name in names if self.fields.get(name)}
        try:
            kubelet = Kubelet(config, machine_of(topology), version=self.wanted.version)
        except KubeletError:
            return ""
        policy = kubelet.cpus.policy
        return to_text(policy.reserved) if policy else ""

    def _amount_field(self) -> str:
        rows = (SYSTEM_RESERVED, KUBE_RESERVED)
        named = (row.head for row in rows if CPU in (self.fields.get(row.head) or {}))
        return next(named, CPU_MANAGER_POLICY.key)

    def _unknown(self) -> str:
        """Why the CPUs of amounts are not known."""
        if self._amount_field() == CPU_MANAGER_POLICY.key:
            return "because the platform's own configuration says how many"
        return "because it takes them by the machine"

    def _without_cgroups(self) -> None:
        """A kubelet with a list of CPUs takes no cgroups of reservations, and enforces none."""
        for reserver in ("kube", "system"):
            key = RESERVED_CGROUP.of(reserver=reserver)
            if self.fields.get(key):
                problem = f"becomes empty: a kubelet with {RESERVED_CPUS.key} does not take it"
                self._say("CP2526", key, problem=problem)
                self.fields[key] = ""
        enforced = self.fields.get(ENFORCED.key)
        kept = [name for name in enforced or () if name in _ALL_ENFORCED]
        if enforced and kept != enforced:
            problem = f"becomes {', '.join(kept) or 'none'}: the others need a cgroup"
            self._say("CP2526", ENFORCED.key, problem=problem)
            self.fields[ENFORCED.key] = kept or ["none"]

    def pools(self) -> dict[str, Any]:
        """The reserved CPUs, and the rules that would have them otherwise."""
        if self.reserved:
            return {"pools": {"reserved": self._listed(), "isolated": "rest"}}
        if self.number:
            self._say("CP2528", self._amount_field(), number=self.number, reason=self._unknown())
            reserved: dict[str, Any] = {"count": self.number, "wholeCores": False}
            return {"pools": {"reserved": reserved, "isolated": "rest"}}
        off = ("reserved-not-empty", "cpu0-reserved")
        rules = [{"disable": name, "because": "imported: nothing is reserved"} for name in off]
        return {"pools": {"reserved": {"count": 0}, "isolated": "rest"}, "rules": rules}

    def _listed(self) -> str | dict[str, Any]:
        text = to_text(parse_cpus(self.reserved))
        if self.number:
            problem = (
                f"becomes {RESERVED_CPUS.key}: {text}, the CPUs that the kubelet takes of this "
                "machine; pods can allocate whole CPUs less"
            )
            self._say("CP2526", self._amount_field(), problem=problem)
        topology, cpus = self.wanted.topology, CpuSet.parse(text)
        cores = topology.cores.values() if topology else ()
        splits = topology is None or any(core & cpus and core - cpus for core in cores)
        return {"cpus": text, "wholeCores": False} if splits else text

    # The kubelet

    def kubelet(self) -> dict[str, Any]:
        """Fields of the Intent, and all others as they are."""
        own: dict[str, Any] = {CPU_MANAGER_POLICY.key: "none"}
        further: dict[str, Any] = {}
        for name, value in self.fields.items():
            if name in _OWN:
                own |= self._own(name, value)
            elif name == _SECRET:
                remedy = "set it on the nodes, outside of Git"
                self._say("CP2525", name, problem="it may hold a password", remedy=remedy)
            elif name in types.NAMES and value != {}:
                further[name] = _plain(value)
        own = {**self._sum_of_memory(), **own}
        return {**own, **({"configuration": further} if further else {})}

    def _sum_of_memory(self) -> dict[str, Any]:
        """What the memory manager's reservation is the sum of, also where nobody says it."""
        is_static = self.fields.get(MEMORY_MANAGER_POLICY.key) == "Static"
        if not is_static or self.judged.is_partial:
            return {}
        usual = _usual(self.wanted.version)
        heads = (row.head for row in (KUBE_RESERVED, SYSTEM_RESERVED, EVICTION_HARD))
        return {head: usual.get(head, {}) for head in heads}

    def _own(self, name: str, value: Any) -> dict[str, Any]:
        if name == EVICTION_HARD.head and value == {}:
            # An intent without entries writes none, and the kubelet takes its own ones.
            value = dict.fromkeys(_usual(self.wanted.version)[name], _NEVER)
            self._say("CP2526", name, problem=f"gets the value {_NEVER} for each signal")
        if value in ({}, [], ""):
            return {}
        if name == RESERVED_MEMORY.key:
            value = [
                {"numaNode": entry.get("numaNode", 0), "memory": str(entry["limits"]["memory"])}
                for entry in value
            ]
        data: Any = {name: value}
        _, problems = validate(KubeletModel, Source("", data, {}, (0, 0)), ())
        for problem in problems:
            self._say("CP2527", name, problem=problem.message, remedy=problem.remedy)
        return {} if problems else data


def _stated(judged: Judged, version: Version) -> dict[str, Any]:
    """What files and flags say, without what lies under them; names as the kubelet has them."""
    parts = []
    for number, file in enumerate((judged.main, *judged.drop_ins)):
        if file.path:
            fields = types.of_version(raw_fields(file.text), version)
            parts.append(_read(fields, types.KIND, any_case=number > 0))
    merged: dict[str, Any] = reduce(merge, parts, {})
    merged = override(merged, judged.command.fields)
    return {name: value for name, value in merged.items() if value is not None}


def _read(value: Any, go_type: str, *, any_case: bool) -> Any:
    """The fields that the kubelet reads, in the case that it has them in."""
    go_type = go_type.removeprefix("*")
    if isinstance(value, list):
        inner = go_type.removeprefix("[]")
        return [_read(item, inner, any_case=any_case) for item in value]
    if not isinstance(value, dict) or go_type not in types.STRUCTS:
        return value
    fields = types.STRUCTS[go_type]
    names = {name.lower() if any_case else name: name for name in fields}
    known = {}
    for key, item in value.items():
        name = names.get(str(key).lower() if any_case else key)
        if name is not None:
            known[name] = _read(item, fields[name], any_case=any_case)
    return known


def _usual(version: Version) -> dict[str, Any]:
    """The configuration of a kubelet that nobody tells anything."""
    return encode(_loaded({}, version))


def _needed(fields: Mapping[str, Any], version: Version, kept: Collection[str]) -> dict[str, Any]:
    """The fields without which the kubelet would be another, and those that are `kept` anyway."""
    needed: dict[str, Any] = _without_zeros(fields, types.KIND)
    whole = _loaded(needed, version)
    for name in list(needed):
        rest = {other: value for other, value in needed.items() if other != name}
        if name not in kept and _loaded(rest, version) == whole:
            needed = rest
    return needed


def _without_zeros(value: Any, go_type: str) -> Any:
    """The same without Go's zero values, which kubeadm writes: they are as good as no value."""
    if go_type not in types.STRUCTS or not isinstance(value, dict):
        return value
    fields = types.STRUCTS[go_type]
    left = {name: _without_zeros(inner, fields[name]) for name, inner in value.items()}
    return {name: inner for name, inner in left.items() if not _is_zero(inner, fields[name])}


_AMOUNTS = ("any", "Quantity")


def _is_zero(value: Any, go_type: str) -> bool:
    """Whether it is nothing: a text, a number, a switch, a duration, an amount, or a struct."""
    if go_type.startswith(("*", "map[", "[]")):
        return False
    if "Duration" in go_type and isinstance(value, str) and is_duration(value):
        return parse_duration(value) == 0
    return value in ("", 0, False, {}) or (go_type in _AMOUNTS and value == "0")


def _loaded(fields: Mapping[str, Any], version: Version) -> dict[str, Any]:
    text = json.dumps({"apiVersion": types.API_VERSION, "kind": types.KIND, **fields})
    return server.load(text, version=version).config


def _plain(value: Any) -> Any:
    """A value as documents have it: numbers with a point as text, and nothing that is null."""
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items() if item is not None}
    if isinstance(value, list):
        return list(map(_plain, value))
    return json.dumps(value) if isinstance(value, float) else value
