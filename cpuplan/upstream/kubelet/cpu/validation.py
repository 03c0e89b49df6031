"""Checks of a state that the CPU manager has read (policy_static.go, validateState)."""

from cpuplan.upstream.kubelet.bits import to_text
from cpuplan.upstream.kubelet.cpu.state import CPUState
from cpuplan.upstream.kubelet.errors import KubeletError
from cpuplan.upstream.kubelet.go.text import quote


def check_reserved(state: CPUState, reserved: int, *, is_strict: bool) -> None:
    """Reserved CPUs are all in the shared pool or, where the reservation is strict, none is."""
    inside, default = reserved & state.default, quote(to_text(state.default))
    if is_strict and inside:
        what = f"some of strictly reserved cpus: {quote(to_text(inside))}"
        raise KubeletError(f"{what} are present in defaultCpuSet: {default}")
    if not is_strict and inside != reserved:
        what = f"not all reserved cpus: {quote(to_text(reserved))}"
        raise KubeletError(f"{what} are present in defaultCpuSet: {default}")


def check_overlap(state: CPUState) -> None:
    """No container has CPUs of the shared pool."""
    default = quote(to_text(state.default))
    for pod, containers in sorted(state.entries.items()):
        for name, cpus in sorted(containers.items()):
            if cpus & state.default:
                overlap = f"{quote(to_text(cpus))} overlaps with default cpuset {default}"
                raise KubeletError(f"pod: {pod}, container: {name} cpuset: {overlap}")


def check_known(state: CPUState, everything: int, *, with_pods: bool) -> None:
    """The state names the CPUs of the machine, neither more nor fewer."""
    known = _known_cpus(state, with_pods=with_pods)
    if known != everything:
        available, in_state = quote(to_text(everything)), quote(to_text(known))
        problem = f"{available} doesn't match with CPUs in state {in_state}"
        raise KubeletError(f"current set of available CPUs {problem}")


def _known_cpus(state: CPUState, *, with_pods: bool) -> int:
    """Every CPU that a state mentions; those of whole pods only where these are managed."""
    known = state.default
    for containers in state.entries.values():
        for cpus in containers.values():
            known |= cpus
    if with_pods:
        for cpus in state.pod_entries.values():
            known |= cpus
    return known
