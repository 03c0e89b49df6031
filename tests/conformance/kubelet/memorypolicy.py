"""The static memory policy, driven directly."""

from cpuplan.upstream.kubelet.machine import NodeMemory
from cpuplan.upstream.kubelet.memorymanager import policy_static
from cpuplan.upstream.kubelet.memorymanager.policy_static import StaticPolicy
from cpuplan.upstream.kubelet.memorymanager.state import MemoryState, machine_json
from cpuplan.upstream.kubelet.topologymanager.policy import TopologyHint
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.kube_features import set_gates
from cpuplan.upstream.kubernetes.pod import Pod
from tests.conformance.kubelet.memorystate import blocks_json, memory_state
from tests.conformance.kubelet.policies import Driver
from tests.conformance.kubelet.shapes import Json, Op


def node_memory(machine: Json) -> list[NodeMemory]:
    return [
        NodeMemory(
            node["id"],
            node["memory"],
            tuple((pages["sizeKiB"], pages["count"]) for pages in node.get("hugepages") or ()),
        )
        for node in machine["nodes"]
    ]


class _Driver(Driver):
    def allocate_pod(self, pod: Pod, affinity: TopologyHint) -> None:
        policy_static.allocate_pod(self.policy, self.state, pod, affinity)

    def shared_json(self) -> Json:
        return {"machineState": machine_json(self.state.machine)}

    def pod_json(self, uid: str) -> Json:
        answer: Json = {}
        if uid:
            entries = self.state.entries.get(uid, {})
            answer["assigned"] = {name: blocks_json(blocks) for name, blocks in entries.items()}
        if uid in self.state.pod_entries:
            answer["podBlocks"] = blocks_json(self.state.pod_entries[uid])
        return answer


def answer_memory(given: Json) -> Json:
    reserved = {int(node): sizes for node, sizes in given["systemReserved"].items()}
    try:
        policy = StaticPolicy(
            node_memory(given["machine"]), reserved, set_gates(given.get("featureGates") or {})
        )
    except KubeletError as error:
        return {"newPolicyError": str(error)}
    policy.reusable = {
        pod: {int(mask, 2): dict(sizes) for mask, sizes in masks.items()}
        for pod, masks in (given.get("initContainersReusable") or {}).items()
    }
    state = memory_state(given["initialState"]) if given.get("initialState") else MemoryState()
    return {"steps": _Driver(given, policy, state).answers(given["steps"])}


OPS: dict[str, Op] = {"memory": answer_memory}
