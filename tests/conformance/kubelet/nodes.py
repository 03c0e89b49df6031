"""A whole node: start, pods, restarts."""

from typing import Any

from cpuplan.upstream.kubelet.cpumanager.policy_static import Fork
from cpuplan.upstream.kubelet.kubelet import Kubelet, Node, StartError
from cpuplan.upstream.kubelet.machine import Machine
from cpuplan.upstream.kubelet.memorymanager.state import MemoryState, machine_json
from cpuplan.upstream.kubernetes.bits import to_text
from cpuplan.upstream.kubernetes.errors import HangError, KubeletError, PanicError, refusal
from cpuplan.upstream.kubernetes.pod import Pod, read_pod
from tests.conformance.kubelet.memorypolicy import node_memory
from tests.conformance.kubelet.memorystate import blocks_json
from tests.conformance.kubelet.shapes import STATE_FOLDER, Json, Op, hint_json, hints, read_machine


def machine_of(given: Json) -> Machine:
    return read_machine(
        given["cpus"],
        node_memory(given),
        {node["id"]: tuple(node.get("distances") or ()) for node in given["nodes"]},
        sockets=given.get("numSockets"),
        memory_capacity=given.get("memoryCapacity"),
    )


class Run:
    """A node through its steps."""

    def __init__(self, given: Json) -> None:
        partitioning = bool(given.get("openshiftWorkloadPartitioning"))
        self.settings: dict[str, Any] = {
            "fork": Fork(given.get("flavor") == "openshift" or partitioning, partitioning),
            "folder": STATE_FOLDER,
            "predicates": given.get("predicates", True),
        }
        self.config, self.machine = given["kubelet"], machine_of(given["machine"])
        self.pods = {uid: read_pod(manifest) for uid, manifest in given["pods"].items()}
        self.kubelet = Kubelet(
            self.config, self.machine, Node(given.get("cpuManagerState")), **self.settings
        )

    def startup(self) -> Json:
        kubelet = self.kubelet
        policy = kubelet.cpus.policy
        found: Json = {
            "topologyManager": {
                "policy": kubelet.topology_manager.policy.name,
                "scope": kubelet.topology_manager.scope,
            },
            "capacity": {name: str(amount) for name, amount in kubelet.capacity.items()},
            "allocatable": {name: str(amount) for name, amount in kubelet.allocatable.items()},
            "nodeAllocatableReservation": {
                name: str(amount) for name, amount in kubelet.reservation.items()
            },
            "reserved": to_text(policy.reserved if policy else 0),
            "reservedPhysical": to_text(policy.reserved_physical if policy else 0),
            "cpuGroupSize": policy.cpu_group_size if policy else 0,
            "allocatableCPUs": to_text(policy.allocatable if policy else 0),
            "defaultCpuSet": to_text(kubelet.cpus.state.default),
        }
        if kubelet.memory.policy:
            allocatable = kubelet.memory.policy.allocatable(kubelet.memory.state)
            found["allocatableMemory"] = {str(node): sizes for node, sizes in allocatable.items()}
        return found

    def step(self, step: Json) -> Json:
        if step["do"] == "restart":
            return self._restart(step)
        if step["do"] == "remove":
            self.kubelet.remove(step["pod"])
            return {
                "defaultCpuSet": to_text(self.kubelet.cpus.state.default),
                **self._machine_state(),
            }
        pod = self.pods[step["pod"]]
        if step["do"] == "start":
            created = self.kubelet.start_pod(pod)
            answer: Json = {"containers": [_container(*container) for container in created]}
            return answer | self._state_of(pod)
        for name, given in step.get("devices", {}).items():
            self.kubelet.given_hints.hints[pod.uid, name] = hints(given) or {}
        if "podDevices" in step:
            self.kubelet.given_hints.pod_hints[pod.uid] = hints(step["podDevices"]) or {}
        return self._admit(pod)

    def _admit(self, pod: Pod) -> Json:
        try:
            self.kubelet.admit(pod)
        except KubeletError as error:
            return self._refused(pod, error)
        return {"admitted": True, **self._state_of(pod)}

    def _refused(self, pod: Pod, error: KubeletError) -> Json:
        reason, message = refusal(error)
        return {"admitted": False, "reason": reason, "message": message, **self._state_of(pod)}

    def _state_of(self, pod: Pod) -> Json:
        kubelet = self.kubelet
        cpus, memory = kubelet.cpus.state, kubelet.memory.state
        found: Json = {
            "affinity": {
                one.name: hint_json(kubelet.affinity(pod, one)) for one in pod.all_containers
            },
            "defaultCpuSet": to_text(cpus.default),
            "exclusiveCPUs": {
                name: to_text(own) for name, own in cpus.entries.get(pod.uid, {}).items()
            },
        }
        if pod.uid in cpus.pod_entries:
            found["podCpuSet"] = to_text(cpus.pod_entries[pod.uid])
        if blocks := memory.entries.get(pod.uid):
            found["memory"] = {name: blocks_json(listed) for name, listed in blocks.items()}
        return found | self._machine_state()

    def _machine_state(self) -> Json:
        if not self.kubelet.memory.policy:
            return {}
        return {"machineState": _compact(self.kubelet.memory.state)}

    def _restart(self, step: Json) -> Json:
        left, pods, devices = self.kubelet.stop(), self.kubelet.active, self.kubelet.given_hints
        self.config = step.get("kubelet", self.config)
        if "machine" in step:
            self.machine = machine_of(step["machine"])
        try:
            self.kubelet = Kubelet(self.config, self.machine, left, **self.settings)
        except StartError as error:
            return {"failedStage": error.stage, "error": str(error), "stopped": True}
        self.kubelet.given_hints.hints, self.kubelet.given_hints.pod_hints = (
            devices.hints,
            devices.pod_hints,
        )
        answer = self.startup()
        readmitted = []
        self.kubelet.begin_readmission()
        for pod in pods:
            admission = self._admit(pod)
            admission.pop("machineState", None)
            readmitted.append({"pod": pod.uid, **admission})
        self.kubelet.end_readmission()
        return answer | {"readmitted": readmitted, **self._machine_state()}


def _container(name: str, cpus: int, nodes: tuple[int, ...]) -> Json:
    found: Json = {"name": name}
    if cpus:
        found["cpusetCpus"] = to_text(cpus)
    if nodes:
        found["cpusetMems"] = ",".join(map(str, nodes))
    return found


def _compact(state: MemoryState) -> Json:
    nodes = machine_json(state.machine)
    return {
        name: {
            "assignments": node["numberOfAssignments"],
            "cells": node["cells"],
            "memory": {
                kind: {"free": table["free"], "reserved": table["reserved"]}
                for kind, table in node["memoryMap"].items()
            },
        }
        for name, node in nodes.items()
    }


def answer_node(given: Json) -> Json:
    try:
        run = Run(given)
    except StartError as error:
        return {"startup": {"failedStage": error.stage, "error": str(error)}}
    startup, steps = run.startup(), []
    for step in given["steps"]:
        try:
            steps.append(run.step(step))
        except (HangError, PanicError) as error:
            steps.append({"hang": True} if isinstance(error, HangError) else {"panic": str(error)})
            break
        if steps[-1].get("stopped"):
            break
    return {"startup": startup, "steps": steps, "cpuManagerState": run.kubelet.cpus.dump()}


OPS: dict[str, Op] = {"node": answer_node}
