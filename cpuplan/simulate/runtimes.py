"""The container runtime of a planned node, and how it starts the containers of admitted pods."""

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

from cpuplan.base.cpuset import CpuSet
from cpuplan.base.topology import Topology
from cpuplan.components import admission_rules, chosen, slices
from cpuplan.components import crio as component
from cpuplan.components.host import partitions
from cpuplan.components.openshift import mixedcpus as limits
from cpuplan.facts.platforms import Version
from cpuplan.facts.settings import crio as rows
from cpuplan.facts.settings.kubelet import CPU_MANAGER_OPTIONS, CPU_MANAGER_POLICY
from cpuplan.plan import ConfiguredPlan
from cpuplan.upstream.crio import high_performance_hooks, mixedcpus
from cpuplan.upstream.crio.cgmgr import UNLIMITED, Layout
from cpuplan.upstream.crio.high_performance_hooks import Effects, Settings
from cpuplan.upstream.crio.releases import ENABLE, OFF, QUOTA, SHARED
from cpuplan.upstream.kubelet import qossets
from cpuplan.upstream.kubelet.cpumanager.state import CPUState
from cpuplan.upstream.kubelet.policy_options import STRICT_RESERVATION
from cpuplan.upstream.kubernetes import quantity
from cpuplan.upstream.kubernetes.bits import to_text
from cpuplan.upstream.kubernetes.durations import MICROSECOND
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.kube_features import Gates
from cpuplan.upstream.kubernetes.pod import Pod, Resources
from cpuplan.upstream.kubernetes.qos import pod_qos


class Cgroup(NamedTuple):
    """The CPU files of a pod: shares, the weight on version 2, and microseconds for each period."""

    shares: int
    weight: int
    quota: int


class Started(NamedTuple):
    """How a container runs; times are microseconds for each period, UNLIMITED for no quota.

    `cpus` is its cpuset, `effective` what its slices leave of it, `updated` the cpuset after the
    kubelet's next update, `outer_quota` the quota of a cgroup above the processes if it is another
    one. `problem` keeps the container from starting.
    """

    cpus: int
    effective: int
    updated: str
    env: tuple[str, ...]
    quota: int
    outer_quota: int
    effects: Effects
    problem: str
    outside: tuple[str, ...]
    cgroup: Cgroup


class Runtime(NamedTuple):
    """CRI-O's configuration, the CPU sets of QoS classes, and the CPUs of slices.

    `hooks` are the annotations that the handler allows; `limit` is the number of containers that
    may share CPUs, None where the kubelet offers no such resource; without `namespaces`, pods of
    all namespaces may. `annotates`: a policy of the cluster adds the annotations for sharing.
    """

    settings: Settings = Settings()
    handler: str = ""
    hooks: tuple[str, ...] = ()
    gomaxprocs: int = 0
    limit: int | None = None
    namespaces: tuple[str, ...] = ()
    annotates: bool = False
    sets: qossets.QosSets | None = None
    allowed: Mapping[str, CpuSet] = MappingProxyType({})
    siblings: Mapping[int, str] = MappingProxyType({})
    layout: Layout = Layout()

    @property
    def resources(self) -> Resources:
        """What the kubelet offers beside the resources of the machine."""
        return {} if self.limit is None else {mixedcpus.RESOURCE: quantity.of(self.limit)}

    def admit(self, pod: Pod) -> Pod:
        """The pod as the API server stores it; OpenShift's refuses some (AdmissionError)."""
        if self.limit is None:
            return _annotated(pod) if self.annotates else pod
        is_allowed = not self.namespaces or pod.namespace in self.namespaces
        return mixedcpus.admit(pod, {mixedcpus.ALLOWED: ""} if is_allowed else {})


def _annotated(pod: Pod) -> Pod:
    """What the MutatingAdmissionPolicy makes of a pod (`components.admission_rules.ANNOTATE`)."""
    asked = {f"{SHARED}/{container.name}": ENABLE for container in mixedcpus.asking(pod)}
    if not asked:
        return pod
    return pod._replace(annotations={QUOTA: OFF[0], **pod.annotations, **asked})


def runtime_of(plan: ConfiguredPlan) -> Runtime:
    """The runtime of a planned node."""
    values = {setting.key: setting.value for setting in plan.settings.of(component.NAME)}
    handler = plan.spec.runtime.handler if component.has_handler(plan) else ""
    topology = plan.topology
    return Runtime(
        Settings(
            str(values.get(rows.SHARED_CPUSET.key, "")),
            str(values.get(rows.EXEC_CPU_AFFINITY.of(handler=handler), "")),
            component.release(plan.node_class.target),
        ),
        handler,
        _texts(values.get(rows.ALLOWED_ANNOTATIONS.of(handler=handler))),
        int(str(values.get(rows.MIN_INJECTED_GOMAXPROCS.key, 0))),
        _limit(plan),
        tuple(plan.spec.runtime.shared_namespaces),
        component.shares(plan) and admission_rules.mutating_api(plan) is not None,
        _sets_of(plan),
        _allowed(plan),
        _siblings(topology),
        Layout(
            version=1 if chosen.has_cgroups_v1(plan) else 2,
            online=(topology.online - plan.pool("offlined").cpus).bits,
        ),
    )


@lru_cache(maxsize=64)
def _siblings(topology: Topology) -> Mapping[int, str]:
    """The online CPUs of the core of each CPU, as sysfs prints them."""
    return MappingProxyType({cpu: str(topology.siblings(cpu)) for cpu in topology.online})


