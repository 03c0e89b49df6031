"""Pods and containers as both policies know them.

Upstream: containers/nri-plugins pkg/resmgr/cache/pod.go pkg/resmgr/cache/container.go
  pkg/resmgr/cache/utils.go pkg/kubernetes/resources.go @ 83d986e963ad28ca31790102af6d509c7b7e7d45
"""

import json
import posixpath
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from cpuplan.upstream.kubernetes import quantity
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.strconv import parse_bool
from cpuplan.upstream.nri.api import SCOPE
from cpuplan.upstream.nri.expressions import Lookup

_BEST_EFFORT, _GUARANTEED = 1000, -997
_LEAST = _BEST_EFFORT + _GUARANTEED


def oom_score(request: int, capacity: int) -> int:
    """What the kubelet sets for a Burstable container (qos/policy.go)."""
    adjusted = _BEST_EFFORT - 1000 * request // capacity
    return _BEST_EFFORT - 1 if adjusted == _BEST_EFFORT else max(adjusted, _LEAST)


def estimated_request(adjusted: int, capacity: int, limit: int) -> int:
    """What the plugins make of the score: the least request that has it; 0 where they know none.

    A container without a request is thought to ask for a thousandth of the memory.
    """
    if not _LEAST <= adjusted < _BEST_EFFORT:
        return 0
    request = -(-(_BEST_EFFORT - adjusted) * capacity // 1000)
    return 0 if limit and request >= limit else request


HIDE_HYPERTHREADS = f"hide-hyperthreads.{SCOPE}"
PRESERVE_CPU = f"cpu.preserve.{SCOPE}"
PRESERVE_MEMORY = f"memory.preserve.{SCOPE}"
MEMORY_TYPE = f"memory-type.{SCOPE}"
_RESOURCES = "noderesource.dev/resources"
_MIN_SHARES, _MAX_SHARES, _SHARES_PER_CPU = 2, 262_144, 1024


class Pod(NamedTuple):
    """A pod; its id and its uid are its name, as far as expressions ask for them."""

    name: str
    namespace: str
    qos: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]

    @property
    def full_name(self) -> str:
        """What no other running pod has."""
        return f"{self.namespace}/{self.name}"

    def annotation(self, key: str, container: str) -> str | None:
        """The annotation that holds for a container: its own, the pod's, or without a scope."""
        scope = self.scope(key, container)
        return None if scope is None else self.annotations[key + scope]

    def scope(self, key: str, container: str) -> str | None:
        """The end of the key of that annotation; None if there is none."""
        scopes = (f"/container.{container}", "/pod", "")
        return next((scope for scope in scopes if key + scope in self.annotations), None)


class Resources(NamedTuple):
    """What the runtime tells the policy of a container, instead of what the pod asks for.

    `memory` is the limit; `memory_request` is what the policy makes of a Burstable container's
    OOM score.
    """

    shares: int
    quota: int = 0
    period: int = 0
    memory: int = 0
    memory_request: int = 0


@dataclass(slots=True, eq=False)
class Container:
    """A container, and what the runtime was told about it ("": nothing).

    Requests and limits in thousandths of a CPU, as the policy understands them; `shares` are those
    of the kubelet until it is pinned.
    """

    pod: Pod
    name: str
    request: int
    limit: int
    shares: int
    cpus: str = ""
    mems: str = ""
    memory: int = 0
    memory_request: int = 0

    @property
    def full_name(self) -> str:
        return f"{self.pod.full_name}/{self.name}"

    def annotation(self, key: str) -> str | None:
        return self.pod.annotation(key, self.name)

    def flag(self, key: str) -> bool | None:
        """An annotation that is true or false; None where there is none that can be read."""
        text = self.annotation(key)
        try:
            return None if text is None else parse_bool(text)
        except KubeletError:
            return None

    @property
    def runtime_update(self) -> "RuntimeUpdate":
        """What the runtime was told last, for `restore`."""
        return RuntimeUpdate(self, self.cpus, self.mems, self.shares)

    @property
    def lookup(self) -> Lookup:
        """The values of expression keys."""
        return lambda key: _value(self, posixpath.normpath(key or "."))


class RuntimeUpdate(NamedTuple):
    """A container, and what the runtime was told about it at one moment."""

    container: Container
    cpus: str
    mems: str
    shares: int

    def restore(self) -> Container:
        """The container, as it was at that moment."""
        container = self.container
        container.cpus, container.mems, container.shares = self.cpus, self.mems, self.shares
        return container


def container(pod: Pod, name: str, resources: Resources) -> Container:
    """A container with the requests that the policy reads from CPU shares and quota.

    The annotation of the project's webhook has them as the pod's author wrote them.
    """
    request, limit = _estimated(pod, resources)
    annotated = _annotated(pod, name)
    if annotated is not None:
        request, limit = annotated
    wish = resources.memory if pod.qos == "Guaranteed" else resources.memory_request
    shares = resources.shares
    return Container(pod, name, request, limit, shares, "", "", resources.memory, wish)


def shares_of(milli: int) -> int:
    """The CPU shares for thousandths of a CPU (MilliCPUToShares)."""
    return min(max(milli * _SHARES_PER_CPU // 1000, _MIN_SHARES), _MAX_SHARES)


def _estimated(pod: Pod, resources: Resources) -> tuple[int, int]:
    """(request, limit) by shares and quota; the least shares mean that nothing was requested."""
    request = 0
    if resources.shares != _MIN_SHARES:
        request = int(resources.shares * 1000 / _SHARES_PER_CPU + 0.5)
    if pod.qos == "Guaranteed":
        return request, request
    limit = 0
    if resources.quota > 0 and resources.period:
        limit = int(resources.quota * 1000 / resources.period + 0.5)
    return request, limit


def _annotated(pod: Pod, name: str) -> tuple[int, int] | None:
    try:
        given = json.loads(pod.annotations.get(_RESOURCES, "null"))
        groups = [
            given[group] or {} for group in ("containers", "initContainers") if group in given
        ]
        mine = next((group[name] for group in groups if name in group), None)
        if mine is None:
            return None
        amounts = [(mine.get(kind) or {}).get("cpu", "0") for kind in ("requests", "limits")]
        request, limit = (quantity.parse(str(amount)).milli for amount in amounts)
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError, KubeletError):
        return None
    return request, limit


def _value(owner: Container, key: str) -> str | None:
    """`pod/qosclass` and a container's `uid` never have a value: they are no Go strings."""
    pod = owner.pod
    if key.startswith("pod/labels/"):
        return pod.labels.get(key.removeprefix("pod/labels/"))
    known = {
        "name": owner.name,
        "namespace": pod.namespace,
        "qosclass": pod.qos,
        "id": f"{pod.name}/{owner.name}",
        "pod/name": pod.name,
        "pod/namespace": pod.namespace,
        "pod/id": pod.name,
        "pod/uid": pod.name,
    }
    return known.get(key)
