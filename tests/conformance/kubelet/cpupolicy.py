"""The static CPU policy, driven directly."""

from cpuplan.upstream.kubelet.cpumanager import policy_static
from cpuplan.upstream.kubelet.cpumanager.state import CPUState
from cpuplan.upstream.kubelet.topologymanager.policy import TopologyHint
from cpuplan.upstream.kubernetes.bits import parse_cpus, to_text
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.kube_features import set_gates
from cpuplan.upstream.kubernetes.pod import Pod
from tests.conformance.kubelet.cpustate import cpu_state, cpu_state_json
from tests.conformance.kubelet.policies import Driver
from tests.conformance.kubelet.shapes import Json, Op, topology


class _Driver(Driver):
    def allocate_pod(self, pod: Pod, affinity: TopologyHint) -> None:
        policy_static.allocate_pod(self.policy, self.state, pod, affinity)

    def shared_json(self) -> Json:
        return {"defaultCpuSet": to_text(self.state.default)}

    def pod_json(self, uid: str) -> Json:
        entries = self.state.entries.get(uid, {})
        answer: Json = {"assigned": {name: to_text(cpus) for name, cpus in entries.items()}}
        if uid in self.state.pod_entries:
            answer["podCpuSet"] = to_text(self.state.pod_entries[uid])
        if reused := {
            pod: to_text(cpus) for pod, cpus in self.policy.cpus_to_reuse.items() if cpus
        }:
            answer["cpusToReuse"] = reused
        return answer


def answer_policy(given: Json) -> Json:
    fork = policy_static.Fork(
        given.get("flavor") == "openshift" or bool(given.get("openshiftWorkloadPartitioning")),
        bool(given.get("openshiftWorkloadPartitioning")),
    )
    cpus = parse_cpus(given["reserved"].get("cpus", ""))
    reserved = policy_static.Reserved(given["reserved"].get("count", cpus.bit_count()), cpus)
    try:
        policy = policy_static.new_static_policy(
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
    policy.cpus_to_reuse = {
        pod: parse_cpus(reused) for pod, reused in (given.get("cpusToReuse") or {}).items()
    }
    state = cpu_state(given["initialState"]) if given.get("initialState") else CPUState()
    steps = _Driver(given, policy, state).answers(given["steps"])
    return {
        "reserved": to_text(policy.reserved),
        "reservedPhysical": to_text(policy.reserved_physical),
        "cpuGroupSize": policy.cpu_group_size,
        "allocatable": to_text(policy.allocatable),
        "steps": steps,
        "final": cpu_state_json(state),
    }


OPS: dict[str, Op] = {"policy": answer_policy}
