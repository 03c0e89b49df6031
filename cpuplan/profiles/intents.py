"""PerformanceProfiles as Intents: each field, and its kubelet's, as a field of an Intent.

The operator's defaults are written out where cpuplan's differ, so that the Intent gives the same
outputs.

The rules for the kubelet are those of
pkg/performanceprofile/controller/performanceprofile/components/kubeletconfig of the operator.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from cpuplan import API_VERSION
from cpuplan.base.cpuset import CpuSet, CpuSetError, as_written
from cpuplan.base.naming import is_label
from cpuplan.base.text import did_you_mean
from cpuplan.components.openshift.performanceprofile import OWN_ANNOTATIONS, PREFIX, SNIPPET
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Field, Position, Source
from cpuplan.facts.platforms import OPENSHIFT
from cpuplan.facts.settings.kernel import IRQAFFINITY
from cpuplan.facts.settings.kubelet import (
    AMOUNTS,
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
from cpuplan.facts.versions import operator_has
from cpuplan.fleet.cluster_objects import CONFIRMED, SYNC_OPTIONS
from cpuplan.fleet.openshift import Cluster
from cpuplan.language.model.base import attributes
from cpuplan.language.model.intent import PROFILE_MODE, ProfileText
from cpuplan.language.model.tuning import Kubelet
from cpuplan.language.model.vocabulary import ALIGNING, NODE_ROLE
from cpuplan.language.read.documents import validate
from cpuplan.profiles.model import CPU_SETS, PerformanceProfileSpec
from cpuplan.upstream.kubelet.policy_options import DISTRIBUTE_ACROSS_CORES, FULL_PCPUS_ONLY
from cpuplan.upstream.kubernetes.durations import is_duration


class IntentDraft:
    """Collects fields of the Intent, each with the field of the profile that it comes from."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.spec: dict[str, Any] = {}
        self.places: dict[Field, Field] = {("spec",): ("spec",)}
        self.diagnostics: list[Diagnostic] = []
        data: Any = source.data
        self.annotations: dict[str, Any] = (data.get("metadata") or {}).get("annotations") or {}

    def put(self, path: str, value: Any, origin: str) -> None:
        """Set `spec.<path>` unless the value is None; `origin` is the profile's path below spec."""
        if value is None:
            return
        *parents, key = path.split(".")
        data = self.spec
        for depth, parent in enumerate(parents, start=1):
            data = data.setdefault(parent, {})
            self.places.setdefault(("spec", *parents[:depth]), ("spec", *origin.split(".")[:1]))
        data[key] = value
        self._place(("spec", *parents, key), value, ("spec", *_path(origin)))

    def _place(self, path: Field, value: Any, origin: Field) -> None:
        """Give a value, and the entries of a list, the places that they have in the profile."""
        self.places[path] = origin
        for index, entry in enumerate(value if isinstance(value, list) else ()):
            self.places.setdefault((*path, index), (*origin, index))
            for name in entry if isinstance(entry, dict) else ():
                self.places[*path, index, name] = (*origin, index, name)

    def annotate(self, path: tuple[str, ...], value: Any, annotation: str) -> None:
        """Set the field at `path` below spec; its place is that of the annotation."""
        data = self.spec
        for name in path[:-1]:
            data = data.setdefault(name, {})
        data[path[-1]] = value
        self.places["spec", *path] = ("metadata", "annotations", annotation)


def _path(origin: str) -> Iterator[str | int]:
    for part in origin.split("."):
        yield int(part) if part.isdecimal() else part


_HEAD = ("apiVersion", "kind")
#: Go types of the fields that an Intent has itself; the operator decodes also those that it
#: overwrites then. `components.kubelet_checks` checks all others.
_TEXTS = (
    CPU_MANAGER_POLICY.key,
    RECONCILE_PERIOD.key,
    MEMORY_MANAGER_POLICY.key,
    RESERVED_CPUS.key,
    TOPOLOGY_MANAGER_POLICY.key,
    TOPOLOGY_MANAGER_SCOPE.key,
)
_MAPS = (
    CPU_MANAGER_OPTIONS.head,
    EVICTION_HARD.head,
    KUBE_RESERVED.head,
    SYSTEM_RESERVED.head,
    TOPOLOGY_MANAGER_OPTIONS.head,
)
#: What the operator adds to a map.
_ADDED = {row.head: amounts for row, amounts in AMOUNTS.items()}


