"""The static CPU policy, driven directly."""

from cpuplan.simulate import cpumanager, podcpus
from cpuplan.simulate.bits import parse_cpus, to_text
from cpuplan.simulate.cpumanager import StaticPolicy
from cpuplan.simulate.cpustate import CPUState
from cpuplan.simulate.errors import HangError, KubeletError, PanicError, refusal
from cpuplan.simulate.features import set_gates
from cpuplan.simulate.hints import NO_AFFINITY, TopologyHint
from cpuplan.simulate.pod import Pod, read_pod
from tests.conformance.kubelet.checkpoints import cpu_state, cpu_state_json
from tests.conformance.kubelet.shapes import Json, Op, hint, hints_json, topology


class Affinities:
    """What the topology manager answers for the containers of each pod."""

    def __init__(self) -> None:
        self._given: dict[tuple[str, str], TopologyHint] = {}

    def set(self, step: Json, pod: Pod) -> None:
        """`affinity` is for the container of the step, or for all."""
        for container in pod.all_containers:
            if "affinity" in step and step.get("container", container.name) == container.name:
                self._given[pod.uid, container.name] = hint(step["affinity"])
        for name, given in step.get("affinities", {}).items():
            self._given[pod.uid, name] = hint(given)

    def of(self, pod: Pod, container: str) -> TopologyHint:
        return self._given.get((pod.uid, container), NO_AFFINITY)


def rejected(error: KubeletError) -> Json:
    reason, message = refusal(error)
    return {"error": str(error), "reason": reason, "message": message}


def answer_policy(given: Json) -> Json:
    fork = cpumanager.Fork(
        given.get("flavor") == "openshift" or bool(given.get("openshiftWorkloadPartitioning")),
        bool(given.get("openshiftWorkloadPartitioning")),
    )
    cpus = parse_cpus(given["reserved"].get("cpus", ""))
    reserved = cpumanager.Reserved(given["reserved"].get("count", cpus.bit_count()), cpus)
    try:
        policy = cpumanager.new_static_policy(
            topology(given["topology"]),
            reserved,
            given.get("options") or {},
            set_gates(given.get("featureGates") or {}),
            topology_policy=given.get("topologyManagerPolicy", "none"),
            fork=fork,
        )
    except KubeletError as error:
        return {"newPolicyError": str(error)}
    if "physical" in given["reserved"]:
        policy.reserved_physical = parse_cpus(given["reserved"]["physical"])
    policy.cpus_to_reuse = {pod: parse_cpus(reused) for pod, reused in (given.get("cpusToReuse") or {}).items()}
    state = cpu_state(given["initialState"]) if given.get("initialState") else CPUState()
    pods = {uid: read_pod(manifest) for uid, manifest in (given.get("pods") or {}).items()}
    affinities = Affinities()
    steps = []
    for step in given["steps"]:
        try:
            steps.append(_step(policy, state, pods, affinities, step))
        except (HangError, PanicError) as error:
            steps.append({"hang": True} if isinstance(error, HangError) else {"panic": str(error)})
            break
    return {
        "reserved": to_text(policy.reserved),
        "reservedPhysical": to_text(policy.reserved_physical),
        "cpuGroupSize": policy.cpu_group_size,
        "allocatable": to_text(policy.allocatable),
        "steps": steps,
        "final": cpu_state_json(state),
    }


def _step(policy: StaticPolicy, state: CPUState, pods: dict[str, Pod], affinities: Affinities, step: Json) -> Json:
    if step["do"] == "start":
        try:
            policy.start(state)
        except KubeletError as error:
            return {"defaultCpuSet": to_text(state.default), "error": str(error)}
        return {"defaultCpuSet": to_text(state.default)}
    uid = step["pod"]
    answer: Json = {}
    if step["do"] == "remove":
        policy.remove_container(state, uid, step["container"])
    elif step["do"] == "removePod":
        for name in list(state.entries.get(uid, {})):
            policy.remove_container(state, uid, name)
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
    answer["defaultCpuSet"] = to_text(state.default)
    answer["assigned"] = {name: to_text(cpus) for name, cpus in state.entries.get(uid, {}).items()}
    if uid in state.pod_entries:
        answer["podCpuSet"] = to_text(state.pod_entries[uid])
    if reused := {pod: to_text(cpus) for pod, cpus in policy.cpus_to_reuse.items() if cpus}:
        answer["cpusToReuse"] = reused
    return answer


def _allocate(policy: StaticPolicy, state: CPUState, pod: Pod, affinities: Affinities, step: Json) -> Json:
    if step["do"] == "allocatePod":
        try:
            podcpus.allocate_pod(policy, state, pod, affinities.of(pod, pod.all_containers[0].name))
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


OPS: dict[str, Op] = {"policy": answer_policy}
