"""CRI-O's hooks for high-performance containers and what they write into cgroups.

From cri-o/cri-o, internal/runtimehandlerhooks/high_performance_hooks_linux.go.

Of interrupts only the environment, the crash and which containers have theirs moved are repeated
here: masks and irqbalance are not.

Upstream: cri-o/cri-o internal/runtimehandlerhooks/high_performance_hooks_linux.go
  internal/runtimehandlerhooks/runtime_handler_hooks_linux.go
  internal/runtimehandlerhooks/default_cpu_load_balance_hooks_linux.go
  internal/runtimehandlerhooks/gomaxprocs_hooks_linux.go pkg/annotations/annotations.go
  pkg/config/workloads.go @ f954a17e505f8931e91004403b5f5eac71ab6085
"""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from cpuplan.facts.platforms import Version
from cpuplan.upstream.crio.cgmgr import DEFAULT_PERIOD, UNLIMITED, Cgroups
from cpuplan.upstream.crio.releases import (
    BALANCING_AFTER_STOP,
    BY_CONTAINER,
    C_STATES,
    CHILD_IS_EXCLUSIVE,
    ENABLE,
    EXEC_CGROUP,
    GOVERNOR,
    HOOKS,
    HOUSEKEEPING,
    IRQ,
    IRQS_AFTER_STOP,
    LATEST,
    LOAD_BALANCING,
    OFF,
    QUOTA,
    SHARED,
    SHARED_IN_SPEC,
    SHARING,
    Change,
    Kind,
    outcome,
    resume_latency,
)
from cpuplan.upstream.kubernetes.bits import members, parse_cpus, to_text
from cpuplan.upstream.kubernetes.errors import (
    NIL_DEREFERENCE,
    KubeletError,
    PanicError,
    out_of_range,
)
from cpuplan.upstream.kubernetes.qos import GUARANTEED
from cpuplan.upstream.kubernetes.strconv import quote


class Settings(NamedTuple):
    """What CRI-O is configured with (crio.conf, [crio.runtime] and the handler), and its branch."""

    shared_cpuset: str = ""
    exec_cpu_affinity: str = ""
    release: Version = LATEST


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


_HIGH_PERFORMANCE = "high-performance"
SKIP_GOMAXPROCS = "skip-gomaxprocs.crio.io"
GOMAXPROCS = "GOMAXPROCS"
_SHARES_OF_CPU = 1024


def allowed(annotations: Mapping[str, str], names: Collection[str]) -> dict[str, str]:
    """The hooks' annotations that a handler with these `allowed_annotations` leaves.

    The filter goes by prefix.
    """
    dropped = tuple(hook for hook in HOOKS if hook not in names)
    return {
        key: value
        for key, value in annotations.items()
        if key.startswith(HOOKS) and not key.startswith(dropped)
    }


def runs_hooks(handler: str, annotations: Mapping[str, str]) -> bool:
    """Whether a pod gets the hooks, by its handler's name or an annotation that is left."""
    return _HIGH_PERFORMANCE in handler or any(key.startswith(HOOKS) for key in annotations)


