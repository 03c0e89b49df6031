"""State files, written and read."""

from cpuplan.upstream.kubernetes.kube_features import set_gates
from tests.conformance.kubelet import cpustate, memorystate
from tests.conformance.kubelet.shapes import Json, Op


def answer_checkpoint(given: Json) -> Json:
    gates = set_gates(given.get("featureGates") or {})
    answer_load, answer_dump = cpustate.answer_load, cpustate.answer_dump
    if given["kind"] != "cpu":
        answer_load, answer_dump = memorystate.answer_load, memorystate.answer_dump
    return answer_load(given, gates) if given["action"] == "load" else answer_dump(given, gates)


OPS: dict[str, Op] = {"checkpoint": answer_checkpoint}
