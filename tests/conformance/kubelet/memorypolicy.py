"""The static memory policy, driven directly."""

from cpuplan.simulate import memorystate, podmemoryallocation
from cpuplan.simulate.errors import HangError, KubeletError, PanicError
from cpuplan.simulate.features import set_gates
from cpuplan.simulate.memorymanager import NodeMemory, StaticPolicy
from cpuplan.simulate.memorystate import MemoryState
from cpuplan.simulate.pod import Pod, read_pod
from tests.conformance.kubelet.checkpoints import blocks_json, memory_state
from tests.conformance.kubelet.cpupolicy import Affinities, rejected
from tests.conformance.kubelet.shapes import Json, Op, hints_json


def node_memory(machine: Json) -> list[NodeMemory]:
    return [
        NodeMemory(
            node["id"],
            node["memory"],
            tuple((pages["sizeKiB"], pages["count"]) for pages in node.get("hugepages") or ()),
        )
        for node in machine["nodes"]
    ]


def answer_memory(given: Json) -> Json:
    reserved = {int(node): sizes for node, sizes in given["systemReserved"].items()}
    try:
        policy = StaticPolicy(node_memory(given["machine"]), reserved, set_gates(given.get("featureGates") or {}))
    except KubeletError as error:
        return {"newPolicyError": str(error)}
    policy.reusable = {
        pod: {int(mask, 2): dict(sizes) for mask, sizes in masks.items()}
        for pod, masks in (given.get("initContainersReusable") or {}).items()
    }
    state = memory_state(given["initialState"]) if given.get("initialState") else MemoryState()
    pods = {uid: read_pod(manifest) for uid, manifest in (given.get("pods") or {}).items()}
    affinities = Affinities()
    steps = []
    for step in given["steps"]:
        try:
            steps.append(_step(policy, state, pods, affinities, step))
        except (HangError, PanicError) as error:
            steps.append({"hang": True} if isinstance(error, HangError) else {"panic": str(error)})
            break
    return {"steps": steps}


def _step(policy: StaticPolicy, state: MemoryState, pods: dict[str, Pod], affinities: Affinities, step: Json) -> Json:
    answer: Json = {}
    if step["do"] == "start":
        try:
            policy.start(state)
        except KubeletError as error:
            answer["error"] = str(error)
        return answer | {"machineState": memorystate.machine_json(state.machine)}
    uid = step["pod"]
    if step["do"] == "remove":
        policy.remove_container(state, uid, step["container"])
    else:
        pod = pods[uid]
        affinities.set(step, pod)
        if step["do"] == "hints":
            container = next(one for one in pod.all_containers if one.name == step["container"])
            return {"hints": hints_json(policy.topology_hints(state, pod, container))}
        if step["do"] == "podHints":
            return {"hints": hints_json(policy.pod_topology_hints(state, pod))}
        answer = _allocate(policy, state, pod, affinities, step)
        uid = pod.uid
    answer["machineState"] = memorystate.machine_json(state.machine)
    if uid:
        answer["assigned"] = {name: blocks_json(blocks) for name, blocks in state.entries.get(uid, {}).items()}
    if uid in state.pod_entries:
        answer["podBlocks"] = blocks_json(state.pod_entries[uid])
    return answer


def _allocate(policy: StaticPolicy, state: MemoryState, pod: Pod, affinities: Affinities, step: Json) -> Json:
    if step["do"] == "allocatePod":
        try:
            podmemoryallocation.allocate_pod(policy, state, pod, affinities.of(pod, pod.all_containers[0].name))
        except KubeletError as error:
            return {"rejected": rejected(error)}
        return {}
    for container in pod.all_containers:
        if step["do"] == "admit" or container.name == step["container"]:
            try:
                policy.allocate(state, pod, container, affinities.of(pod, container.name))
            except KubeletError as error:
                where = {"container": container.name} if step["do"] == "admit" else {}
                return {"rejected": rejected(error), **where}
    return {}


OPS: dict[str, Op] = {"memory": answer_memory}