def _limit(plan: ConfiguredPlan) -> int | None:
    """How many containers may share CPUs; OpenShift's kubelet offers none without its file."""
    sharing = list(plan.settings.of(limits.NAME))
    if sharing:
        return mixedcpus.containers_limit(limits.render(sharing))
    return 0 if plan.node_class.platform.annotates_sharing_pods else None


def _allowed(plan: ConfiguredPlan) -> dict[str, CpuSet]:
    """The CPUs that slices have; none has those of a partition."""
    allowed = {name: limit.cpus for name, limit in slices.limits(plan).items()}
    if isolated := partitions.cpus(plan):
        online = plan.topology.online - plan.pool("offlined").cpus
        allowed[qossets.ALL_PODS] = allowed.get(qossets.ALL_PODS, online) - isolated
    return allowed


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, tuple | list) else ()


def _sets_of(plan: ConfiguredPlan) -> qossets.QosSets | None:
    """The QoS sets of the intent; None where it has none."""
    qos = plan.spec.qos
    if not (qos.best_effort or qos.other):
        return None
    return qossets.QosSets(
        plan.topology.online - plan.pool("offlined").cpus,
        plan.pool("reserved").cpus,
        plan.pool("bestEffort").cpus if qos.best_effort else None,
        plan.pool("other").cpus if qos.other else None,
    )


def start(
    runtime: Runtime, config: Mapping[str, Any], state: CPUState, pod: Pod, gates: Gates
) -> dict[str, Started]:
    """How the containers of an admitted pod start, by name, with the shared pool of `state`."""
    pod = runtime.admit(pod)
    handler = runtime.handler if pod.runtime_class else ""
    annotations = high_performance_hooks.allowed(pod.annotations, runtime.hooks if handler else ())
    has_hooks = high_performance_hooks.runs_hooks(handler, annotations)
    is_static = config.get(CPU_MANAGER_POLICY.key) == "static"
    node = mixedcpus.Node(
        runtime.settings if has_hooks else Settings(),
        runtime.layout,
        config["cpuCFSQuotaPeriod"] // MICROSECOND if config["cpuCFSQuota"] else None,
        state.default if is_static else 0,
        runtime.siblings,
    )
    own = {name: cpus for name, cpus in state.entries.get(pod.uid, {}).items() if cpus}
    hooked = pod._replace(annotations=annotations if has_hooks else {})
    started = mixedcpus.start_pod(hooked, own, node, gates)
    cgroup = Cgroup(started.shares, mixedcpus.shares_to_weight(started.shares), started.quota)
    enforcement = _enforcement(runtime, config)
    problems = _problems(runtime, enforcement, state, pod, gates)
    qos = pod_qos(pod, gates)
    limit = enforcement.limit(qos)
    by_name = {}
    for container, asked in zip(started.containers, pod.all_containers, strict=True):
        env = (*container.env, *_gomaxprocs(runtime, qos, container, asked.env, pod.annotations))
        cpus = to_text(own.get(container.name, node.pool))
        by_name[container.name] = Started(
            container.cpus,
            qossets.effective(
                CpuSet.from_bits(container.cpus or runtime.layout.online), limit
            ).bits,
            _updated(cpus, [*asked.env, *env], runtime.settings.release),
            env,
            container.quota,
            container.outer_quota if container.outer_quota != container.quota else UNLIMITED,
            container.effects,
            container.problem,
            problems.get(container.name, ()),
            cgroup,
        )
    return by_name


def _updated(cpus: str, env: list[str], release: Version) -> str:
    """The cpuset after an update; the runtime refuses one if the environment is malformed."""
    try:
        return high_performance_hooks.update_cpus(cpus, env, release)
    except KubeletError:
        return cpus


def _gomaxprocs(
    runtime: Runtime,
    qos: str,
    container: mixedcpus.MixedContainer,
    env: tuple[str, ...],
    annotations: Mapping[str, str],
) -> tuple[str, ...]:
    number = high_performance_hooks.gomaxprocs(
        qos, container.shares, container.quota, env, annotations, runtime.gomaxprocs
    )
    return () if number is None else (f"{high_performance_hooks.GOMAXPROCS}={number}",)


def _enforcement(runtime: Runtime, config: Mapping[str, Any]) -> qossets.Enforcement:
    """What keeps containers on the CPUs of their QoS class."""
    options = config.get(CPU_MANAGER_OPTIONS.head) or {}
    return qossets.Enforcement(
        config.get(CPU_MANAGER_POLICY.key) == "static",
        options.get(STRICT_RESERVATION) == "true",
        runtime.allowed,
        runtime.layout.version,
    )


def _problems(
    runtime: Runtime, enforcement: qossets.Enforcement, state: CPUState, pod: Pod, gates: Gates
) -> dict[str, tuple[str, ...]]:
    """Where containers run outside of the CPU set of their QoS class, or on CPUs of others."""
    if runtime.sets is None:
        return {}
    placements = qossets.place([pod], state, runtime.sets, enforcement, gates)
    return {placement.container: tuple(map(_text, placement.problems)) for placement in placements}


def _text(problem: qossets.Problem) -> str:
    texts = {
        qossets.OUTSIDE: "may run outside of the CPU set of its QoS class, on",
        qossets.OVERLAP: "may run on exclusive CPUs of others:",
    }
    return f"{texts.get(problem.kind, problem.kind)} CPUs {problem.cpus}"


def sets_text(sets: qossets.QosSets) -> str:
    """What QoS sets leave for exclusive use, and the figure of KEP-30."""
    nowhere: CpuSet = sets.isolcpus
    isolated = f"; CPUs {nowhere} are in neither set" if nowhere else ""
    return (
        f"QoS sets: {sets.assignable} assignable CPUs"
        f" (allocatable by KEP-30: {sets.allocatable}){isolated}"
    )
