"""The container runtime of a planned node, and how it starts the containers of admitted pods."""

from collections.abc import Hashable, Mapping
from functools import lru_cache, partial
from types import MappingProxyType
from typing import Any, NamedTuple

from cpuplan.base.cpuset import CpuSet
from cpuplan.base.topology import Topology
from cpuplan.components import admission_rules, chosen, slices
from cpuplan.components import crio as component
from cpuplan.components.host import partitions
from cpuplan.components.openshift import mixedcpus as limits
from cpuplan.components.openshift import pinning
from cpuplan.facts.settings import crio as rows
from cpuplan.facts.settings.kubelet import CPU_MANAGER_OPTIONS, CPU_MANAGER_POLICY
from cpuplan.facts.versions import Version
from cpuplan.plan import ConfiguredPlan, setting
from cpuplan.plan.expected.state import Expected
from cpuplan.simulate.apiserver import ApiServer, Surroundings, server_of
from cpuplan.upstream.crio import config as configuration
from cpuplan.upstream.crio import high_performance_hooks, mixedcpus, workloads
from cpuplan.upstream.crio.cgmgr import UNLIMITED, Layout
from cpuplan.upstream.crio.high_performance_hooks import SKIP_GOMAXPROCS, Effects, Settings
from cpuplan.upstream.crio.releases import ENABLE, HOOKS, OFF, QUOTA, SHARED
from cpuplan.upstream.crio.workloads import Workload
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
from cpuplan.upstream.openshift import managed


class Cgroup(NamedTuple):
    """The CPU files of a pod: shares, the weight on version 2, and microseconds for each period."""

    shares: int
    weight: int
    quota: int


class Started(NamedTuple):
    """How a container runs; times are microseconds for each period, UNLIMITED for no quota.

    `cpus` is its cpuset, `effective` what its slices leave of it, `updated` the cpuset after the
    kubelet's next update, `outer_quota` the quota of a cgroup above the processes if it is another
    one. `problem` keeps the container from starting. `managed_shares` are the CPU shares of the
    platform's own containers, which CRI-O places; None of any other.
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
    managed_shares: int | None = None

    @property
    def cpus_given(self) -> int:
        """The CPUs that CRI-O gives a container whatever the kubelet asks for; 0 of most."""
        return 0 if self.managed_shares is None else self.cpus


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
    server: ApiServer = ApiServer()
    workloads: tuple[Workload, ...] = ()

    @property
    def resources(self) -> Resources:
        """What the kubelet offers beside the resources of the machine."""
        offered = {} if self.limit is None else {mixedcpus.RESOURCE: quantity.of(self.limit)}
        if self.server.is_partitioned:
            name = managed.resource_name(managed.MANAGEMENT)
            offered[name] = managed.capacity(self.layout.online.bit_count())
        return offered

    def admit(self, pod: Pod) -> Pod:
        """The pod as the API server stores it, again and again the same; it refuses some.

        AdmissionError has its text.
        """
        pod = self.server.admit(pod)
        if self.limit is None:
            return _annotated(pod) if self.annotates else pod
        return mixedcpus.admit(pod, self._sharing(pod.namespace))

    def _sharing(self, namespace: str) -> Mapping[str, str]:
        """The annotations of a namespace, as far as they let its pods share CPUs."""
        given = self.server.namespaces.get(namespace)
        is_open = not self.namespaces if given is None else mixedcpus.ALLOWED in given
        return {mixedcpus.ALLOWED: ""} if is_open or namespace in self.namespaces else {}

    def sees(self, pod: Pod) -> Hashable:
        """What counts of a stored pod beside its resources."""
        told = (item for item in pod.annotations.items() if item[0].startswith(_READ))
        return pod.runtime_class, tuple(sorted(told))


#: How the annotations begin that anything between the API server and CRI-O reads.
_READ = (*HOOKS, managed.TARGET, managed.RESOURCES, SKIP_GOMAXPROCS)


def _annotated(pod: Pod) -> Pod:
    """What the MutatingAdmissionPolicy makes of a pod (`components.admission_rules.ANNOTATE`)."""
    asked = {f"{SHARED}/{container.name}": ENABLE for container in mixedcpus.asking(pod)}
    if not asked:
        return pod
    return pod._replace(annotations={QUOTA: OFF[0], **pod.annotations, **asked})


def runtime_of(plan: ConfiguredPlan, around: Surroundings | None = None) -> Runtime:
    """The runtime of a planned node; `around` is what is known of its cluster."""
    server = server_of(plan)
    if around is not None:
        server = server.surveyed(around, plan.node_class.cluster)
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
        server,
        _workloads(plan.settings),
    )


def runtime_of_expected(expected: Expected, release: Version) -> Runtime:
    """What the expected state says of admission and of the platform's pods; nothing of hooks."""
    is_openshift = expected.platform.forks_kubelet
    is_partitioned = is_openshift and bool(expected.settings.of(pinning.NAME))
    online = expected.topology.online - expected.pool("offlined").cpus
    return Runtime(
        layout=Layout(online=online.bits),
        server=ApiServer(is_openshift, is_partitioned, release=release),
        workloads=_workloads(expected.settings),
    )


