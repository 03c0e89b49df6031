"""Balloons: making, resizing, pinning and removing them, and which one a container comes to.

Upstream: containers/nri-plugins cmd/plugins/balloons/policy/balloons-policy.go
  cmd/plugins/balloons/policy/fillmethod.go @ 83d986e963ad28ca31790102af6d509c7b7e7d45
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from cpuplan.upstream.kubernetes.bits import members, to_text
from cpuplan.upstream.kubernetes.strconv import quote
from cpuplan.upstream.nri.api import BALLOON, CPU_FOLDER, DEFAULT, NODE_FOLDER, NriError
from cpuplan.upstream.nri.balloons.config import BalloonType, Config, LoadClass
from cpuplan.upstream.nri.balloons.cputree import TreeAllocator, TreeNode
from cpuplan.upstream.nri.config import whole_cpus
from cpuplan.upstream.nri.cpuallocator import Topology, allocate, release
from cpuplan.upstream.nri.expressions import expand, holds, matches
from cpuplan.upstream.nri.libmem import Allocator, type_mask
from cpuplan.upstream.nri.pods import (
    HIDE_HYPERTHREADS,
    MEMORY_TYPE,
    PRESERVE_MEMORY,
    Container,
    shares_of,
)
from cpuplan.upstream.nri.system import Files, System


@dataclass(slots=True, eq=False)
class Balloon:
    """CPUs, and the containers that run on them.

    A composite has components instead of an allocator; their CPUs are its own. `loads` are the
    devices that stand for its loads.
    """

    type: BalloonType
    instance: int
    allocator: TreeAllocator | None
    memory_types: int
    components: list["Balloon"] = field(default_factory=list)
    cpus: int = 0
    mems: int = 0
    shared_idle: int = 0
    containers: list[Container] = field(default_factory=list)
    groups: dict[str, int] = field(default_factory=dict)
    loads: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        return f"{self.type.name}[{self.instance}]"

    @property
    def requested(self) -> int:
        """The sum of its containers' requests, in thousandths of a CPU."""
        return sum(container.request for container in self.containers)

    def room(self) -> int:
        """What is left of it at its present size."""
        return self.cpus.bit_count() * 1000 - self.requested

    def most_room(self, free: int) -> int:
        """What would be left at its largest size, with these CPUs free."""
        return self.largest(free) - self.requested

    def largest(self, free: int) -> int:
        """The size it can grow to; the maximum does not count where fewer CPUs are free."""
        available = free.bit_count()
        if self.components:
            smallest = min(component.largest(free) for component in self.components)
            available = min(smallest * len(self.components) // 1000, available)
        most = self.type.max_cpus
        if not most or most > available:
            return (self.cpus.bit_count() + available) * 1000
        return most * 1000


@dataclass(slots=True)
class State:
    """The policy between two events; `paths` are the CPUs near paths of /sys."""

    topology: Topology
    paths: dict[str, int]
    tree: TreeNode
    spread_tree: TreeNode
    config: Config
    memory: Allocator
    allowed: int = 0
    reserved: int = 0
    free: int = 0
    balloons: list[Balloon] = field(default_factory=list)
    loads: dict[str, LoadClass] = field(default_factory=dict)

    @property
    def types(self) -> dict[str, BalloonType]:
        """The types by name; those of components are all there."""
        return {known.name: known for known in self.config.types}

    def of_type(self, wanted: BalloonType) -> list[Balloon]:
        return [balloon for balloon in self.balloons if balloon.type is wanted]


RESERVED_CPUS, ISOLATED_CPUS = "reserved CPUs", "isolated CPUs"
_CORE_TYPES = {"performance": "performance cores", "efficient": "efficient cores"}
_POD_RESOURCES = "podresourceapi:"


def paths_of(files: Files) -> dict[str, int]:
    """The CPUs that paths of /sys are near to: those of caches and NUMA nodes, no other devices."""
    near = {f"{NODE_FOLDER}/node{entry.node}": entry.cpus for entry in files.nodes}
    for cpu, caches in files.caches_by_cpu().items():
        for index, cache in enumerate(caches):
            near[f"{CPU_FOLDER}/cpu{cpu}/cache/index{index}"] = cache.cpus
    return near


def virtual_devices(state: State) -> dict[str, list[int]]:
    """Sets of CPUs that types name as if they were devices."""
    return {
        RESERVED_CPUS: [state.reserved],
        ISOLATED_CPUS: [state.topology.system.isolated],
        _CORE_TYPES["efficient"]: [state.topology.priorities.low],
        _CORE_TYPES["performance"]: [state.topology.priorities.high],
    }


def without_pod_resources(names: list[str]) -> list[str]:
    """Devices of containers are unknown before they come; none are simulated."""
    return [name for name in names if not name.startswith(_POD_RESOURCES)]


def fill_close(types: list[BalloonType]) -> None:
    """Wishes for kinds of CPUs are devices to be close to (fillCloseToDevices)."""
    for known in types:
        if known.isolated:
            known.close_to.append(ISOLATED_CPUS)
        if known.core_type in _CORE_TYPES:
            known.close_to.append(_CORE_TYPES[known.core_type])


def fill_far(config: Config, system: System, loads: dict[str, LoadClass]) -> None:
    """What a type is close to, all others are far from (fillFarFromDevices)."""
    avoided = [ISOLATED_CPUS] if system.isolated else []
    owners: dict[str, set[str]] = {}
    for known in config.types:
        for device in without_pod_resources(known.close_to):
            if device not in owners:
                avoided.append(device)
            owners.setdefault(device, set()).add(known.name)
    for device in avoided:
        for known in config.types:
            if known.name not in owners.get(device, ()):
                known.far_from.append(device)
    for known in config.types:
        known.far_from += [loads[load].device for load in known.loads]


def update_loads(state: State, allocator: TreeAllocator, wanted: BalloonType) -> frozenset[str]:
    """Set the devices of a type's loads to the CPUs that balloons with such loads disturb.

    Components of composites are not seen.
    """
    names: set[str] = set()
    for load in (state.loads[name] for name in wanted.loads):
        if load.device in names:
            continue
        names.add(load.device)
        cpus = 0
        for balloon in state.balloons:
            cpus |= balloon.cpus if load.device in balloon.loads else 0
        allocator.devices[load.device] = [_disturbed(state.topology.system, load.level, cpus)]
    return frozenset(names)


def extend_loads(state: State, allocator: TreeAllocator, wanted: BalloonType, cpus: int) -> None:
    """Add what a balloon's own CPUs disturb to the devices of its loads."""
    for load in (state.loads[name] for name in wanted.loads):
        before = allocator.devices.get(load.device) or [0]
        disturbed = _disturbed(state.topology.system, load.level, cpus)
        allocator.devices[load.device] = [before[0] | disturbed]


def _disturbed(system: System, level: str, cpus: int) -> int:
    if level == "core":
        return system.threads_of(cpus)
    return system.sharing_cache(2, cpus) if members(cpus) else 0


def update_pinning(state: State, balloons: Iterable[Balloon]) -> None:
    """Tell the containers of balloons their CPUs and memory nodes."""
    for balloon in balloons:
        cpus = balloon.cpus | balloon.shared_idle
        balloon.mems = state.memory.nodes.near(cpus)
        single = state.topology.system.single_threads(cpus)
        for container in balloon.containers:
            _pin(state, container, balloon, single if _hides(container, balloon) else cpus)


def _hides(container: Container, balloon: Balloon) -> bool:
    """Whether a container gets one thread of each core; an unreadable annotation says nothing."""
    annotated = container.flag(HIDE_HYPERTHREADS)
    return balloon.type.hide_hyperthreads if annotated is None else annotated


def _pin(state: State, container: Container, balloon: Balloon, cpus: int) -> None:
    if state.config.pin_cpu:
        container.cpus = to_text(cpus)
        if container.request:
            container.shares = shares_of(container.request)
    own = balloon.type.pin_memory
    pins_memory = state.config.pin_memory if own is None else own
    if pins_memory and container.annotation(PRESERVE_MEMORY) != "true":
        types = _annotated_types(container) or balloon.memory_types
        nodes = state.memory.assign(container.full_name, balloon.mems, types)
        container.mems = to_text(nodes)


def _annotated_types(container: Container) -> int:
    annotated = container.annotation(MEMORY_TYPE)
    if annotated is None:
        return 0
    try:
        return type_mask([name.strip() for name in annotated.split(",")])
    except NriError:
        return 0


def share_idle(state: State, added: int, removed: int) -> list[Balloon]:
    """Give idle CPUs to the balloons that may share them; those that changed.

    Kernel-isolated CPUs are never shared.
    """
    changed: dict[int, Balloon] = {}
    for index, balloon in enumerate(state.balloons):
        if balloon.shared_idle & removed:
            balloon.shared_idle &= ~removed
            changed[index] = balloon
    added &= ~state.topology.system.isolated
    for index, balloon in enumerate(state.balloons if added else ()):
        level = balloon.type.share_idle
        shared = balloon.shared_idle
        balloon.shared_idle |= _idle_near(state.tree, level, balloon.cpus, added) if level else 0
        if balloon.shared_idle != shared:
            changed[index] = balloon
    return [changed[index] for index in sorted(changed)]


def _idle_near(tree: TreeNode, level: str, cpus: int, idle: int) -> int:
    """The idle CPUs in the places of a level that have some of the CPUs."""
    if tree.level == level:
        return tree.cpus & idle if tree.cpus & cpus else 0
    near = 0
    for child in tree.children:
        near |= _idle_near(child, level, cpus, idle)
    return near


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
    balloon.loads = update_loads(state, allocator, wanted)
    allocator.update = _follower(state, allocator, wanted)
    resize(state, balloon, wanted.min_cpus * 1000)
    balloon.mems = state.memory.nodes.near(balloon.cpus)
    return balloon


def _allocator(state: State, wanted: BalloonType) -> TreeAllocator:
    config = state.config
    balancing = config.balancing if wanted.balancing is None else wanted.balancing
    spread = config.spread if wanted.spread is None else wanted.spread
    return TreeAllocator(
        state.spread_tree if spread else state.tree,
        balancing,
        spread,
        without_pod_resources(wanted.close_to),
        list(wanted.far_from),
        virtual_devices(state),
        state.paths,
    )


def _follower(
    state: State, allocator: TreeAllocator, wanted: BalloonType
) -> Callable[[int], None] | None:
    """What keeps the devices of loads current while CPUs are chosen, if a load asks for it."""
    if not any(state.loads[load].own for load in wanted.loads):
        return None
    return lambda cpus: extend_loads(state, allocator, wanted, cpus)


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
    update_loads(state, allocator, known)
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


GROUP, POD, NAMESPACE, NEW, BALANCED, INFLATED = range(6)


def choose_type(state: State, container: Container) -> BalloonType:
    """The annotated type, else the first whose expression or namespace matches, else `default`."""
    annotated = container.annotation(BALLOON)
    if annotated is not None:
        if annotated not in state.types:
            raise balloons_error(f"no balloon for annotation {quote(annotated)}")
        return state.types[annotated]
    for known in state.config.types:
        if any(holds(expression, container.lookup) for expression in known.expressions):
            return known
        namespace = container.pod.namespace
        if any(matches(pattern, namespace) for pattern in known.namespaces or ()):
            return known
    return state.types[DEFAULT]


def choose(state: State, container: Container) -> Balloon:
    """The balloon for a container, made if need be; NriError if there is none."""
    wanted = choose_type(state, container)
    for method in _methods(wanted):
        candidates = _candidates(state, wanted, method, container)
        if candidates:
            return _best(state, candidates, method)
    raise balloons_error("no suitable balloon instance available")


def _methods(wanted: BalloonType) -> list[int]:
    methods = [GROUP] if wanted.group_by else []
    if not wanted.spreading_pods:
        methods.append(POD)
    if wanted.per_namespace:
        methods += [NAMESPACE, NEW]
    if wanted.new_balloons:
        return [*methods, NEW, BALANCED, INFLATED]
    return [*methods, BALANCED, INFLATED, NEW]


def _best(state: State, candidates: list[Balloon], method: int) -> Balloon:
    """The balloon with most room, then with fewest containers, then the first of them."""

    def rank(balloon: Balloon) -> tuple[int, int]:
        inflated = method == INFLATED
        room = balloon.most_room(state.free) if inflated else balloon.room()
        return -room, len(balloon.containers)

    return min(candidates, key=rank)


def _candidates(
    state: State, wanted: BalloonType, method: int, container: Container
) -> list[Balloon]:
    if method == NEW:
        return _new(state, wanted, container)
    balloons = state.of_type(wanted)
    if method == BALANCED:
        return [balloon for balloon in balloons if balloon.room() >= container.request]
    if method == GROUP:
        group = expand(wanted.group_by, container.lookup, strict=True)
        balloons = [balloon for balloon in balloons if _has_group(balloon, group)]
    elif method == POD:
        balloons = [balloon for balloon in balloons if _shares_pod(balloon, container)]
    elif method == NAMESPACE:
        balloons = [balloon for balloon in balloons if _shares_namespace(balloon, container)]
    return [balloon for balloon in balloons if balloon.most_room(state.free) >= container.request]


def _has_group(balloon: Balloon, group: str | None) -> bool:
    return group is not None and balloon.groups.get(group, 0) > 0


def _shares_pod(balloon: Balloon, container: Container) -> bool:
    return any(other.pod.full_name == container.pod.full_name for other in balloon.containers)


def _shares_namespace(balloon: Balloon, container: Container) -> bool:
    namespace = container.pod.namespace
    return any(other.pod.namespace == namespace for other in balloon.containers)


def _new(state: State, wanted: BalloonType, container: Container) -> list[Balloon]:
    """An empty balloon of the type, however small, or one that is made now.

    A new one that is too small gives its CPUs back, but other balloons that shared them while they
    were idle have lost them.
    """
    for balloon in state.of_type(wanted):
        if not balloon.containers:
            return [balloon]
    if not state.free or state.free.bit_count() < wanted.min_cpus:
        return []
    try:
        balloon = create(state, wanted)
    except NriError:
        return []
    if balloon.largest(state.free) < container.request:
        state.free |= balloon.cpus
        return []
    state.balloons.append(balloon)
    if balloon.cpus:
        update_pinning(state, share_idle(state, state.free, balloon.cpus))
    return [balloon]
