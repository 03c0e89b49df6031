"""What the CPU and the memory manager of a running kubelet have in common.

Upstream: kubernetes/kubernetes pkg/kubelet/cm/cpumanager/cpu_manager.go
  pkg/kubelet/cm/memorymanager/memory_manager.go pkg/kubelet/checkpointmanager/checkpoint_manager.go
  pkg/kubelet/checkpointmanager/checksum/checksum.go @ 24e2b02af5543d7910c2bb074c7264df5a8f0467
"""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, Protocol, TypeVar

from cpuplan.upstream.kubelet.topologymanager.policy import ProviderHints, TopologyHint
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.json import STRING, UINT64, Type, loads
from cpuplan.upstream.kubernetes.kube_features import Gates
from cpuplan.upstream.kubernetes.pod import Container, Pod
from cpuplan.upstream.kubernetes.strconv import quote


def write_checkpoint(content: Mapping[str, Any], check: int) -> str:
    """The file: empty entries left out, keys of maps sorted, those of structs as given."""
    return _json({**_kept(content), "checksum": check})


def write_data(content: Mapping[str, Any], copy: Mapping[str, Any], check: int) -> str:
    """The file since 1.37: the `copy` that older kubelets read, and the content as a text."""
    data = _json(_kept(content))
    return _json({**_kept(copy), "checksum": check, "data": data, "dataChecksum": _of_text(data)})


def _kept(content: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: value for key, value in content.items() if value or not key.lower().endswith("entries")
    }


def _json(content: Mapping[str, Any]) -> str:
    return json.dumps(_sorted_maps(content, is_struct=True), separators=(",", ":"))


def _of_text(data: str) -> int:
    """The checksum of a text alone, as Go dumps it."""
    return checksum(f"(string){data}")


_DATA = {"data": STRING, "dataChecksum": UINT64._replace(go_type="checksum.Checksum")}


def read_data(
    text: str, copy: Type, shape: Type, manager: str, number: int
) -> dict[str, Any] | None:
    """The content of a file since 1.37, in its format `number`; None of one of older kubelets.

    KubeletError where the data is damaged: the copy beside it, of the format `copy`, is then not
    looked at.
    """
    data, written = _field(text, "data") or "", _field(text, "dataChecksum") or 0
    if not data and not written:
        return None
    what = f"{manager} checkpoint"
    try:
        _unmarshal(text, Type(copy.go_type, "object", {**copy.fields, **_DATA}), what)
        content = _unmarshal(data, shape, f"{what} data")
        if written != _of_text(data):
            raise KubeletError("checkpoint is corrupted")
    except KubeletError as error:
        raise KubeletError(f"could not load v{number} checkpoint: {error}") from None
    return content


def _field(text: str, name: str) -> Any:
    """A field of a file, as it is known to Go even where others are of a wrong type."""
    try:
        return loads(text, Type("state.Checkpoint", "object", {name: _DATA[name]})).get(name)
    except KubeletError:
        return None


def _unmarshal(text: str, shape: Type, what: str) -> dict[str, Any]:
    try:
        return loads(text, shape)
    except KubeletError as error:
        raise KubeletError(f"failed to deserialize {what}: {error}") from None


def _sorted_maps(value: Any, *, is_struct: bool = False) -> Any:
    if not isinstance(value, dict):
        return value
    keys = value if is_struct else sorted(value)
    return {key: _sorted_maps(value[key], is_struct=_is_struct(value[key])) for key in keys}


def _is_struct(value: Any) -> bool:
    """Whether a value was a struct, not a map.

    The kubelet's maps have the names of pods, containers, nodes and resources as keys.
    """
    return isinstance(value, dict) and not value.keys().isdisjoint(
        {"numberOfAssignments", "systemReserved"}
    )


def checksum(text: str) -> int:
    """32-bit FNV-1a."""
    total = 0x811C9DC5
    for byte in text.encode():
        total = (total ^ byte) * 0x01000193 & 0xFFFFFFFF
    return total


def is_verified(content: Mapping[str, Any], dumped: str, *, may_lack: bool) -> bool:
    """Whether the content has the checksum of its dump.

    With `may_lack` a checksum of 0 passes, as in the files of old kubelets.
    """
    written: int = content.get("checksum", 0)
    return (may_lack and written == 0) or written == checksum(dumped)