class Snippet(NamedTuple):
    """The snippet's place, the field that contains it, and the fields that the operator overwrites.

    `overwritten` has the reasons. With `defaults`, maps of amounts get what the operator adds.
    """

    place: Position
    field: str
    overwritten: Mapping[str, str]
    defaults: bool

    def fields(self, text: object) -> tuple[dict[str, Any], list[Diagnostic]]:
        """The equivalent fields of `kubelet`, and what is wrong. In Go, null is no value."""
        try:
            data = _parsed(text) if isinstance(text, str) else []
        except (ValueError, RecursionError) as error:
            return {}, [self._refused(f"it is not valid JSON ({error})", "write a JSON object")]
        if data is None:
            return {}, []
        if not isinstance(data, dict):
            return {}, [self._refused("it is not a JSON object", "write a JSON object")]
        known = attributes(Kubelet).keys() - {"configuration", "dynamicResourceAllocation"}
        fields: dict[str, Any] = {}
        problems: list[Diagnostic] = []
        for name, value in data.items():
            if name in _HEAD or value is None:
                continue
            wrong = [self._refused(*problem) for problem in _wrong(name, value)]
            if wrong:
                problems += wrong
            elif name in self.overwritten:
                problems.append(
                    diagnose(
                        "CP274",
                        self.place,
                        field=self.field,
                        name=name,
                        reason=self.overwritten[name],
                    )
                )
            elif name not in known:
                fields.setdefault("configuration", {})[name] = _without_fractions(value)
            # the kubelet's default; fields that may be empty are left out when Go writes them
            elif value != "":
                fields[name] = self._entry(name, value)
        return fields, problems

    def _entry(self, name: str, value: Any) -> Any:
        """A field that the Intent has, too; a map keeps what the operator adds to it."""
        if name == RESERVED_MEMORY.key:
            return [
                {"numaNode": item.get("numaNode", 0), "memory": str(item["limits"]["memory"])}
                for item in value
            ]
        if name not in _MAPS:
            return value
        added = _ADDED.get(name, {}) if self.defaults else {}
        return {**added, **value}

    def _refused(self, problem: str, remedy: str) -> Diagnostic:
        return diagnose("CP272", self.place, field=self.field, problem=problem, remedy=remedy)


def _parsed(text: str) -> Any:
    """JSON as Go reads it: no NaN, no half characters. ValueError for anything else."""
    data = json.loads(text, parse_constant=_no_number, parse_float=_finite)
    json.dumps(data, ensure_ascii=False).encode()  # UnicodeEncodeError is a ValueError
    return data


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is not a number")


def _finite(text: str) -> float:
    number = float(text)
    if number - number:
        _no_number(text)
    return number


