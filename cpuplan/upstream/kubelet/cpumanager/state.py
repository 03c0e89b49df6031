"""The state of the CPU manager and its file (pkg/kubelet/cm/cpumanager/state).

Upstream: kubernetes/kubernetes pkg/kubelet/cm/cpumanager/state/state_checkpoint.go
  pkg/kubelet/cm/cpumanager/state/checkpoint.go pkg/kubelet/cm/cpumanager/state/state_mem.go
  @ 24e2b02af5543d7910c2bb074c7264df5a8f0467
"""

from collections.abc import Mapping
from typing import Any

from cpuplan.upstream.kubelet.manager import (
    Entries,
    checksum,
    dump_map,
    is_verified,
    read_data,
    unreadable,
    write_checkpoint,
    write_data,
)
from cpuplan.upstream.kubernetes.bits import members, parse_cpus, to_text
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.json import STRING, UINT64, Type, loads, map_of
from cpuplan.upstream.kubernetes.kube_features import Gates, has_behaviour
from cpuplan.upstream.kubernetes.strconv import quote

#: The name of the file in the kubelet's state folder (/var/lib/kubelet).
FILE = "cpu_manager_state"
#: (pod UID, container name) of container IDs, by which the first format knew containers.
ContainerRefs = Mapping[str, tuple[str, str]]

_HEAD = {
    "policyName": STRING,
    "defaultCpuSet": STRING,
    "checksum": UINT64._replace(go_type="checksum.Checksum"),
}
_V1 = Type("state.CPUManagerCheckpointV1", "object", {**_HEAD, "entries": map_of(STRING)})
_V2 = Type("state.CPUManagerCheckpointV2", "object", {**_HEAD, "entries": map_of(map_of(STRING))})
_POD_ENTRY = Type("state.PodEntry", "object", {"cpuSet": STRING})
_V3 = Type("state.CPUManagerCheckpoint", "object", {**_V2.fields, "podEntries": map_of(_POD_ENTRY)})
_V4 = Type(
    "state.CPUManagerCheckpointData",
    "object",
    {name: kind for name, kind in _V3.fields.items() if name != "checksum"},
)


class CPUState(Entries[int]):
    """The shared pool, and the CPUs of containers and (with pod-level managers) of whole pods."""

    def __init__(
        self,
        default: int = 0,
        entries: Mapping[str, Mapping[str, int]] | None = None,
        pod_entries: Mapping[str, int] | None = None,
    ) -> None:
        super().__init__()
        self.default = default
        self.entries = {pod: dict(containers) for pod, containers in (entries or {}).items()}
        self.pod_entries = dict(pod_entries or {})

    def cpus_of(self, pod: str, container: str) -> int | None:
        """A container's own CPUs; None when it runs in the shared pool."""
        return self.entries.get(pod, {}).get(container)

    def set_cpus(self, pod: str, container: str, cpus: int) -> None:
        self.entries.setdefault(pod, {})[container] = cpus


def dump(state: CPUState, policy: str, gates: Gates) -> str:
    """The file's content."""
    content: dict[str, Any] = {
        "policyName": policy,
        "defaultCpuSet": to_text(state.default),
        "entries": {pod: _texts(containers) for pod, containers in state.entries.items()},
    }
    if gates.enabled("PodLevelResourceManagers"):
        content["podEntries"] = {
            pod: {"cpuSet": to_text(cpus)} for pod, cpus in state.pod_entries.items()
        }
    if has_behaviour(gates.version, "state.data"):
        # A checksum of 0 passes in the format that older kubelets read.
        return write_data(content, content, 0)
    return write_checkpoint(content, checksum(hash_input(content)))


def _texts(containers: Mapping[str, int]) -> dict[str, str]:
    return {name: to_text(cpus) for name, cpus in containers.items()}


def hash_input(content: Mapping[str, Any]) -> str:
    """The text that the checksum covers: Go's dump of the struct.

    Sets of whole pods are dumped by their members.
    """
    pods = content.get("entries", {}).items()
    entries = dump_map({pod: dump_map(containers) for pod, containers in pods})
    return _hash_input(content, "CPUManagerCheckpoint", "map[string]map[string]string", entries)


def hash_input_v1(content: Mapping[str, Any], name: str) -> str:
    """The same for the first format, whose struct had another `name` once."""
    entries = dump_map(content.get("entries", {}))
    return _hash_input(content, name, "map[string]string", entries)


