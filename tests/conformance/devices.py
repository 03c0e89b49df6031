"""The kubelet's device, topology and CPU manager together, as recorded, against the port.

A vector is a machine, plugins with devices, pods, and steps: a pod is admitted, removed, or the
kubelet restarts. `expected` has for each step the hints of the device manager before it, whether
the pod is admitted and why not, the devices, CPUs and affinity of each container, what init
containers left, and all that is given out. Where the kubelet takes devices in no order, and where a
plugin prefers some, the port is told to take the recorded ones: it must have that choice.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from cpuplan.upstream.kubelet.devicemanager.manager import Choice, Hints, lowest
from cpuplan.upstream.kubelet.devicemanager.pod_devices import Device, Plugin
from cpuplan.upstream.kubelet.kubelet import Kubelet, Node, StartError
from cpuplan.upstream.kubelet.machine import NodeMemory
from cpuplan.upstream.kubelet.topologymanager.policy import TopologyHint
from cpuplan.upstream.kubernetes.bits import members, to_text
from cpuplan.upstream.kubernetes.errors import KubeletError, refusal
from cpuplan.upstream.kubernetes.pod import Pod, read_pod
from tests.conformance.comparing import differ, judge_lines
from tests.conformance.kubelet.shapes import STATE_FOLDER, Json, read_machine

#: Recorded by the device manager of Kubernetes 1.36.2 as OpenShift 5.0 has it.
RECORDED = Path(__file__).parent / "vectors" / "devices.jsonl.gz"
SHARED = Path(__file__).parents[2].parent / "shared" / "vectors" / "devices"
_MEMORY = 64 << 30


def run(paths: Iterable[Path] = ()) -> Iterator[tuple[str, list[str]]]:
    """(file and id, what differs) for every vector of the files, or of the files in folders."""
    given = sorted(paths) or [RECORDED, *([SHARED] if SHARED.exists() else [])]
    for path in given:
        for file in sorted(path.glob("*.jsonl*")) if path.is_dir() else [path]:
            yield from judge_lines(file, check)


def check(case: Json) -> Iterator[str]:
    """What of the answer to a vector is not as the kubelet's."""
    try:
        run = _Run(case)
    except StartError as error:
        yield from differ(f"{case['id']}: the start", case["expected"].get("error"), str(error))
        return
    for number, (step, expected) in enumerate(
        zip(case["steps"], case["expected"]["steps"], strict=True)
    ):
        where = f"{case['id']}: step {number} ({step['do']})"
        answer = run.step(step, expected)
        differences = list(_differences(where, expected, answer))
        yield from differences
        if differences:
            return


#: Of a pod that is refused for want of devices: in which order the kubelet goes through the limits
#: of a container, and so what it has given out by then, is that of a Go map.
_SETTLED = ("podHints", "hints", "admitted", "reason", "affinity")
_MISSING = ("requested number of devices unavailable", "no healthy devices present")


def _differences(where: str, expected: Json, answer: Json) -> Iterator[str]:
    """What of a step is not as recorded."""
    if "readmitted" in expected:
        pairs = zip(expected["readmitted"], answer["readmitted"], strict=True)
        for number, (first, second) in enumerate(pairs):
            # What stale pods have is in the checkpoint only if one was written since.
            now = {key: value for key, value in first.items() if key != "allocated"}
            yield from _differences(f"{where}: pod {number}", now, second)
        return
    is_settled = not any(text in expected.get("message", "") for text in _MISSING)
    for key, value in expected.items():
        if is_settled or key in _SETTLED:
            yield from differ(f"{where}: {key}", _plain(value), _plain(answer.get(key)))


def _plain(value: Any) -> Any:
    """The value, without the order of keys."""
    if isinstance(value, dict):
        return {key: _plain(value[key]) for key in sorted(value)}
    return value


