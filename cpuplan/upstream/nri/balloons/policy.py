"""The policy's events: containers that come and go, configurations, and its own restart."""

from cpuplan.upstream.nri.balloons import devices, filling, instances, setup
from cpuplan.upstream.nri.balloons.balloon import Balloon, State
from cpuplan.upstream.nri.balloons.config import Config
from cpuplan.upstream.nri.balloons.cputree import build, split
from cpuplan.upstream.nri.balloons.instances import balloons_error
from cpuplan.upstream.nri.balloons.memory import Memory
from cpuplan.upstream.nri.balloons.pinning import update_pinning
from cpuplan.upstream.nri.common.expressions import expand, holds
from cpuplan.upstream.nri.common.pods import PRESERVE_CPU, Container
from cpuplan.upstream.nri.cpuallocator.allocator import topology_of
from cpuplan.upstream.nri.errors import NriError
from cpuplan.upstream.nri.sysfs.discovery import discover
from cpuplan.upstream.nri.sysfs.files import Files


class Policy:
    """The policy on a machine; NriError or PanicError where it does not start."""

    def __init__(self, files: Files, config: Config) -> None:
        self._files = files
        self._config = config
        self.containers: list[Container] = []
        self._pods: dict[str, int] = {}
        self.state = self._start()

    def _start(self) -> State:
        system = discover(self._files)
        tree = build(system)
        topology = topology_of(system)
        memory = Memory(system)
        paths = devices.paths_of(self._files)
        state = State(topology, paths, tree, split(tree), self._config, memory)
        try:
            setup.apply(state, self._config)
        except NriError as error:
            raise balloons_error(f"failed to create balloons policy: {error}") from None
        return state

    def create(self, container: Container) -> None:
        """Allocate for a new container; NriError refuses it."""
        self._pods.setdefault(container.pod.full_name, len(self._pods))
        allocate(self.state, container)
        self.containers.append(container)

    def remove(self, container: Container) -> None:
        """A container is gone."""
        self.containers.remove(container)
        release(self.state, container)

    def reconfigure(self, config: Config) -> None:
        """Build everything anew and allocate for all containers again, in order of creation.

        Any change does this: the comparison with what was configured finds what the policy itself
        has added. After an error the old configuration is applied again.
        """
        try:
            setup.apply(self.state, config)
        except NriError:
            setup.apply(self.state, self._config)
            self._allocate_all()
            raise
        self._config = config
        self._allocate_all()

    def restart(self) -> None:
        """A new process allocates for all containers again."""
        self.state = self._start()
        self._allocate_all()

    def _allocate_all(self) -> None:
        """Older pods first, and in a pod older containers."""

        def age(container: Container) -> int:
            return self._pods[container.pod.full_name]

        for container in sorted(self.containers, key=age):
            try:
                allocate(self.state, container)
            except NriError:
                continue


def allocate(state: State, container: Container) -> None:
    """Choose a balloon, let it grow and pin the container; NriError if it gets none."""
    if container.annotation(PRESERVE_CPU) == "true":
        return
    if any(holds(expression, container.lookup) for expression in state.config.preserve):
        return
    try:
        balloon = filling.choose(state, container)
    except NriError as error:
        raise balloons_error(
            f"balloon allocation for container {container.full_name} failed: {error}"
        ) from None
    request = max(1, container.request + balloon.requested)
    if balloon.cpus.bit_count() * 1000 < request:
        try:
            instances.resize(state, balloon, request)
        except NriError as error:
            raise balloons_error(f"resizing balloon {balloon.name} failed: {error}") from None
    balloon.containers.append(container)
    _count_group(balloon, container, 1)
    update_pinning(state, [balloon])


def release(state: State, container: Container) -> None:
    """Let a container's balloon shrink, and remove it if it is empty and not one to keep."""
    for balloon in state.balloons:
        if container in balloon.containers:
            break
    else:
        return
    state.memory.release(container.full_name)
    balloon.containers.remove(container)
    _count_group(balloon, container, -1)
    try:
        instances.resize(state, balloon, max(1, balloon.requested) if balloon.containers else 0)
    except NriError as error:
        if balloon.containers:
            raise balloons_error(f"resizing balloon {balloon.name} failed: {error}") from None
    if balloon.containers:
        return
    if len(state.of_type(balloon.type)) > balloon.type.min_balloons:
        instances.delete(state, balloon)


def _count_group(balloon: Balloon, container: Container, change: int) -> None:
    """A group whose name cannot be resolved counts by what is known of it."""
    if balloon.type.group_by:
        group = expand(balloon.type.group_by, container.lookup, strict=False) or ""
        balloon.groups[group] = balloon.groups.get(group, 0) + change