def _hash_input(content: Mapping[str, Any], name: str, entry_type: str, entries: str) -> str:
    pods = ""
    if "podEntries" in content:
        sets = {
            pod: _dump_pod_entry(entry.get("cpuSet", ""))
            for pod, entry in content["podEntries"].items()
        }
        pods = f" PodEntries:(state.PodCPUAssignments){dump_map(sets)}"
    return (
        f"(*state.{name}){{PolicyName:(string){content.get('policyName', '')}"
        f" DefaultCPUSet:(string){content.get('defaultCpuSet', '')}"
        f" Entries:({entry_type}){entries}{pods} Checksum:(checksum.Checksum)0}}"
    )


def _dump_pod_entry(text: str) -> str:
    elements = " ".join(f"{cpu}:{{}}" for cpu in members(parse_cpus(text)))
    return f"{{CPUSet:(cpuset.CPUSet){{elems:(map[int]struct {{}})map[{elements}]}}}}"


def load(
    text: str | None,
    policy: str,
    gates: Gates,
    folder: str = "/var/lib/kubelet",
    containers: ContainerRefs | None = None,
) -> CPUState:
    """The state in a file; an empty state without a file (None).

    KubeletError where the kubelet does not start.

    The newest format is tried first, and the error is that of the oldest (state_checkpoint.go,
    restoreState).
    """
    if text is None:
        return CPUState()
    try:
        return _restore(text, policy, gates, containers or {})
    except KubeletError as error:
        raise unreadable(error, "CPU manager", f"{folder}/{FILE}") from None


def _restore(text: str, policy: str, gates: Gates, containers: ContainerRefs) -> CPUState:
    content = _decode(text, gates)
    entries = content.get("entries", {})
    if content["format"] == 1:
        entries = _migrate(entries, containers)
    written = content.get("policyName", "")
    if written != policy:
        policies = f"{quote(policy)} differs from state checkpoint policy {quote(written)}"
        raise KubeletError(f"configured policy {policies}")
    default = content.get("defaultCpuSet", "")
    try:
        default_cpus = parse_cpus(default)
    except KubeletError as error:
        raise KubeletError(f"could not parse default cpu set {quote(default)}: {error}") from None
    assigned: dict[str, dict[str, int]] = {}
    for pod, sets in entries.items():
        assigned[pod] = {}
        for container, cpus in sets.items():
            try:
                assigned[pod][container] = parse_cpus(cpus)
            except KubeletError as error:
                what = f"cpuset {quote(cpus)} for container {quote(container)} in pod {quote(pod)}"
                raise KubeletError(f"could not parse {what}: {error}") from None
    pods = {
        pod: parse_cpus(entry.get("cpuSet", ""))
        for pod, entry in content.get("podEntries", {}).items()
    }
    return CPUState(default_cpus, assigned, pods)


def _decode(text: str, gates: Gates) -> dict[str, Any]:
    """The content in the newest format that fits and has the right checksum.

    Only the third format must have a checksum. Since 1.37 the first one is no longer read.
    """
    has_pods = gates.enabled("PodLevelResourceManagers")
    has_data = has_behaviour(gates.version, "state.data")
    if has_data and (known := read_data(text, _V3, _V4, "cpu manager", 4)) is not None:
        if not has_pods:
            known.pop("podEntries", None)
        return {**known, "format": 4}
    formats = [(3, _V3), (2, _V2)] if has_pods or has_data else [(2, _V2)]
    for number, shape in formats:
        try:
            content = loads(text, shape)
            if number == 3:
                content.setdefault("podEntries", {})
            if is_verified(content, hash_input(content), may_lack=number < 3):
                return {**content, "format": number}
        except KubeletError:
            continue
    if has_data:
        loads(text, _V2)
        raise KubeletError("checkpoint is corrupted")
    content = loads(text, _V1)
    # Kubelets before 1.18 wrote it when the struct had the name that the second format has now.
    dumped = hash_input_v1(content, "CPUManagerCheckpoint")
    if not is_verified(content, dumped, may_lack=True):
        raise KubeletError("checkpoint is corrupted")
    return {**content, "format": 1}


def _migrate(entries: Mapping[str, str], containers: ContainerRefs) -> dict[str, dict[str, str]]:
    migrated: dict[str, dict[str, str]] = {}
    for identifier, cpus in entries.items():
        if identifier not in containers:
            reason = f"containerID '{identifier}' not found in initial containers list"
            raise KubeletError(
                f"error migrating v1 checkpoint state to v2 checkpoint state: {reason}"
            )
        pod, container = containers[identifier]
        migrated.setdefault(pod, {})[container] = cpus
    return migrated
