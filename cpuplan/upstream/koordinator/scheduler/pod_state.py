"""What a pod asks for, found before any node is looked at (plugin.go, PreFilter)."""

from typing import NamedTuple

from cpuplan.upstream.koordinator.annotations.pod import (
    DEFAULT,
    FULL_PCPUS,
    SPREAD_BY_PCPUS,
    NumaTopologySpec,
    ResourceSpec,
    read_numa_topology_spec,
    read_resource_spec,
)
from cpuplan.upstream.koordinator.qos import may_bind_cpus
from cpuplan.upstream.koordinator.scheduler.args import PluginArgs
from cpuplan.upstream.koordinator.scheduler.status import ERROR, UNRESOLVABLE, StatusError
from cpuplan.upstream.kubelet.errors import KubeletError
from cpuplan.upstream.kubelet.pods.nodefit import pod_requests
from cpuplan.upstream.kubelet.pods.pod import CPU, Pod, Resources
from cpuplan.upstream.kubelet.quantity import ZERO
from cpuplan.upstream.kubelet.releases.features import Gates

_GATES = Gates()
NOT_INTEGER = "the requested CPUs must be integer"


class PodState(NamedTuple):
    """A pod with its requests and policies; `binds_cpus` where it gets CPUs of its own anywhere."""

    pod: Pod
    requests: Resources
    numa: NumaTopologySpec
    binds_cpus: bool = False
    required_policy: str = ""
    preferred_policy: str = ""
    exclusive_policy: str = ""

    @property
    def milli_cpu(self) -> int:
        return self.requests.get(CPU, ZERO).milli

    @property
    def cpus(self) -> int:
        return self.milli_cpu // 1000


def pre_filter(pod: Pod, args: PluginArgs) -> PodState | None:
    """The state of a pod, None for one without requests, which the plugin does not look at.

    StatusError for annotations that cannot be read and for parts of CPUs that cannot be bound.
    """
    try:
        spec = read_resource_spec(pod.annotations)
        numa = read_numa_topology_spec(pod.annotations)
    except KubeletError as error:
        raise StatusError(ERROR, [str(error)]) from None
    requests = pod_requests(pod, _GATES)
    if not any(amount.nano for amount in requests.values()):
        return None
    state = PodState(pod, requests, numa)
    return _bound(state, spec, args) if may_bind_cpus(pod) else state


def _bound(state: PodState, spec: ResourceSpec, args: PluginArgs) -> PodState:
    """With CPUs, if the policy is one that binds: ConstrainedBurst and unknown ones do not."""
    default = args.default_bind_policy
    required = default if spec.required_bind_policy == DEFAULT else spec.required_bind_policy
    preferred = spec.preferred_bind_policy
    preferred = default if preferred in ("", DEFAULT) else preferred
    policy = required or preferred
    if policy not in (FULL_PCPUS, SPREAD_BY_PCPUS):
        return state
    if state.milli_cpu % 1000:
        raise StatusError(UNRESOLVABLE, [NOT_INTEGER])
    if not state.cpus:
        return state
    return state._replace(
        binds_cpus=True,
        required_policy=required,
        preferred_policy=policy,
        exclusive_policy=spec.preferred_exclusive_policy,
    )
