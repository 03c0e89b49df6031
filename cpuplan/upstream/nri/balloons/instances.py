"""Making, resizing and removing balloons."""

from collections.abc import Callable

from cpuplan.upstream.kubelet.go.text import quote
from cpuplan.upstream.nri.balloons import devices
from cpuplan.upstream.nri.balloons.balloon import Balloon, State
from cpuplan.upstream.nri.balloons.config import BalloonType
from cpuplan.upstream.nri.balloons.pinning import share_idle, update_pinning
from cpuplan.upstream.nri.balloons.resizing import TreeAllocator
from cpuplan.upstream.nri.common.amounts import whole_cpus
from cpuplan.upstream.nri.cpuallocator.allocator import allocate, release
from cpuplan.upstream.nri.errors import NriError
from cpuplan.upstream.nri.libmem.nodes import type_mask


def balloons_error(text: str) -> NriError:
    """An error of the policy, with its prefix."""
    return NriError(f"balloons: {text}")


def create(state: State, wanted: BalloonType) -> Balloon:
    """A balloon of its type's minimum size, not yet among the state's; NriError if it fails."""
    others = state.of_type(wanted)
    if wanted.max_balloons > 0 and wanted.max_balloons <= len(others):
        raise balloons_error(
            f"cannot create new {quote(wanted.name)} balloon, "
            f"MaxBalloons limit ({wanted.max_balloons}) reached"
        )
    used = {balloon.instance for balloon in others}
    instance = next(number for number in range(len(others) + 1) if number not in used)
    if wanted.components:
        return _create_composite(state, wanted, instance)
    allocator = _allocator(state, wanted)
    balloon = Balloon(wanted, instance, allocator, type_mask(wanted.memory_types))
    balloon.loads = devices.update_loads(state, allocator, wanted)
    allocator.update = _follower(state, allocator, wanted)
    resize(state, balloon, wanted.min_cpus * 1000)
    balloon.mems = state.memory.near(balloon.cpus)
    return balloon


def _allocator(state: State, wanted: BalloonType) -> TreeAllocator:
    config = state.config
    balancing = config.balancing if wanted.balancing is None else wanted.balancing
    spread = config.spread if wanted.spread is None else wanted.spread
    return TreeAllocator(
        state.spread_tree if spread else state.tree,
        balancing,
        spread,
        devices.without_pod_resources(wanted.close_to),
        list(wanted.far_from),
        devices.virtual(state),
        state.paths,
    )


def _follower(
    state: State, allocator: TreeAllocator, wanted: BalloonType
) -> Callable[[int], None] | None:
    """What keeps the devices of loads current while CPUs are chosen, if a load asks for it."""
    if not any(state.loads[load].own for load in wanted.loads):
        return None
    return lambda cpus: devices.extend_loads(state, allocator, wanted, cpus)


def _create_composite(state: State, wanted: BalloonType, instance: int) -> Balloon:
    """All components, or the one whose type has the fewest balloons."""
    names = wanted.components
    if wanted.creation == "balance-balloons":
        names = [min(names, key=lambda name: _count_including_components(state, name))]
    components: list[Balloon] = []
    try:
        components.extend(_component(state, wanted, name) for name in names)
        balloon = Balloon(wanted, instance, None, type_mask(wanted.memory_types), components)
        resize(state, balloon, wanted.min_cpus * 1000)
    except NriError:
        for component in components:
            delete(state, component)
        raise
    return balloon


def _component(state: State, composite: BalloonType, name: str) -> Balloon:
    try:
        return create(state, state.types[name])
    except NriError as error:
        raise balloons_error(
            f"failed to create component balloon {quote(name)} "
            f"for composite balloon {quote(composite.name)}: {error}"
        ) from None


def _count_including_components(state: State, name: str) -> int:
    """How many balloons of a type and of the types of its components there are anywhere."""
    names, open_names = set(), [name]
    while open_names:
        current = open_names.pop()
        names.add(current)
        parts = state.types[current].components
        open_names += [part for part in parts if part not in names]

    def count(balloon: Balloon) -> int:
        return (balloon.type.name in names) + sum(map(count, balloon.components))

    return sum(map(count, state.balloons))


def delete(state: State, balloon: Balloon) -> None:
    """Free a balloon's CPUs. Balloons that share idle CPUs do not get them now."""
    state.balloons = [other for other in state.balloons if other is not balloon]
    state.free |= balloon.cpus


def resize(state: State, balloon: Balloon, milli: int) -> None:
    """Grow or shrink to thousandths of a CPU, within the type's limits; NriError if it fails."""
    allocator = balloon.allocator
    if allocator is None:
        _resize_composite(state, balloon, milli)
        return
    size = whole_cpus(milli)
    known = balloon.type
    if 0 < known.max_cpus < size:
        size = known.max_cpus
    if known.min_cpus > 0:
        size = max(size, known.min_cpus)
    delta = size - balloon.cpus.bit_count()
    if not delta:
        return
    devices.update_loads(state, allocator, known)
    if delta > 0:
        _inflate(state, balloon, allocator, delta)
    else:
        _deflate(state, balloon, allocator, -delta)
    update_pinning(state, [balloon])


def _resize_composite(state: State, balloon: Balloon, milli: int) -> None:
    """Each component gets an equal part, rounded down."""
    free, sizes = state.free, [component.cpus for component in balloon.components]
    part = int(milli / len(balloon.components))
    cpus = 0
    for component in balloon.components:
        try:
            resize(state, component, part)
        except NriError as error:
            state.free = free
            for other, before in zip(balloon.components, sizes, strict=True):
                other.cpus = before
            raise balloons_error(f"resize composite balloon {balloon.name}: {error}") from None
        cpus |= component.cpus
    balloon.cpus = cpus
    update_pinning(state, [balloon])


def _inflate(state: State, balloon: Balloon, allocator: TreeAllocator, count: int) -> None:
    try:
        candidates, _ = allocator.resize(balloon.cpus, state.free, count)
    except NriError as error:
        raise balloons_error(
            "resize/inflate: failed to choose a cpuset for allocating "
            f"additional {count} CPUs: {error}"
        ) from None
    cpus, _ = allocate(state.topology, candidates, count, balloon.type.priority)
    state.free &= ~cpus
    balloon.cpus |= cpus
    update_pinning(state, share_idle(state, state.free, cpus))


def _deflate(state: State, balloon: Balloon, allocator: TreeAllocator, count: int) -> None:
    try:
        _, candidates = allocator.resize(balloon.cpus, state.free, -count)
    except NriError as error:
        raise balloons_error(
            f"resize/deflate: failed to choose a cpuset for releasing {count} CPUs: {error}"
        ) from None
    _, cpus = release(state.topology, candidates, count, balloon.type.priority)
    state.free |= cpus
    balloon.cpus &= ~cpus
    update_pinning(state, share_idle(state, cpus, 0))