def _wrong(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """(problem, remedy) for a value of the wrong type, or one that no kubelet accepts."""
    if name in _TEXTS and not isinstance(value, str):
        yield f"{name} is {_shown(value)}, not text", "write text"
    elif name == RECONCILE_PERIOD.key and not is_duration(value):
        yield f"{name} is {_shown(value)}, not a duration", 'write a duration such as "5s"'
    elif name in _MAPS:
        if not isinstance(value, dict):
            yield f"{name} is {_shown(value)}, not an object", "write an object"
            return
        for key, item in value.items():
            if not isinstance(item, str):
                yield (
                    f"{name} has {_shown(item)} for {key}, not text",
                    'write text, such as "500Mi"',
                )
    elif name == RESERVED_MEMORY.key:
        items = value if isinstance(value, list) else [None]
        if not all(map(_is_reservation, items)):
            yield (
                f"{RESERVED_MEMORY.key} has entries other than amounts of memory by NUMA node",
                (
                    'write entries such as {"numaNode": 0, "limits": {"memory": "1100Mi"}}; '
                    "nothing else can be reserved"
                ),
            )


def _is_reservation(item: Any) -> bool:
    """Whether it reserves only memory: no kubelet starts with reserved huge pages."""
    limits = item.get("limits") if isinstance(item, dict) else None
    amount = limits.get("memory") if isinstance(limits, dict) and len(limits) == 1 else None
    return isinstance(amount, str | int) and not isinstance(amount, bool)


def _without_fractions(value: Any) -> Any:
    """Numbers with a point as text: YAML documents of cpuplan have none (`read.scalars`)."""
    if isinstance(value, dict):
        return {key: _without_fractions(item) for key, item in value.items()}
    if isinstance(value, list):
        return list(map(_without_fractions, value))
    return str(value) if isinstance(value, float) else value


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:39]}…"


_FIELD = f"metadata.annotations.{SNIPPET}"
_LEFT_TO_DRIVERS = dict.fromkeys(
    (CPU_MANAGER_POLICY.key, MEMORY_MANAGER_POLICY.key, TOPOLOGY_MANAGER_POLICY.key),
    "DRA drivers give out CPUs and memory",
)


def add_kubelet(draft: IntentDraft, spec: PerformanceProfileSpec) -> None:
    """Add the fields of the snippet, then those that the operator overwrites."""
    policy = spec.numa.topology_policy if spec.numa else None
    text = draft.annotations.get(SNIPPET)
    if text is not None:
        place = draft.source.value_at(("metadata", "annotations", SNIPPET))
        drivers = bool(draft.spec.get("kubelet", {}).get("dynamicResourceAllocation"))
        overwritten = _LEFT_TO_DRIVERS if drivers else _overwritten(spec)
        fields, problems = Snippet(place, _FIELD, overwritten, not drivers).fields(text)
        draft.diagnostics += problems
        if not drivers:
            draft.diagnostics += _without_reservation(fields, policy, place)
            _add_whole_cores(fields, policy)
        if fields:
            draft.annotate(("kubelet",), {**draft.spec.get("kubelet", {}), **fields}, SNIPPET)
    if policy is not None:
        # An empty policy reaches the KubeletConfiguration as it is, and the kubelet's default is
        # none.
        draft.spec.setdefault("kubelet", {})[TOPOLOGY_MANAGER_POLICY.key] = policy or "none"
        draft.places["spec", "kubelet", TOPOLOGY_MANAGER_POLICY.key] = (
            "spec",
            "numa",
            "topologyPolicy",
        )


def _without_reservation(
    fields: dict[str, Any], policy: str | None, place: Position
) -> Iterator[Diagnostic]:
    """CP278: the Static memory manager where the operator writes no reservation.

    The operator writes one by its topology policy alone.
    """
    reserves = policy in ALIGNING and RESERVED_MEMORY.key not in fields
    static = policy in ALIGNING or fields.get(MEMORY_MANAGER_POLICY.key) == "Static"
    if static and not reserves and not fields.get(RESERVED_MEMORY.key):
        yield diagnose("CP278", place, field=_FIELD)


def _add_whole_cores(fields: dict[str, Any], policy: str | None) -> None:
    """Add full-pcpus-only to the options, as the operator does, where an Intent would not.

    It does so even with an option that the kubelet refuses next to it.
    """
    options = fields.get(CPU_MANAGER_OPTIONS.head, {})
    if policy == "single-numa-node" and DISTRIBUTE_ACROSS_CORES in options:
        options.setdefault(FULL_PCPUS_ONLY, "true")


