"""What containers are told (applyGrant, updateSharedAllocations)."""

from cpuplan.upstream.kubelet.bits import to_text
from cpuplan.upstream.nri.common.pods import HIDE_HYPERTHREADS, Container, shares_of
from cpuplan.upstream.nri.topologyaware.requests import PRESERVE, RESERVED
from cpuplan.upstream.nri.topologyaware.state import Grant, State


def pin(state: State, grant: Grant) -> None:
    """Tell a container its CPUs and memory nodes.

    A container whose CPUs are left alone gets the least shares, whatever it asked for; one on
    reserved CPUs gets those of what its grant still knows of them.
    """
    container = grant.container
    if state.config.pin_cpu:
        if grant.cpu_type != PRESERVE:
            _tell(state, container, _cpus(grant))
        portion = grant.reserved_portion or grant.shared_portion
        container.shares = shares_of(portion or 1000 * grant.exclusive.bit_count())
    if grant.memory_types is not None:
        container.mems = to_text(grant.zone) if state.config.pin_memory else ""


def pin_shared(state: State, changed: Grant | None) -> None:
    """Tell all others that have shared CPUs; a grant of reserved CPUs changes nothing for them."""
    if not state.config.pin_cpu or (changed is not None and changed.cpu_type == RESERVED):
        return
    for grant in state.grants.values():
        is_changed = changed is not None and grant.container is changed.container
        is_fixed = grant.cpu_type != "normal" or (grant.exclusive and not grant.portion)
        if not is_changed and not is_fixed:
            _tell(state, grant.container, grant.exclusive | grant.pool.free_sharable)


def _cpus(grant: Grant) -> int:
    if grant.cpu_type == RESERVED:
        return grant.pool.reserved
    shared = grant.pool.free_sharable
    if not grant.exclusive:
        return shared
    return grant.exclusive | shared if grant.shared_portion else grant.exclusive


def _tell(state: State, container: Container, cpus: int) -> None:
    hides_threads = container.flag(HIDE_HYPERTHREADS)
    container.cpus = to_text(state.system.single_threads(cpus) if hides_threads else cpus)
