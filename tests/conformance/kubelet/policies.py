"""A static policy of the CPU or the memory manager, driven directly: the steps of a vector and
their answers.
"""

from typing import Any

from cpuplan.upstream.kubelet.topologymanager.policy import NO_AFFINITY, TopologyHint
from cpuplan.upstream.kubernetes.errors import HangError, KubeletError, PanicError, refusal
from cpuplan.upstream.kubernetes.pod import Pod, read_pod
from tests.conformance.kubelet.shapes import Json, hint, hints_json


def rejected(error: KubeletError) -> Json:
    reason, message = refusal(error)
    return {"error": str(error), "reason": reason, "message": message}


class Driver:
    """Takes a policy and its state through steps."""

    def __init__(self, given: Json, policy: Any, state: Any) -> None:
        self.policy, self.state = policy, state
        self.pods = {uid: read_pod(manifest) for uid, manifest in (given.get("pods") or {}).items()}
        # What the topology manager answers, by pod and container.
        self._affinities: dict[tuple[str, str], TopologyHint] = {}

    def allocate_pod(self, pod: Pod, affinity: TopologyHint) -> None:
        """Allocate for a pod as a whole."""
        raise NotImplementedError

    def shared_json(self) -> Json:
        """What of the state is told after each step."""
        raise NotImplementedError

    def pod_json(self, uid: str) -> Json:
        """What is told of the pod of a step."""
        raise NotImplementedError

    def answers(self, steps: list[Json]) -> list[Json]:
        """The answers until one is that the kubelet hangs or panics."""
        found: list[Json] = []
        for step in steps:
            try:
                found.append(self._answer(step))
            except (HangError, PanicError) as error:
                return [
                    *found,
                    {"hang": True} if isinstance(error, HangError) else {"panic": str(error)},
                ]
        return found

    def _answer(self, step: Json) -> Json:
        if step["do"] == "start":
            try:
                self.policy.start(self.state)
            except KubeletError as error:
                return {**self.shared_json(), "error": str(error)}
            return self.shared_json()
        uid = step["pod"]
        answer: Json = {}
        if step["do"] == "remove":
            self.policy.remove_container(self.state, uid, step["container"])
        elif step["do"] == "removePod":
            for name in list(self.state.entries.get(uid, {})):
                self.policy.remove_container(self.state, uid, name)
        else:
            pod = self.pods[uid]
            self._set_affinities(step, pod)
            if step["do"] == "hints":
                container = next(one for one in pod.all_containers if one.name == step["container"])
                return {"hints": hints_json(self.policy.topology_hints(self.state, pod, container))}
            if step["do"] == "podHints":
                return {"hints": hints_json(self.policy.pod_topology_hints(self.state, pod))}
            answer = self._allocate(pod, step)
            uid = pod.uid
        return {**answer, **self.shared_json(), **self.pod_json(uid)}

    def _set_affinities(self, step: Json, pod: Pod) -> None:
        """`affinity` is for the container of the step, or for all."""
        for container in pod.all_containers:
            if "affinity" in step and step.get("container", container.name) == container.name:
                self._affinities[pod.uid, container.name] = hint(step["affinity"])
        for name, given in step.get("affinities", {}).items():
            self._affinities[pod.uid, name] = hint(given)

    def _affinity(self, pod: Pod, container: str) -> TopologyHint:
        return self._affinities.get((pod.uid, container), NO_AFFINITY)

    def _allocate(self, pod: Pod, step: Json) -> Json:
        if step["do"] == "allocatePod":
            try:
                self.allocate_pod(pod, self._affinity(pod, pod.all_containers[0].name))
            except KubeletError as error:
                return {"rejected": rejected(error)}
            return {}
        for container in pod.all_containers:
            if step["do"] == "admit" or container.name == step["container"]:
                try:
                    self.policy.allocate(
                        self.state, pod, container, self._affinity(pod, container.name)
                    )
                except KubeletError as error:
                    where = {"container": container.name} if step["do"] == "admit" else {}
                    return {"rejected": rejected(error), **where}
        return {}