def gomaxprocs(
    qos: str,
    shares: int,
    quota: int,
    env: Iterable[str],
    annotations: Mapping[str, str],
    floor: int,
) -> int | None:
    """The GOMAXPROCS that `min_injected_gomaxprocs` (`floor`) gives a container, or None."""
    is_set = any(variable.startswith(f"{GOMAXPROCS}=") for variable in env)
    is_skipped = annotations.get(SKIP_GOMAXPROCS) == "true"
    if not floor or qos == GUARANTEED or quota > 0 or is_set or is_skipped:
        return None
    return max(-(-shares * 2 // _SHARES_OF_CPU), 1, floor)


ISOLATED_ENV, SHARED_ENV = "OPENSHIFT_ISOLATED_CPUS", "OPENSHIFT_SHARED_CPUS"
HOUSEKEEPING_ENV = "OPENSHIFT_HOUSEKEEPING_CPUS"

_AFFINITIES = ("", "first")


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
        #: The cgroups of containers whose CPUs are taken out of the mask.
        self._moved: set[str] = set()

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
        return self._is_in(SHARING) and self.annotations.get(f"{SHARED}/{spec.name}") == ENABLE

    def shared_of(self, spec: Spec) -> int:
        """The shared CPUs that a created container was given."""
        has_shared = self.runs_hooks(spec) and self.shares_cpus(spec)
        return parse_cpus(self.settings.shared_cpuset) if has_shared else 0

    def _is_in(self, change: Change) -> bool:
        return change.is_in(self.settings.release)

    def _value(self, name: str, spec: Spec) -> str:
        """The value that counts: the container's own wins. KubeletError where it refuses a start.

        Empty for one that the release does not know.
        """
        own = f"{name}/{spec.name}"
        key = own if own in self.annotations and self._is_in(BY_CONTAINER) else name
        value = self.annotations.get(key, "")
        version = self.cgroups.layout.version
        result = outcome(self.settings.release, key, value, cgroups=version)
        if result.kind is Kind.REFUSED:
            raise KubeletError(result.problem)
        return value if result.kind is Kind.DONE else ""

    def _is_off(self, name: str, spec: Spec) -> bool:
        """Whether an annotation switches something off."""
        return self._value(name, spec) in OFF

    def create(self, spec: Spec) -> None:
        """PreCreate, then the runtime makes the cgroup; after KubeletError there is none."""
        if self.runs_hooks(spec):
            self._pre_create(spec)
        self.cgroups.create(spec.name, spec.quota, spec.period)

    def _pre_create(self, spec: Spec) -> None:
        exclusive, shared = self._parse_cpus(spec), 0
        if self.shares_cpus(spec):
            if not exclusive:
                raise KubeletError(f"no cpus found for container {quote(spec.name)}")
            shared = self._parse_shared(spec)
            if self._is_in(SHARED_IN_SPEC):
                spec.cpus = to_text(exclusive | shared)
            spec.env += [f"{ISOLATED_ENV}={to_text(exclusive)}", f"{SHARED_ENV}={to_text(shared)}"]
        housekeeping = self._housekeeping(spec)
        if housekeeping:
            spec.env.append(f"{HOUSEKEEPING_ENV}={to_text(housekeeping)}")
        self._set_exec_cpu(spec, shared or exclusive)

    def _parse_cpus(self, spec: Spec) -> int:
        try:
            return parse_cpus(spec.cpus)
        except KubeletError as error:
            name = quote(spec.name)
            raise KubeletError(f"failed to parse container {name} cpus: {error}") from None

    def _parse_shared(self, spec: Spec) -> int:
        if not self.settings.shared_cpuset:
            asked = f"shared CPUs were requested for container {quote(spec.name)}"
            raise KubeletError(f"{asked} but none are defined")
        try:
            return parse_cpus(self.settings.shared_cpuset)
        except KubeletError as error:
            raise KubeletError(f"failed to parse shared cpus: {error}") from None

    def _set_exec_cpu(self, spec: Spec, cpus: int) -> None:
        """The lowest of `cpus`; without any the error comes at the start (`_make_exec`)."""
        affinity = self.settings.exec_cpu_affinity
        if affinity not in _AFFINITIES:
            raise KubeletError(f"unknown ExecCPUAffinityType {affinity} is used")
        if affinity and cpus:
            spec.exec_cpu = members(cpus)[0]

    def _housekeeping(self, spec: Spec) -> int:
        """The container's part of its first core, where the annotation asks for it, else 0.

        At creation its first CPU is often a shared one (CRI-O bug).
        """
        if self._value(IRQ, spec) != HOUSEKEEPING:
            return 0
        cpus = parse_cpus(spec.cpus)
        if not cpus:
            return 0
        first = members(cpus)[0]
        return (self._siblings(first) or 1 << first) & cpus

    def _siblings(self, cpu: int) -> int:
        text = self.siblings.get(cpu, "").strip()
        try:
            return parse_cpus(text)
        except KubeletError as error:
            problem = f"failed to parse thread siblings {quote(text)} for CPU {cpu}: {error}"
            where = "could not get thread siblings for first core"
            raise KubeletError(f"{where}, err: {problem}") from None

    def start(self, spec: Spec) -> None:
        """PreStart: child cgroup (v2), load balancing, interrupts, quotas, power, exec cgroup."""
        if not self.runs_hooks(spec):
            return
        if self.shares_cpus(spec):
            self._start_shared(spec)
        if self._is_off(LOAD_BALANCING, spec):
            self._stop_balancing(spec)
        self._move_interrupts(spec, back=False)
        if self._is_off(QUOTA, spec):
            self.cgroups.write_quota(self.cgroups.pod, UNLIMITED)
            for path in self.cgroups.containers(spec.name):
                self.cgroups.write_quota(path, UNLIMITED)
        self._set_power(spec)
        if self.settings.exec_cpu_affinity and not self.shares_cpus(spec):
            self._make_exec(spec)

    def _stop_balancing(self, spec: Spec) -> None:
        """Before 1.30 the child for exclusive CPUs lists the shared ones too (CRI-O bug)."""
        self.cgroups.disable_load_balancing(spec.name, self._exclusive(spec))
        if self.cgroups.is_v2 and self.shares_cpus(spec) and not self._is_in(CHILD_IS_EXCLUSIVE):
            self.cgroups.write_cpus(spec.name, parse_cpus(spec.cpus) | self.shared_of(spec))

    def _exclusive(self, spec: Spec) -> int:
        """The CPUs of the spec, without those that CRI-O has added."""
        cpus = parse_cpus(spec.cpus)
        has_shared = self.shares_cpus(spec) and self._is_in(SHARED_IN_SPEC)
        return cpus & ~parse_cpus(self.settings.shared_cpuset) if has_shared else cpus

    def _set_power(self, spec: Spec) -> None:
        """What is written is in `effects`; KubeletError where it cannot be."""
        if C_STATES in self.annotations:
            resume_latency(self.annotations[C_STATES], self.settings.release)
            _require_cpus(spec, "set CPU PM QOS resume latency")
        if GOVERNOR in self.annotations:
            _require_cpus(spec, "set CPU scaling governor")

    def _make_exec(self, spec: Spec) -> None:
        """On version 2 a cgroup for exec, unless in shared CPUs: then it can run in any."""
        if not self.cgroups.is_v2 or not self._is_in(EXEC_CGROUP):
            return
        if spec.exec_cpu is None:
            problem = "ExecCPUAffinity not set in container spec"
            what = f"failed to pre-create exec cgroup for container {spec.name}"
            raise KubeletError(f"{what}: {problem}, but exec cgroup creation was requested")
        self.cgroups.make_exec(spec.name, spec.exec_cpu)

    def effects(self, spec: Spec) -> Effects:
        """What `start` has done for a created container."""
        if not self.runs_hooks(spec):
            return Effects()
        cpus = parse_cpus(spec.cpus)
        states = self.annotations.get(C_STATES)
        return Effects(
            self._exclusive(spec) if self._is_off(LOAD_BALANCING, spec) else 0,
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
        """Takes the container's CPUs, also shared ones, out of the mask or puts them back once.

        A CPU beyond the digits of the mask crashes CRI-O.
        """
        if self._value(IRQ, spec) not in (*OFF, HOUSEKEEPING):
            return
        kept = 0 if back else self._housekeeping(spec)
        _require_cpus(spec, "set IRQ load balancing")
        cpus = parse_cpus(spec.cpus) & ~kept
        cgroup = self.cgroups.scope(spec.name)
        if not back:
            self._moved.add(cgroup)
        elif self._is_in(IRQS_AFTER_STOP) and cgroup not in self._moved:
            return
        else:
            self._moved.discard(cgroup)
        self._check_mask(cpus)

    def _check_mask(self, cpus: int) -> None:
        if self.irq_mask is None:
            return
        size = -(-len(self.irq_mask.strip().replace(",", "")) // 2)
        beyond = [cpu // 8 for cpu in members(cpus) if cpu // 8 >= size]
        if beyond:
            raise out_of_range(beyond[0], size)

    def _start_shared(self, spec: Spec) -> None:
        """Makes the child cgroup of a container with shared CPUs, and raises quotas.

        The pod's quota grows at every start and never shrinks (CRI-O bug).
        """
        try:
            exclusive, shared = self._split(spec)
        except KubeletError as error:
            what = f"setSharedCPUs: failed to set shared CPUs for container {quote(spec.name)}"
            raise KubeletError(f"{what}; {error}") from None
        if not self._is_in(SHARED_IN_SPEC):
            self.cgroups.write_cpus(spec.name, exclusive | shared)
        self.cgroups.make_child(spec.name, exclusive)
        if spec.period is None:
            raise PanicError(NIL_DEREFERENCE)
        self.cgroups.raise_pod_quota(shared.bit_count() * spec.period)
        quota = (exclusive | shared).bit_count() * spec.period
        self.cgroups.write_quota(self.cgroups.containers(spec.name)[-1], quota)

    def _split(self, spec: Spec) -> tuple[int, int]:
        """The exclusive and the shared CPUs.

        Exclusive CPUs are those of the spec that are not shared: one that is both is lost (CRI-O
        bug). Before 1.34 the spec has exclusive ones only.
        """
        if not spec.cpus:
            raise KubeletError(f"no cpus found for container {quote(spec.name)}")
        cpus, shared = self._parse_cpus(spec), self._parse_shared(spec)
        if not self._is_in(SHARED_IN_SPEC):
            return cpus, shared
        if not cpus & ~shared:
            shown = quote(self.settings.shared_cpuset)
            listed = f"all CPUs: {quote(spec.cpus)}, shared CPUs: {shown}"
            raise KubeletError(f"no exclusive CPUs found, {listed}")
        return cpus & ~shared, shared

    def pre_stop(self, spec: Spec) -> None:
        """PreStop: what releases give back here, and not after the stop. KubeletError keeps it."""
        if not self.runs_hooks(spec):
            return
        if not self._is_in(IRQS_AFTER_STOP):
            self._move_interrupts(spec, back=True)
        if not self._is_in(BALANCING_AFTER_STOP):
            self._balance_again(spec)

    def stop(self, spec: Spec) -> None:
        """PostStop: interrupts first, then load balancing; an error ends it. `remove` follows.

        A second stop finds interrupts and exclusive CPUs given back already.
        """
        if self.runs_hooks(spec):
            if self._is_in(IRQS_AFTER_STOP):
                self._move_interrupts(spec, back=True)
            if self._is_in(BALANCING_AFTER_STOP):
                self._balance_again(spec)
        self.cgroups.stop_load_balancing(spec.name)

    def _balance_again(self, spec: Spec) -> None:
        if self._is_off(LOAD_BALANCING, spec) and self.cgroups.is_v2:
            self.cgroups.give_back(self._exclusive(spec))

    def remove(self, spec: Spec) -> None:
        """The runtime removes the container's cgroup."""
        self.cgroups.remove(spec.name)


def _require_cpus(spec: Spec, step: str) -> None:
    if not spec.cpus:
        raise KubeletError(f"{step}: find container {spec.name} CPUs")


def update_cpus(cpus: str, env: list[str], release: Version = LATEST) -> str:
    """The cpuset of a container after an update by the kubelet.

    The shared CPUs in its environment are added, even those set by others (CRI-O bug), by releases
    that share CPUs. KubeletError refuses the update; PanicError kills the request.
    """
    if not SHARING.is_in(release):
        return cpus
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
