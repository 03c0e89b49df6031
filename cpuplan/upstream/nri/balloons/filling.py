"""Which balloon a container comes to."""

from cpuplan.upstream.kubelet.go.text import quote
from cpuplan.upstream.nri.balloons import instances
from cpuplan.upstream.nri.balloons.balloon import Balloon, State
from cpuplan.upstream.nri.balloons.config import BalloonType
from cpuplan.upstream.nri.balloons.instances import balloons_error
from cpuplan.upstream.nri.balloons.pinning import share_idle, update_pinning
from cpuplan.upstream.nri.common.expressions import expand, holds
from cpuplan.upstream.nri.common.globs import matches
from cpuplan.upstream.nri.common.pods import Container
from cpuplan.upstream.nri.errors import NriError
from cpuplan.upstream.nri.names import BALLOON, DEFAULT

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
        balloon = instances.create(state, wanted)
    except NriError:
        return []
    if balloon.largest(state.free) < container.request:
        state.free |= balloon.cpus
        return []
    state.balloons.append(balloon)
    if balloon.cpus:
        update_pinning(state, share_idle(state, state.free, balloon.cpus))
    return [balloon]