def _overwritten(spec: PerformanceProfileSpec) -> dict[str, str]:
    """Fields of a snippet that the operator overwrites, and why."""
    reasons = {
        CPU_MANAGER_POLICY.key: "it is always static",
        RECONCILE_PERIOD.key: "it is always 5s",
        TOPOLOGY_MANAGER_POLICY.key: "it comes from spec.numa.topologyPolicy",
        RESERVED_CPUS.key: "it comes from spec.cpu.reserved",
    }
    if spec.numa and spec.numa.topology_policy in ALIGNING:
        reasons[MEMORY_MANAGER_POLICY.key] = "it is Static with this spec.numa.topologyPolicy"
    return reasons


ROLE = "machineconfiguration.openshift.io/role"
_CGROUPS = "ignore-cgroups-version"
_OVS_BALANCING = "cpu-load-balancing-ovs-dpdk"
#: What the operator accepts as yes: Go's ParseBool, or its own list. It silently treats all other
#: values as no.
_TRUE, _FALSE = ("1", "t", "T", "true", "TRUE", "True"), ("0", "f", "F", "false", "FALSE", "False")
_SWITCHES: dict[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {
    "enable-physical-dev-rps": (("true",), ("false",), ("net", "physicalDeviceRps")),
    "dra-resource-management": (_TRUE, _FALSE, ("kubelet", "dynamicResourceAllocation")),
    "pause-reconcile": (("true",), ("false",), ("paused",)),
}
_EXEC_AFFINITY, _STEERING = "exec-cpu-affinity", "enable-rps"
#: A word of the kernel command line; quotes keep blanks (kernel: lib/cmdline.c, next_arg).
_WORD = re.compile(r'(?:[^\s"]|"[^"]*"?)+')


class Translation(NamedTuple):
    """An Intent's data, and the field of the profile that each of its fields comes from."""

    data: dict[str, Any]
    places: dict[Field, Field]
    diagnostics: list[Diagnostic]

    def source(self, profile: Source) -> Source:
        """The Intent as a document whose values have their places in the profile."""
        return profile.retold(self.data, self.places)


def intent(
    name: str, spec: PerformanceProfileSpec, source: Source, cluster: Cluster
) -> Translation:
    """The Intent of the profile `name`, with the operator's values for missing fields."""
    draft = IntentDraft(source)
    _nodes(draft, spec, cluster)
    _cpus(draft, spec)
    _huge_pages(draft, spec)
    _kernel(draft, spec)
    _hints(draft, spec)
    _network(draft, spec)
    _steering(draft, spec, cluster.version)
    _annotations(draft)
    add_kubelet(draft, spec)
    lost = [*_lists(draft, spec, cluster), *_texts(draft)]
    draft.diagnostics += lost if cluster.mode else ()
    data = {
        "apiVersion": API_VERSION,
        "kind": "Intent",
        "metadata": {"name": name},
        "spec": draft.spec,
    }
    draft.places["metadata", "name"] = ("metadata", "name")
    return Translation(data, draft.places, draft.diagnostics)


def _nodes(draft: IntentDraft, spec: PerformanceProfileSpec, cluster: Cluster) -> None:
    """The selector and the target. The operator derives the pool's role from the selector."""
    nodes, named = spec.node_selector, role(spec.node_selector)
    label = spec.machine_config_label or {}
    if not label and named and cluster.pool not in ("", named):
        label = {ROLE: named}
    pool = spec.machine_config_pool_selector or cluster.pool_labels
    target = {
        "platform": "openshift",
        "version": cluster.version,
        "mode": cluster.mode if cluster.mode != "mco" else "",
        "featureSet": cluster.feature_set if cluster.feature_set != "Default" else "",
        "ociRuntime": cluster.oci_runtime,
        "pool": cluster.pool or named or label.get(ROLE),
        "nodeSelector": dict(nodes),
        "machineConfigLabel": dict(label),
        "machineConfigPoolSelector": dict(pool),
    }
    draft.put("selector.matchLabels", dict(nodes), "nodeSelector")
    draft.put("targets", [{key: value for key, value in target.items() if value}], "nodeSelector")
    draft.places["spec", "targets", 0, "machineConfigLabel"] = ("spec", "machineConfigLabel")
    draft.places["spec", "targets", 0, "machineConfigPoolSelector"] = (
        "spec",
        "machineConfigPoolSelector",
    )
    if draft.annotations.get(PREFIX + _CGROUPS) == "true":
        draft.spec["targets"][0]["ignoreCgroupsVersion"] = True
    if cluster.hosted:
        draft.spec["targets"][0]["controlPlaneTopology"] = "External"
        draft.spec["targets"][0]["mode"] = PROFILE_MODE
    elif cluster.partitioned:
        topology: dict[str, Any] = {"cpuPartitioning": True}
        # The operator does not distinguish other topologies.
        if cluster.control_plane_topology in ("HighlyAvailableArbiter", "SingleReplica"):
            topology["controlPlaneTopology"] = cluster.control_plane_topology
        further = sorted(set(cluster.pools) - {"master", "worker", target["pool"]})
        if further:
            topology["pinnedPools"] = further
        draft.spec["targets"][0].update(topology)


def role(nodes: Mapping[str, str]) -> str | None:
    """The name of the pool that a node selector selects."""
    keys = sorted(
        (key for key in nodes if "/" in key), key=lambda key: (not key.startswith(NODE_ROLE), key)
    )
    return keys[0].partition("/")[2] if keys else None


def _cpus(draft: IntentDraft, spec: PerformanceProfileSpec) -> None:
    """Pools and isolation. Empty lists stay: the operator uses no CPUs outside the lists."""
    cpu = spec.cpu
    for name in ("reserved", "shared", "isolated", "offlined"):
        cpus: CpuSet | None = getattr(cpu, name)
        if cpus or name in ("reserved", "isolated"):
            draft.put(
                f"pools.{name}", {"cpus": str(cpus or ""), "wholeCores": False}, f"cpu.{name}"
            )
    if cpu.ovs_dpdk:
        draft.put("pools.isolcpus", {"cpus": str(cpu.ovs_dpdk), "wholeCores": False}, "cpu.ovsDpdk")
        draft.put("openVSwitch.dpdk", True, "cpu.ovsDpdk")
        if _is_yes(draft, PREFIX + _OVS_BALANCING, ("disable",), (), '"disable"'):
            draft.annotate(("openVSwitch", "loadBalancing"), False, PREFIX + _OVS_BALANCING)
    draft.put("isolation.domain", cpu.balance_isolated is False, "cpu.balanceIsolated")
    if spec.globally_disable_irq_load_balancing:
        draft.put(
            "isolation.globallyDisableIrqLoadBalancing", True, "globallyDisableIrqLoadBalancing"
        )


def _huge_pages(draft: IntentDraft, spec: PerformanceProfileSpec) -> None:
    huge = spec.hugepages
    if huge is None:
        return
    draft.put(
        "hugePages.defaultSize",
        huge.default_hugepages_size or None,
        "hugepages.defaultHugepagesSize",
    )
    if not huge.pages:
        return
    pages = [
        {"size": page.size, "count": page.count}
        | ({} if page.node is None else {"numaNode": page.node})
        for page in huge.pages
    ]
    draft.put("hugePages.pages", pages, "hugepages.pages")
    for index in range(len(pages)):
        place = ("spec", "hugePages", "pages", index, "numaNode")
        draft.places[place] = ("spec", "hugepages", "pages", index, "node")


def _kernel(draft: IntentDraft, spec: PerformanceProfileSpec) -> None:
    if spec.real_time_kernel:
        draft.put("kernel.realTime", spec.real_time_kernel.enabled, "realTimeKernel.enabled")
    draft.put("kernel.pageSize", spec.kernel_page_size or None, "kernelPageSize")
    words: list[str] = []
    for index, text in enumerate(spec.additional_kernel_args or ()):
        for word in _WORD.findall(text):
            if _is_reserved(spec, word):
                draft.put("isolation.irqAffinity", True, f"additionalKernelArgs.{index}")
                continue
            draft.places["spec", "kernel", "extraArguments", len(words)] = (
                "spec",
                "additionalKernelArgs",
                index,
            )
            words.append(word)
    draft.put("kernel.extraArguments", words or None, "additionalKernelArgs")


def _is_reserved(spec: PerformanceProfileSpec, word: str) -> bool:
    """Whether an argument sends interrupts to the reserved CPUs, unless DPDK uses others."""
    name, _, value = word.partition("=")
    if name != IRQAFFINITY.key or spec.cpu.ovs_dpdk:
        return False
    try:
        return CpuSet.parse_kernel(value) == spec.cpu.reserved
    except CpuSetError:
        return False


def _hints(draft: IntentDraft, spec: PerformanceProfileSpec) -> None:
    hints = spec.workload_hints
    # An Intent mixes CPUs if there is a shared pool; the operator only with this hint.
    draft.put("runtime.mixedCpus", bool(hints and hints.mixed_cpus), "workloadHints.mixedCpus")
    if hints is None:
        return
    for name, value in (
        ("realTime", hints.real_time),
        ("highPowerConsumption", hints.high_power_consumption),
        ("perPodPowerManagement", hints.per_pod_power_management),
    ):
        draft.put(f"workloadHints.{name}", value, f"workloadHints.{name}")


def _network(draft: IntentDraft, spec: PerformanceProfileSpec) -> None:
    net, tuning = spec.net, spec.hardware_tuning
    if net and net.user_level_networking:
        draft.put("net.userLevelNetworking", True, "net.userLevelNetworking")
        devices = [
            device.model_dump(by_alias=True, exclude_none=True) for device in net.devices or ()
        ]
        draft.put("net.devices", devices or None, "net.devices")
    if tuning and tuning.isolated_cpu_freq and tuning.reserved_cpu_freq:
        draft.put(
            "hardwareTuning.isolatedCpuFreq",
            tuning.isolated_cpu_freq,
            "hardwareTuning.isolatedCpuFreq",
        )
        draft.put(
            "hardwareTuning.reservedCpuFreq",
            tuning.reserved_cpu_freq,
            "hardwareTuning.reservedCpuFreq",
        )


def _steering(draft: IntentDraft, spec: PerformanceProfileSpec, release: str) -> None:
    """Receive packet steering as the operator of the release decides on it."""
    is_new = operator_has(release, "rps.enable_is_yes") or release not in OPENSHIFT.releases
    yes, no = (("true", "enable"), ("false", "disable")) if is_new else (("true",), ("false",))
    name = PREFIX + _STEERING
    asked = _is_yes(draft, name, yes, no)
    by_default = operator_has(release, "rps.for_real_time") and is_real_time(spec)
    refused = operator_has(release, "rps.false_is_no") and draft.annotations.get(name) == "false"
    path = ("net", "receivePacketSteering")
    if name in draft.annotations and (asked or by_default):
        draft.annotate(path, asked or not refused, name)
    elif by_default:
        draft.put(".".join(path), True, "workloadHints.realTime")


def is_real_time(spec: PerformanceProfileSpec) -> bool:
    """Whether the operator takes the workloads for real-time ones: unless the hint says no."""
    return spec.workload_hints is None or spec.workload_hints.real_time is not False


def _annotations(draft: IntentDraft) -> None:
    """The operator's switches. Other annotations belong to whoever put them there."""
    for name, (yes, no, path) in _SWITCHES.items():
        if _is_yes(draft, PREFIX + name, yes, no):
            draft.annotate(path, True, PREFIX + name)
    if _is_yes(draft, PREFIX + _EXEC_AFFINITY, ("disable",), (), '"disable"'):
        draft.annotate(("runtime", "execCpuAffinity"), "none", PREFIX + _EXEC_AFFINITY)
    for name in draft.annotations:
        if name.startswith(PREFIX) and name not in OWN_ANNOTATIONS:
            place = draft.source.key_at(("metadata", "annotations", name))
            hint = did_you_mean(name, [own for own in OWN_ANNOTATIONS if own != SNIPPET])
            draft.diagnostics.append(diagnose("CP2420", place, name=name, hint=hint))


def _is_yes(
    draft: IntentDraft,
    annotation: str,
    yes: tuple[str, ...],
    no: tuple[str, ...],
    expected: str = '"true" or "false"',
) -> bool:
    value = draft.annotations.get(annotation)
    if value is not None and value not in (*yes, *no):
        place = draft.source.value_at(("metadata", "annotations", annotation))
        field = f"metadata.annotations.{annotation}"
        draft.diagnostics.append(
            diagnose("CP273", place, field=field, value=value or "empty", expected=expected)
        )
    return value in yes


#: What others than the operator keep in annotations for themselves.
_BOOKKEEPING = (
    "argocd.argoproj.io/tracking-id",
    "kubectl.kubernetes.io/last-applied-configuration",
)
#: Lists that the operator copies into files of nodes (P/machineconfig/machineconfig.go), and one
#: for TuneD (`profile.isolated_as_written`).
_COPIED = ("reserved", "shared")


def _lists(
    draft: IntentDraft, spec: PerformanceProfileSpec, cluster: Cluster
) -> Iterator[Diagnostic]:
    """Keep the texts of lists that are not in normal form; CP2403 for what no field takes."""
    data: Any = draft.source.data
    is_copied = operator_has(cluster.version, "profile.isolated_as_written")
    copied = (*_COPIED, "isolated") if is_copied else _COPIED
    for name, attribute in CPU_SETS.items():
        cpus, text = getattr(spec.cpu, attribute), data["spec"]["cpu"].get(name)
        if not cpus or str(cpus) == text:
            continue
        try:
            as_written(text)
        except CpuSetError:
            if name in copied:
                field = ("spec", "cpu", name)
                problem = (
                    f"becomes {cpus}: the operator copies the text into files of nodes, so that "
                    "each node of the pool is drained and reboots once"
                )
                remedy = "write each CPU once in the profile, and let its nodes reboot first"
                yield _lost(draft, field, f"{name} ({text})", problem, remedy)
            continue
        _of_target(draft).setdefault("lists", {})[name] = text
        draft.places["spec", "targets", 0, "profile", "lists", name] = ("spec", "cpu", name)


def _of_target(draft: IntentDraft) -> dict[str, Any]:
    of_profile: dict[str, Any] = draft.spec["targets"][0].setdefault("profile", {})
    return of_profile


def _texts(draft: IntentDraft) -> Iterator[Diagnostic]:
    """Keep labels and annotations; CP2403 for those that no field takes, or no object has."""
    data: Any = draft.source.data
    is_profile = draft.spec["targets"][0].get("mode") == PROFILE_MODE
    for key, is_usable in (("labels", is_label), ("annotations", _is_annotation)):
        for name, text in ((data.get("metadata") or {}).get(key) or {}).items():
            is_own = name == SYNC_OPTIONS and text == CONFIRMED
            if text is None or is_own or name in (*_BOOKKEEPING, *OWN_ANNOTATIONS):
                continue
            field = ("metadata", key, name)
            what = f"{key.removesuffix('s')} {name}"
            if not is_usable(name, text):
                remedy = "shorten it, without control characters, or add it in the cluster"
                yield _lost(draft, field, what, "is not kept: no field takes its text", remedy)
                continue
            _of_target(draft).setdefault(key, {})[name] = text
            draft.places["spec", "targets", 0, "profile", key, name] = field
            if not is_profile:
                problem = "has no effect in mode mco, which writes no profile"
                remedy = "import with `--mode performanceProfile` to keep the profile and its text"
                yield _lost(draft, field, what, problem, remedy)


def _is_annotation(name: str, text: str) -> bool:
    """Whether an Intent takes it."""
    data: Any = {"annotations": {name: text}}
    return validate(ProfileText, Source("", data, {}, (0, 0)), ())[0] is not None


def _lost(draft: IntentDraft, field: Field, what: str, problem: str, remedy: str) -> Diagnostic:
    place = draft.source.key_at(field)
    return diagnose("CP2403", place, what=what, problem=problem, remedy=remedy)
