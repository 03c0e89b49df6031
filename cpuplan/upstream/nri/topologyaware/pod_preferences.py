"""What a container asks of the policy (cpuAllocationPreferences), by class and annotation.

Upstream: containers/nri-plugins cmd/plugins/topology-aware/policy/pod-preferences.go
  @ 83d986e963ad28ca31790102af6d509c7b7e7d45
"""

from dataclasses import dataclass

from cpuplan.upstream.kubernetes.strconv import quote
from cpuplan.upstream.nri import cpuallocator
from cpuplan.upstream.nri.api import PREFER_ISOLATED, SCOPE, SYSTEM_NAMESPACE, NriError
from cpuplan.upstream.nri.expressions import compiled_pattern
from cpuplan.upstream.nri.libmem import Mask
from cpuplan.upstream.nri.pods import MEMORY_TYPE, PRESERVE_CPU, PRESERVE_MEMORY, Container
from cpuplan.upstream.nri.topologyaware.config import Config

NORMAL, RESERVED, PRESERVE = "normal", "reserved", "preserve"
REQUIRE_ISOLATED = f"require-isolated-cpus.{SCOPE}"
PREFER_SHARED = f"prefer-shared-cpus.{SCOPE}"
PREFER_RESERVED = f"prefer-reserved-cpus.{SCOPE}"
PREFER_PRIORITY = f"prefer-cpu-priority.{SCOPE}"
CPU_CLASS = f"cpu-class.{SCOPE}"
#: A CPU limit that is none.
UNLIMITED = (1 << 63) - 1
_DRAM_AND_PMEM = 0b011
_MEMORY_TYPES = {"dram": 0b001, "pmem": 0b010, "hbm": 0b100, "mixed": 0b111}
_CONTAINER_SCOPE = "/container."
_UNSCOPED = 2


@dataclass(slots=True)
class Request:
    """`full` exclusive CPUs and `fraction` thousandths of shared ones of a type.

    `memory_types` is None for a container whose memory is left alone.
    """

    container: Container
    full: int
    fraction: int
    limit: int
    isolate: bool
    cpu_type: str
    priority: int
    memory_types: Mask | None

    @property
    def memory(self) -> int:
        return self.container.memory_request or self.container.memory


def request_of(container: Container, config: Config, available: Mask) -> Request:
    """The request; NriError where an annotation cannot be."""
    full, fraction, limit, isolate, cpu_type = _cpus(container, config)
    _check_class(container, config, full)
    priority = config.priority
    if cpu_type == NORMAL and container.pod.qos == "Guaranteed":
        priority = _priority(container, config)
    types = _memory_types(container, available)
    return Request(container, full, fraction, limit, isolate, cpu_type, priority, types)


def requires_isolated(container: Container) -> bool:
    """Whether isolated CPUs are a condition: the nearer annotation counts, if both are there."""
    strict = _rank(container, REQUIRE_ISOLATED)
    wish = _rank(container, PREFER_ISOLATED)
    return strict is not None and (wish is None or strict <= wish)


def _cpus(container: Container, config: Config) -> tuple[int, int, int, bool, str]:
    request, qos = container.request, container.pod.qos
    limit = _limit(container)
    reserved = container.flag(PREFER_RESERVED)
    if container.annotation(PRESERVE_CPU) == "true":
        return 0, request, limit, False, PRESERVE
    in_reserved = _is_reserved(container.pod.namespace, config) and reserved is None
    if reserved or in_reserved:
        return 0, request, limit, False, RESERVED
    if qos == "Burstable":
        return 0, request, limit, False, NORMAL
    if qos == "BestEffort":
        return 0, 0, 0, False, NORMAL
    return _guaranteed(container, config)


def _guaranteed(container: Container, config: Config) -> tuple[int, int, int, bool, str]:
    """One CPU is isolated by default, more only if the pod says so; so is a mixed request."""
    request = container.request
    full, fraction = divmod(request, 1000)
    isolated = _isolated(container)
    prefers_isolated = bool(config.prefer_isolated) if isolated is None else isolated
    annotated = container.flag(PREFER_SHARED)
    prefers_shared = bool(config.prefer_shared) if annotated is None else annotated
    shared = (0, request, request, False, NORMAL)
    if not full:
        return shared
    if full == 1:
        return shared if prefers_shared else (1, fraction, request, prefers_isolated, NORMAL)
    if fraction:
        is_mixed = annotated is False
        return (full, fraction, request, prefers_isolated, NORMAL) if is_mixed else shared
    if prefers_shared:
        return shared
    return full, 0, request, isolated is True, NORMAL


def _limit(container: Container) -> int:
    qos = container.pod.qos
    if qos == "Burstable":
        return container.limit or UNLIMITED
    return container.limit if qos == "Guaranteed" else 0


def _isolated(container: Container) -> bool | None:
    """The annotation that counts; None where there is none that can be read.

    `prefer-isolated-cpus` without a scope never counts: a missing `require-isolated-cpus` ranks as
    near, and is read instead (bug).
    """
    wish = _rank(container, PREFER_ISOLATED)
    strict = _rank(container, REQUIRE_ISOLATED)
    is_wish = wish is not None and wish < (_UNSCOPED if strict is None else strict)
    return container.flag(PREFER_ISOLATED if is_wish else REQUIRE_ISOLATED)


def _rank(container: Container, key: str) -> int | None:
    """How near an annotation is: the container's own is 0."""
    scope = container.pod.scope(key, container.name)
    if scope is None:
        return None
    if not scope:
        return _UNSCOPED
    return 0 if scope.startswith(_CONTAINER_SCOPE) else 1


def _is_reserved(namespace: str, config: Config) -> bool:
    """The first malformed pattern ends the list."""
    if namespace == SYSTEM_NAMESPACE:
        return True
    for pattern in config.reserved_namespaces:
        compiled = compiled_pattern(pattern)
        if compiled is None:
            return False
        if compiled.fullmatch(namespace):
            return True
    return False


def _priority(container: Container, config: Config) -> int:
    text = container.annotation(PREFER_PRIORITY)
    known = cpuallocator.PRIORITY_NAMES
    return known.index(text) if text in known else config.priority


def _check_class(container: Container, config: Config, full: int) -> None:
    if not config.cpu_classes:
        return
    scope = container.pod.scope(CPU_CLASS, container.name)
    is_own = scope is not None and scope.startswith(_CONTAINER_SCOPE)
    name = container.annotation(CPU_CLASS)
    if container.pod.qos != "Guaranteed":
        if is_own:
            raise _unresolved(
                f"CPU class ({quote(name or '')}) invalid for non-Guaranteed QoS class "
                f"({container.pod.qos})"
            )
        return
    name = config.exclusive_class if name is None else name
    if name and name not in config.cpu_classes:
        raise _unresolved(f"unknown CPU class {quote(name)}")
    if name and is_own and not full:
        raise NriError(f"CPU class ({quote(name)}) invalid without exclusive CPUs")


def _unresolved(text: str) -> NriError:
    return NriError(f"failed to resolve CPU class: {text}")


def _memory_types(container: Container, available: Mask) -> Mask | None:
    """Without an annotation everything but fast memory."""
    if container.annotation(PRESERVE_MEMORY) == "true":
        return None
    wish = 0
    for name in (container.annotation(MEMORY_TYPE) or "").split(","):
        if name and name.lower() not in _MEMORY_TYPES:
            return _DRAM_AND_PMEM & available
        wish |= _MEMORY_TYPES[name.lower()] if name else 0
    return (wish or _DRAM_AND_PMEM) & available