def _workloads(settings: setting.Settings) -> tuple[Workload, ...]:
    """The tables of CRI-O's drop-in for the platform's pods, where there is one."""
    texts = pinning.files(settings.of(pinning.NAME))
    if pinning.CRIO_PATH not in texts:
        return ()
    _, text = texts[pinning.CRIO_PATH]
    read = configuration.decode(pinning.CRIO_PATH, text)
    tables = configuration.merge({pinning.CRIO_PATH: read})
    return tuple(map(workloads.workload_of, tables["runtime"]["workloads"].values()))


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
    handler = runtime.server.handler_of(pod)
    hooks = runtime.hooks if handler and handler == runtime.handler else ()
    annotations = high_performance_hooks.allowed(pod.annotations, hooks)
    has_hooks = high_performance_hooks.runs_hooks(handler, annotations)
    is_static = config.get(CPU_MANAGER_POLICY.key) == "static"
    node = mixedcpus.Node(
        runtime.settings if has_hooks else Settings(),
        runtime.layout,
        config["cpuCFSQuotaPeriod"] // MICROSECOND if config["cpuCFSQuota"] else None,
        state.default if is_static else 0,
        runtime.siblings,
        partial(workloads.mutate_spec, workloads=runtime.workloads, annotations=pod.annotations),
    )
    own = {name: cpus for name, cpus in state.entries.get(pod.uid, {}).items() if cpus}
    hooked = pod._replace(annotations=annotations if has_hooks else {})
    started = mixedcpus.start_pod(hooked, own, node, gates)
    cgroup = Cgroup(started.shares, mixedcpus.shares_to_weight(started.shares), started.quota)
    enforcement = _enforcement(runtime, config)
    problems = _problems(runtime, enforcement, state, pod, gates)
    qos = pod_qos(pod, gates)
    limit = enforcement.limit(qos)
    is_managed = workloads.activated(runtime.workloads, pod.annotations) is not None
    by_name = {}
    for container, asked in zip(started.containers, pod.all_containers, strict=True):
        env = (*container.env, *_gomaxprocs(runtime, qos, container, asked.env, pod.annotations))
        cpus = container.cpus if is_managed else own.get(container.name, node.pool)
        by_name[container.name] = Started(
            container.cpus,
            qossets.effective(
                CpuSet.from_bits(container.cpus or runtime.layout.online), limit
            ).bits,
            _updated(to_text(cpus), [*asked.env, *env], runtime.settings.release),
            env,
            container.quota,
            container.outer_quota if container.outer_quota != container.quota else UNLIMITED,
            container.effects,
            container.problem,
            () if is_managed else problems.get(container.name, ()),
            cgroup,
            container.shares if is_managed else None,
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
