"""What containers are told, and which balloons may use idle CPUs."""

from collections.abc import Iterable

from cpuplan.upstream.kubelet.bits import to_text
from cpuplan.upstream.nri.balloons.balloon import Balloon, State
from cpuplan.upstream.nri.balloons.cputree import TreeNode
from cpuplan.upstream.nri.common.pods import (
    HIDE_HYPERTHREADS,
    MEMORY_TYPE,
    PRESERVE_MEMORY,
    Container,
    shares_of,
)
from cpuplan.upstream.nri.errors import NriError
from cpuplan.upstream.nri.libmem.nodes import type_mask


def update_pinning(state: State, balloons: Iterable[Balloon]) -> None:
    """Tell the containers of balloons their CPUs and memory nodes."""
    for balloon in balloons:
        cpus = balloon.cpus | balloon.shared_idle
        balloon.mems = state.memory.near(cpus)
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
