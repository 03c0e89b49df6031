"""CRI-O's hooks for high-performance containers and what they write into cgroups.

From cri-o/cri-o, internal/runtimehandlerhooks/high_performance_hooks_linux.go.

Of interrupts only the environment and the crash are repeated here: masks and irqbalance are not.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from cpuplan.kubelet.bits import members, parse_cpus, to_text
from cpuplan.kubelet.errors import NIL_DEREFERENCE, KubeletError, PanicError, out_of_range
from cpuplan.kubelet.go.text import atoi, quote
from cpuplan.runtime.cgroups import DEFAULT_PERIOD, UNLIMITED, Cgroups

SHARED = "cpu-shared.crio.io"
LOAD_BALANCING = "cpu-load-balancing.crio.io"
QUOTA = "cpu-quota.crio.io"
IRQ = "irq-load-balancing.crio.io"
C_STATES = "cpu-c-states.crio.io"
GOVERNOR = "cpu-freq-governor.crio.io"
ENABLE = "enable"
#: What switches a thing off; `true` is the old way to write it.
_OFF = ("disable", "true")
#: Interrupts stay on the container's first core.
HOUSEKEEPING = "housekeeping"
_MAX_LATENCY = "max_latency:"

ISOLATED_ENV, SHARED_ENV = "OPENSHIFT_ISOLATED_CPUS", "OPENSHIFT_SHARED_CPUS"
HOUSEKEEPING_ENV = "OPENSHIFT_HOUSEKEEPING_CPUS"
#: Shares of one CPU: fewer, or part of so many, are no exclusive CPUs.
_SHARES_OF_CPU = 1024
_AFFINITIES = ("", "first")


class Settings(NamedTuple):
    """What CRI-O is configured with (crio.conf, [crio.runtime] and the handler)."""

    shared_cpuset: str = ""
    exec_cpu_affinity: str = ""


class Spec:
    """The CPU part of a container's OCI spec: as the kubelet asked, then as the hooks changed it.

    `quota` and `period` are microseconds (-1: no quota); None stands for a field that the spec
    lacks.
    """

    __slots__ = ("cpus", "env", "exec_cpu", "name", "period", "quota", "shares")

    def __init__(
        self,
        name: str,
        cpus: str,
        shares: int | None = None,
        quota: int | None = None,
        period: int | None = DEFAULT_PERIOD,
        env: Iterable[str] = (),
    ) -> None:
        self.name, self.cpus, self.shares = name, cpus, shares
        self.quota, self.period = quota, period
        self.env = list(env)
        self.exec_cpu: int | None = None


class Effects(NamedTuple):
    """What the hooks do for a container beside its cpuset, quota and environment.

    CPUs are sets; texts are written for each of the container's CPUs (empty: nothing is written).
    """

    without_load_balancing: int = 0
    without_interrupts: int = 0
    is_quota_off: bool = False
    resume_latency: str = ""  # power/pm_qos_resume_latency_us
    governor: str = ""  # cpufreq/scaling_governor
    exec_cpu: int | None = None  # where exec probes start


class Sandbox:
    """A pod in CRI-O under a handler that runs the hooks. KubeletErrors carry CRI-O's texts.

    `siblings` are the texts of thread_siblings_list by CPU, `irq_mask` is that of
    /proc/irq/default_smp_affinity.
    """

    def __init__(
        self,
        settings: Settings,
        cgroups: Cgroups,
        annotations: Mapping[str, str],
        siblings: Mapping[int, str] | None = None,
        irq_mask: str | None = None,
    ) -> None:
        self.settings, self.cgroups, self.annotations = settings, cgroups, annotations
        self.siblings, self.irq_mask = siblings or {}, irq_mask

    def runs_hooks(self, spec: Spec) -> bool:
        """Whether the hooks handle a container.

        Its pod's cgroup must not look burstable or best-effort, and its shares must be a whole
        number of CPUs (0 is one).
        """
        parent = self.cgroups.pod
        if "burstable" in parent or "besteffort" in parent:
            return False
        return spec.shares is not None and spec.shares % _SHARES_OF_CPU == 0

    def shares_cpus(self, spec: Spec) -> bool:
        """Whether the container asked for shared CPUs."""
        return self.annotations.get(f"{SHARED}/{spec.name}") == ENABLE

    def shared_of(self, spec: Spec) -> int:
        """The shared CPUs that a created container was given."""
        return (
            parse_cpus(self.settings.shared_cpuset)
            if self.runs_hooks(spec) and self.shares_cpus(spec)
            else 0
        )

    def _is_off(self, annotation: str, spec: Spec) -> bool:
        """Whether an annotation switches something off; the container's own wins."""
        return self._value(annotation, spec) in _OFF

    def _value(self, annotation: str, spec: Spec) -> str:
        return self.annotations.get(
            f"{annotation}/{spec.name}", self.annotations.get(annotation, "")
        )

    def create(self, spec: Spec) -> None:
        """PreCreate, then the runtime makes the cgroup; after KubeletError there is none."""
        if self.runs_hooks(spec):
            self._pre_create(spec)
        self.cgroups.create(spec.name, spec.quota, spec.period)

    def _pre_create(self, spec: Spec) -> None:
        shared = 0
        if self.shares_cpus(spec):
            exclusive, shared = self._parse(spec)
            spec.cpus = to_text(exclusive | shared)
            spec.env += [f"{ISOLATED_ENV}={to_text(exclusive)}", f"{SHARED_ENV}={to_text(shared)}"]
        self._set_exec_cpu(spec, shared)
        housekeeping = self._housekeeping(spec) if self._value(IRQ, spec) == HOUSEKEEPING else 0
        if housekeeping:
            spec.env.append(f"{HOUSEKEEPING_ENV}={to_text(housekeeping)}")

    def _parse(self, spec: Spec) -> tuple[int, int]:
        """The CPUs of the spec and the shared ones."""
        name = quote(spec.name)
        if not spec.cpus:
            raise KubeletError(f"no cpus found for container {name}")
        if not self.settings.shared_cpuset:
            raise KubeletError(
                f"shared CPUs were requested for container {name} but none are defined"
            )
        try:
            cpus = parse_cpus(spec.cpus)
        except KubeletError as error:
            raise KubeletError(f"failed to parse container {name} cpus: {error}") from None
        try:
            return cpus, parse_cpus(self.settings.shared_cpuset)
        except KubeletError as error:
            raise KubeletError(f"failed to parse shared cpus: {error}") from None

    def _set_exec_cpu(self, spec: Spec, shared: int) -> None:
        affinity = self.settings.exec_cpu_affinity
        if affinity not in _AFFINITIES:
            raise KubeletError(f"unknown ExecCPUAffinityType {affinity} is used")
        cpus = members(shared or parse_cpus(spec.cpus))
        if affinity and cpus:
            spec.exec_cpu = cpus[0]

    def _housekeeping(self, spec: Spec) -> int:
        """The container's part of its first core.

        At creation its first CPU is often a shared one (CRI-O bug).
        """
        cpus = parse_cpus(spec.cpus)
        if not cpus:
            return 0
        first = members(cpus)[0]
        text = self.siblings.get(first)
        if text is None:
            return 1 << first
        try:
            return parse_cpus(text) & cpus
        except KubeletError as error:
            problem = f"failed to parse thread siblings {quote(text)} for CPU {first}: {error}"
            raise KubeletError(
                f"could not get thread siblings for first core, err: {problem}"
            ) from None

    def start(self, spec: Spec) -> None:
        """PreStart: child cgroup (v2), load balancing, interrupts, quotas, the exec cgroup."""
        if not self.runs_hooks(spec):
            return
        exclusive = self._start_shared(spec) if self.shares_cpus(spec) else parse_cpus(spec.cpus)
        if self._is_off(LOAD_BALANCING, spec):
            self.cgroups.disable_load_balancing(spec.name, exclusive)
        self._move_interrupts(spec, back=False)
        if self._is_off(QUOTA, spec):
            self.cgroups.write_quota(self.cgroups.pod, UNLIMITED)
            for path in self.cgroups.containers(spec.name):
                self.cgroups.write_quota(path, UNLIMITED)
        if C_STATES in self.annotations:
            resume_latency(self.annotations[C_STATES])
        if spec.exec_cpu is not None:
            self.cgroups.make_exec(spec.name, spec.exec_cpu)

    def effects(self, spec: Spec) -> Effects:
        """What `start` has done for a created container."""
        if not self.runs_hooks(spec):
            return Effects()
        cpus = parse_cpus(spec.cpus)
        states = self.annotations.get(C_STATES)
        return Effects(
            cpus & ~self.shared_of(spec) if self._is_off(LOAD_BALANCING, spec) else 0,
            self._without_interrupts(spec, cpus),
            self._is_off(QUOTA, spec),
            "" if states is None else resume_latency(states),
            self.annotations.get(GOVERNOR, ""),
            spec.exec_cpu,
        )

    def _without_interrupts(self, spec: Spec, cpus: int) -> int:
        if self._value(IRQ, spec) == HOUSEKEEPING:
            return cpus & ~self._housekeeping(spec)
        return cpus if self._is_off(IRQ, spec) else 0

    def _move_interrupts(self, spec: Spec, *, back: bool) -> None:
        """Takes the container's CPUs, also shared ones, out of the mask or puts them back.

        A CPU beyond the digits of the mask crashes CRI-O.
        """
        cpus, value = parse_cpus(spec.cpus), self._value(IRQ, spec)
        if value == HOUSEKEEPING and not back:
            cpus &= ~self._housekeeping(spec)
        if self.irq_mask is None or value not in (*_OFF, HOUSEKEEPING):
            return
        size = -(-len(self.irq_mask.strip().replace(",", "")) // 2)
        beyond = [cpu // 8 for cpu in members(cpus) if cpu // 8 >= size]
        if beyond:
            raise out_of_range(beyond[0], size)

    def _start_shared(self, spec: Spec) -> int:
        """Prepares a container with shared CPUs; returns its exclusive ones.

        Exclusive CPUs are those of the spec that are not shared: one that is both is lost (CRI-O
        bug).

        The pod's quota grows at every start and never shrinks (CRI-O bug).
        """
        try:
            cpus, shared = self._parse(spec)
            exclusive = cpus & ~shared
            if not exclusive:
                listed = f"all CPUs: {quote(to_text(cpus))}, shared CPUs: {quote(to_text(shared))}"
                raise KubeletError(f"no exclusive CPUs found, {listed}")
        except KubeletError as error:
            name = quote(spec.name)
            text = f"setSharedCPUs: failed to set shared CPUs for container {name}; {error}"
            raise KubeletError(text) from None
        self.cgroups.make_child(spec.name, exclusive)
        if not self._is_off(QUOTA, spec):
            if spec.period is None:
                raise PanicError(NIL_DEREFERENCE)
            self.cgroups.raise_pod_quota(shared.bit_count() * spec.period)
            quota = (exclusive | shared).bit_count() * spec.period
            self.cgroups.write_quota(self.cgroups.containers(spec.name)[-1], quota)
        return exclusive

    def stop(self, spec: Spec) -> None:
        """PostStop; `remove` follows."""
        self.cgroups.stop_load_balancing(spec.name)
        if not self.runs_hooks(spec):
            return
        self._move_interrupts(spec, back=True)
        if self._is_off(LOAD_BALANCING, spec):
            cpus = parse_cpus(spec.cpus)
            if self.shares_cpus(spec):
                cpus &= ~parse_cpus(self.settings.shared_cpuset)
            self.cgroups.give_back(cpus)

    def remove(self, spec: Spec) -> None:
        """The runtime removes the container's cgroup."""
        self.cgroups.remove(spec.name)


def resume_latency(value: str) -> str:
    """The pm_qos_resume_latency_us for a C-states annotation; KubeletError refuses the start."""
    if value in (ENABLE, "disable"):
        return "0" if value == ENABLE else "n/a"
    if value.startswith(_MAX_LATENCY):
        latency = atoi(value.removeprefix(_MAX_LATENCY))
        if latency > 0:
            return str(latency)
    raise KubeletError(f"invalid annotation value {value}")


def update_cpus(cpus: str, env: list[str]) -> str:
    """The cpuset of a container after an update by the kubelet.

    The shared CPUs in its environment are added, even those set by others (CRI-O bug). KubeletError
    refuses the update; PanicError kills the request.
    """
    text = ""
    for variable in env:
        if variable.startswith(SHARED_ENV):
            name, *value = variable.split("=")
            if not value:
                raise PanicError("runtime error: index out of range [1] with length 1")
            if name == SHARED_ENV:
                text = value[0]
    if not text:
        return cpus
    return to_text(parse_cpus(cpus) | parse_cpus(text))