def dump_map(values: Mapping[str, str]) -> str:
    """A map in Go's dump, its values dumped already."""
    return f"map[{' '.join(f'{key}:{values[key]}' for key in sorted(values))}]"


def unreadable(error: KubeletError, manager: str, path: str) -> KubeletError:
    """What a kubelet says of a file that it cannot use, and why it does not start."""
    remedy = (
        f"please drain this node and delete the {manager} checkpoint file {quote(path)} "
        "before restarting Kubelet"
    )
    return KubeletError(f"could not restore state from checkpoint: {error}, {remedy}")


Given = TypeVar("Given")


class Entries(Generic[Given]):
    """By pod UID, and by container name below it."""

    def __init__(self) -> None:
        self.entries: dict[str, dict[str, Given]] = {}
        self.pod_entries: dict[str, Given] = {}

    def delete(self, pod: str, container: str) -> None:
        containers = self.entries.get(pod, {})
        containers.pop(container, None)
        if not containers:
            self.entries.pop(pod, None)

    def delete_pod(self, pod: str) -> None:
        self.entries.pop(pod, None)
        self.pod_entries.pop(pod, None)


#: The pods whose containers keep what they have; None until the kubelet knows all of its pods.
ActivePods = Callable[[], Iterable[Pod] | None]


class Policy(Protocol):
    """A static policy; `state` is the one of its manager."""

    def start(self, state: Any) -> None: ...
    def remove_container(self, state: Any, pod: str, container: str) -> None: ...
    def topology_hints(
        self, state: Any, pod: Pod, container: Container
    ) -> ProviderHints | None: ...
    def pod_topology_hints(self, state: Any, pod: Pod) -> ProviderHints | None: ...
    def allocate(
        self, state: Any, pod: Pod, container: Container, affinity: TopologyHint
    ) -> None: ...


StaticPolicy = TypeVar("StaticPolicy", bound=Policy)
State = TypeVar("State", bound=Entries[Any])


class Manager(Generic[StaticPolicy, State]):
    """A manager with the static policy, or with none, which leaves all containers alone."""

    #: As errors name it, and how it spells the names of its policies.
    name: str
    static_name: str
    none_name: str

    def __init__(self, policy: StaticPolicy | None, gates: Gates, active: ActivePods) -> None:
        self.policy, self.gates, self._active = policy, gates, active
        self.policy_name = self.static_name if policy else self.none_name
        self.state = self._load(None, "")

    def _load(self, content: str | None, folder: str) -> State:
        """The state in a file, an empty one where there is no file."""
        raise NotImplementedError

    def _allocate_pod(self, policy: StaticPolicy, pod: Pod, affinity: TopologyHint) -> None:
        raise NotImplementedError

    def start(self, content: str | None, folder: str) -> None:
        """Read the state file, if any, and check it."""
        try:
            self.state = self._load(content, folder)
            if self.policy:
                self.policy.start(self.state)
        except KubeletError as error:
            raise KubeletError(f"start {self.name} manager error: {error}") from None

    def remove_stale_state(self) -> None:
        """Drop what containers have that are not active any more."""
        active = self._active()
        if not self.policy or active is None:
            return
        known = {(pod.uid, container.name) for pod in active for container in pod.all_containers}
        entries = self.state.entries.items()
        given = [(pod, container) for pod, containers in entries for container in containers]
        for pod, container in given:
            if (pod, container) not in known:
                self.policy.remove_container(self.state, pod, container)

    def topology_hints(self, pod: Pod, container: Container) -> ProviderHints | None:
        self.remove_stale_state()
        return self.policy.topology_hints(self.state, pod, container) if self.policy else None

    def pod_topology_hints(self, pod: Pod) -> ProviderHints | None:
        self.remove_stale_state()
        return self.policy.pod_topology_hints(self.state, pod) if self.policy else None

    def allocate(self, pod: Pod, container: Container, affinity: TopologyHint) -> None:
        self.remove_stale_state()
        if self.policy:
            self.policy.allocate(self.state, pod, container, affinity)

    def allocate_pod(self, pod: Pod, affinity: TopologyHint) -> None:
        self.remove_stale_state()
        if self.policy:
            self._allocate_pod(self.policy, pod, affinity)
