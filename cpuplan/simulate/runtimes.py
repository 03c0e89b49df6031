"""The container runtime of a planned node, and how it starts the containers of admitted pods."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from cpuplan.components import cgroups
from cpuplan.components import crio as component
from cpuplan.components.openshift import mixedcpus as limits
from cpuplan.cpuset import CpuSet
from cpuplan.kubelet import quantity
from cpuplan.kubelet.bits import to_text
from cpuplan.kubelet.cpu.state import CPUState
from cpuplan.kubelet.errors import KubeletError
from cpuplan.kubelet.go.durations import MICROSECOND
from cpuplan.kubelet.pods.pod import Pod, Resources
from cpuplan.kubelet.pods.qos import pod_qos
from cpuplan.kubelet.releases.features import Gates
from cpuplan.kubelet.releases.policy_options import STRICT_RESERVATION
from cpuplan.plan import ConfiguredPlan
from cpuplan.runtime import crio, handlers, mixedcpus, qossets
from cpuplan.runtime.cgroups import UNLIMITED, Layout
from cpuplan.runtime.spec import Effects, Settings


class Cgroup(NamedTuple):
    """The CPU files of a pod: shares, the weight on version 2, and microseconds for each period."""

    shares: int
    weight: int
    quota: int


class Started(NamedTuple):
    """How a container runs; times are microseconds for each period, UNLIMITED for no quota.

    `updated` is the cpuset after the kubelet's next update, `outer_quota` the quota of a cgroup
    above the processes if it is another one. `problem` keeps the container from starting.
    """

    cpus: int
    updated: str
    env: tuple[str, ...]
    quota: int
    outer_quota: int
    effects: Effects
    problem: str
    outside: tuple[str, ...]
    cgroup: Cgroup


class Runtime(NamedTuple):
    """CRI-O's configuration, and the CPU sets of QoS classes.

    `hooks` are the annotations that the handler allows; `limit` is the number of containers that
    may share CPUs, None where the kubelet offers no such resource; without `namespaces`, pods of
    all namespaces may.
    """

    settings: Settings = Settings()
    handler: str = ""
    hooks: tuple[str, ...] = ()
    gomaxprocs: int = 0
    limit: int | None = None
    namespaces: tuple[str, ...] = ()
    sets: qossets.QosSets | None = None
    siblings: Mapping[int, str] = MappingProxyType({})
    layout: Layout = Layout()

    @property
    def resources(self) -> Resources:
        """What the kubelet offers beside the resources of the machine."""
        return {} if self.limit is None else {mixedcpus.RESOURCE: quantity.of(self.limit)}

    def admit(self, pod: Pod) -> Pod:
        """The pod as OpenShift's API server annotates it; AdmissionError refuses it."""
        if self.limit is None:
            return pod
        is_allowed = not self.namespaces or pod.namespace in self.namespaces
        return mixedcpus.admit(pod, {mixedcpus.ALLOWED: ""} if is_allowed else {})


def runtime_of(plan: ConfiguredPlan) -> Runtime:
    """The runtime of a planned node."""
    values = {setting.key: setting.value for setting in plan.settings.of(component.NAME)}
    handler = plan.spec.runtime.handler if component.has_handler(plan) else ""
    table = f"runtimes.{handler}."
    sharing = list(plan.settings.of(limits.NAME))
    topology = plan.topology
    return Runtime(
        Settings(
            str(values.get("shared_cpuset", "")),
            str(values.get(f"{table}exec_cpu_affinity", "")),
        ),
        handler,
        _texts(values.get(f"{table}allowed_annotations")),
        int(str(values.get("min_injected_gomaxprocs", 0))),
        mixedcpus.containers_limit(limits.render(sharing)) if sharing else None,
        tuple(plan.spec.runtime.shared_namespaces),
        _sets_of(plan),
        {cpu: str(topology.siblings(cpu)) for cpu in topology.online},
        Layout(
            version=1 if cgroups.is_v1(plan) else 2,
            online=(topology.online - plan.pool("offlined").cpus).bits,
        ),
    )


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
    annotations = handlers.allowed(pod.annotations, runtime.hooks if handler else ())
    has_hooks = handlers.runs_hooks(handler, annotations)
    is_static = config.get("cpuManagerPolicy") == "static"
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
    problems = _problems(runtime, config, state, pod, gates)
    qos = pod_qos(pod, gates)
    by_name = {}
    for container, asked in zip(started.containers, pod.all_containers, strict=True):
        env = (*container.env, *_gomaxprocs(runtime, qos, container, asked.env, pod.annotations))
        cpus = to_text(own.get(container.name, node.pool))
        by_name[container.name] = Started(
            container.cpus,
            _updated(cpus, [*asked.env, *env]),
            env,
            container.quota,
            container.outer_quota if container.outer_quota != container.quota else UNLIMITED,
            container.effects,
            container.problem,
            problems.get(container.name, ()),
            cgroup,
        )
    return by_name


def _updated(cpus: str, env: list[str]) -> str:
    """The cpuset after an update; the runtime refuses one if the environment is malformed."""
    try:
        return crio.update_cpus(cpus, env)
    except KubeletError:
        return cpus


def _gomaxprocs(
    runtime: Runtime,
    qos: str,
    container: mixedcpus.MixedContainer,
    env: tuple[str, ...],
    annotations: Mapping[str, str],
) -> tuple[str, ...]:
    number = handlers.gomaxprocs(
        qos, container.shares, container.quota, env, annotations, runtime.gomaxprocs
    )
    return () if number is None else (f"{handlers.GOMAXPROCS}={number}",)


def _problems(
    runtime: Runtime, config: Mapping[str, Any], state: CPUState, pod: Pod, gates: Gates
) -> dict[str, tuple[str, ...]]:
    """Where containers run outside of the CPU set of their QoS class; cpuplan writes no slices."""
    if runtime.sets is None:
        return {}
    options = config.get("cpuManagerPolicyOptions") or {}
    enforcement = qossets.Enforcement(
        config.get("cpuManagerPolicy") == "static",
        options.get(STRICT_RESERVATION) == "true",
        slices=False,
    )
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
