"""How the policy prints what it has and what it was asked for: parts of its refusals."""

from cpuplan.upstream.kubelet.bits import members, to_text
from cpuplan.upstream.nri.cpuallocator import priorities
from cpuplan.upstream.nri.topologyaware.pool import Pool
from cpuplan.upstream.nri.topologyaware.requests import Request
from cpuplan.upstream.nri.topologyaware.state import State

_UNITS = ((1 << 40, "T"), (1 << 30, "G"), (1 << 20, "M"), (1 << 10, "k"))


def request_text(request: Request) -> str:
    """A request with its memory."""
    container = request.container
    limit, amount = _memory(container.memory), _memory(container.memory_request)
    memory = f"<Memory request: limit: {limit}, req: {amount}>"
    head = f"{priorities.NAMES[request.priority]} CPU request {container.full_name}"
    isolated = "isolated " if request.isolate else ""
    if not request.full and not request.fraction:
        return f"<{head}: none> {memory}"
    if request.full and request.fraction:
        cpus = f"{isolated}exclusive: {request.full}, shared: {request.fraction}"
        return f"<{head}: {cpus}>{memory}"
    if request.full:
        return f"<{head}: {isolated}exclusive: {request.full}> {memory}"
    return f"<{head}: shared {request.fraction}> {memory}"


def allocatable_text(state: State, pool: Pool) -> str:
    """What a pool has left."""
    cpu = _cpu_text(state, pool)
    nodes = pool.nodes(0b111)
    free = state.memory.free(nodes)
    parts = [f"CPU: {cpu}"] if cpu else []
    if free > 0:
        parts.append(f"MemLimit: {_memory(free)}")
    return f"<{pool.name} allocatable: {', '.join(parts) or '-'}>"


def _cpu_text(state: State, pool: Pool) -> str:
    text = separator = ""
    if pool.free_isolated:
        text, separator = f"isolated:{short_set(pool.free_isolated)}", ", "
    if pool.reserved:
        left = pool.allocatable_reserved()
        text += f"{separator}reserved:{short_set(pool.reserved)} (allocatable: {left}m)"
        separator = ", "
        if pool.granted_reserved > 0:
            text += f", grantedReserved:{pool.granted_reserved}m"
    if pool.free_sharable:
        sliceable = state.sliceable(pool)
        granted = _granted_text(pool)
        text += (
            f"{separator}sharable:{short_set(pool.free_sharable)} ({granted}"
            f"allocatable:{state.allocatable_shared(pool)}m)"
            f"/sliceable:{short_set(sliceable)} ({1000 * sliceable.bit_count()}m)"
        )
    return text


def _granted_text(pool: Pool) -> str:
    """What is granted here and below; the separator of the first is that of both."""
    own, total = pool.granted_shared, pool.subtree_granted()
    if own <= 0 and total <= 0:
        return ""
    amounts = [f"{amount}m" for amount in (own, total) if amount > 0]
    kinds = [kind for kind, amount in (("local", own), ("subtree", total)) if amount > 0]
    return f"grantedShared:{'/'.join(amounts)} {'/'.join(kinds)}, "


def short_set(cpus: int) -> str:
    """A CPU list in which single CPUs at equal distances are a range with a step (ShortCPUSet)."""
    if not cpus:
        return ""
    parts: list[str] = []
    singles: list[int] = []
    for part in to_text(cpus).split(","):
        if "-" in part:
            parts.append(part)
            continue
        cpu = int(part)
        if len(singles) >= 2 and cpu - singles[-1] != singles[1] - singles[0]:
            parts.append(_steps(singles))
            singles = []
        singles.append(cpu)
    return ",".join([*parts, *([_steps(singles)] if singles else [])])


def _steps(singles: list[int]) -> str:
    first, last = singles[0], singles[-1]
    if len(singles) == 1:
        return f"{first}"
    step = singles[1] - first
    if step == 1:
        return f"{first}-{last}"
    return f"{first},{last}" if len(singles) == 2 else f"{first}-{last}:{step}"


def struct_text(cpus: int) -> str:
    """A CPU set printed as a number, which shows what it is made of."""
    return f"{{map[{' '.join(f'{cpu}:{{}}' for cpu in members(cpus))}]}}"


def _memory(amount: int) -> str:
    for size, unit in _UNITS:
        if amount >= size:
            return f"{amount / size:.2f}{unit}"
    return f"{amount:.2f}"