class _Run:
    """A kubelet through the steps of a vector."""

    def __init__(self, case: Json) -> None:
        self.case = case
        self.plugins = tuple(map(_plugin, case["plugins"]))
        self.pods = {uid: read_pod(manifest) for uid, manifest in case["pods"].items()}
        self.kubelet = self._start(Node())

    def _start(self, left: Node) -> Kubelet:
        case = self.case
        nodes = case["nodes"]
        machine = read_machine(
            [[*row, -1] for row in case["cpus"]],
            [NodeMemory(node["id"], _MEMORY) for node in nodes],
            {node["id"]: tuple(node["distances"]) for node in nodes},
        )
        config: dict[str, Any] = {
            "cpuManagerPolicy": case["cpuPolicy"],
            "cpuManagerPolicyOptions": case.get("cpuOptions") or {},
            "reservedSystemCPUs": case["reserved"],
            "topologyManagerPolicy": case["policy"],
            "topologyManagerScope": case["scope"],
            "topologyManagerPolicyOptions": case.get("options") or {},
        }
        kubelet = Kubelet(
            config,
            machine,
            left,
            folder=STATE_FOLDER,
            predicates=False,
            plugins=self.plugins,
        )
        kubelet.devices.only_with_devices = True
        return kubelet

    def step(self, step: Json, expected: Json) -> Json:
        if step["do"] == "restart":
            return self._restart(expected)
        if step["do"] == "remove":
            self.kubelet.remove(step["pod"])
            return {"allocated": self._allocated()}
        pod = self.pods[step["pod"]]
        return {**self._hints(pod), **self._admit(pod, expected)}

    def _hints(self, pod: Pod) -> Json:
        if self.case["policy"] == "none":
            return {}
        devices = self.kubelet.devices
        return {
            "podHints": _hints_json(devices.pod_topology_hints(pod)),
            "hints": {
                container.name: _hints_json(devices.topology_hints(pod, container))
                for container in pod.all_containers
            },
        }

    def _admit(self, pod: Pod, expected: Json) -> Json:
        self.kubelet.devices.choose = _Recorded(expected)
        answer: Json = {"admitted": True}
        try:
            self.kubelet.admit(pod)
        except KubeletError as error:
            reason, message = refusal(error)
            answer = {"admitted": False, "reason": reason, "message": message}
        return {**answer, **self._state_of(pod)}

    def _state_of(self, pod: Pod) -> Json:
        kubelet = self.kubelet
        names = [container.name for container in pod.all_containers]
        masks = {name: kubelet.topology_manager.affinity(pod.uid, name).affinity for name in names}
        devices = {name: kubelet.devices.devices_of(pod.uid, name) for name in names}
        entries = kubelet.cpus.state.entries.get(pod.uid, {})
        return {
            "devices": {name: _sorted(given) for name, given in devices.items() if given},
            "cpus": {name: to_text(entries[name]) for name in names if name in entries},
            "affinity": {name: members(mask) for name, mask in masks.items() if mask is not None},
            "reusable": {
                uid: _sorted(given)
                for uid, given in kubelet.devices.reusable.items()
                if any(given.values())
            },
            "allocated": self._allocated(),
        }

    def _allocated(self) -> Json:
        return _sorted(self.kubelet.devices.state.allocated)

    def _restart(self, expected: Json) -> Json:
        left, pods = self.kubelet.stop(), self.kubelet.active
        devices = self.kubelet.devices.state
        self.kubelet = self._start(left)
        self.kubelet.devices.state = devices
        self.kubelet.begin_readmission()
        again = [self._admit(pod, of) for pod, of in zip(pods, expected["readmitted"], strict=True)]
        self.kubelet.end_readmission()
        return {"readmitted": again}


class _Recorded:
    """Takes the devices that were recorded for a container."""

    def __init__(self, expected: Json) -> None:
        self.devices = expected["devices"]

    def __call__(self, choice: Choice) -> int:
        ids = self.devices.get(choice.container, {}).get(choice.resource, ())
        wanted = choice.pool.known(ids) & choice.among
        return wanted if wanted.bit_count() == choice.needed else lowest(choice)


def _plugin(given: Json) -> Plugin:
    devices = (
        Device(
            device["id"],
            None if device["nodes"] is None else tuple(device["nodes"]),
            not device.get("unhealthy"),
        )
        for device in given["devices"]
    )
    return Plugin(given["resource"], tuple(devices), bool(given.get("prefers")))


def _sorted(given: Any) -> Json:
    return {name: sorted(ids) for name, ids in given.items() if ids}


def _hints_json(given: Hints) -> Json:
    return {name: hints and list(map(_hint_json, hints)) for name, hints in given.items()}


def _hint_json(hint: TopologyHint) -> list[Any]:
    return [None if hint.affinity is None else members(hint.affinity), hint.preferred]
