"""Pods as the managers read them.

Upstream: kubernetes/kubernetes pkg/apis/core/v1/defaults.go
  staging/src/k8s.io/component-helpers/resource/helpers.go staging/src/k8s.io/api/core/v1/types.go
  @ 24e2b02af5543d7910c2bb074c7264df5a8f0467
"""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from cpuplan.upstream.kubernetes import quantity
from cpuplan.upstream.kubernetes.kube_features import Gates
from cpuplan.upstream.kubernetes.quantity import Quantity

CPU, MEMORY, HUGEPAGES = "cpu", "memory", "hugepages-"
Resources = Mapping[str, Quantity]
Manifest = Mapping[str, Any]


class PodClaim(NamedTuple):
    """An entry of spec.resourceClaims: the object that it names, or a template of one.

    `spec` is what the object asks for, as whoever allocates devices reads it; None if nobody knows.
    """

    name: str
    claim: str = ""
    template: str = ""
    spec: Any = None


class Container(NamedTuple):
    """A container.

    Plain init containers run one after the other, restartable ones (sidecars) as long as the pod.
    """

    name: str
    requests: Resources
    limits: Resources
    is_init: bool = False
    is_restartable: bool = False
    env: tuple[str, ...] = ()  # `NAME=value`, as in an OCI spec
    claims: tuple[str, ...] = ()  # entries of spec.resourceClaims
    resize_policy: tuple[tuple[str, str], ...] = ()  # a resource, and what a resize restarts

    @property
    def is_plain_init(self) -> bool:
        return self.is_init and not self.is_restartable


class Pod(NamedTuple):
    """A pod; `requests` and `limits` are its own (spec.resources), None without that field."""

    uid: str
    init_containers: tuple[Container, ...]
    containers: tuple[Container, ...]
    requests: Resources | None = None
    limits: Resources | None = None
    overhead: Resources = MappingProxyType({})
    name: str = ""
    namespace: str = ""
    given_qos: str = ""  # status.qosClass
    annotations: Mapping[str, str] = MappingProxyType({})
    priority: int = 0
    runtime_class: str = ""
    labels: Mapping[str, str] = MappingProxyType({})
    priority_class: str = ""
    claims: tuple[PodClaim, ...] = ()
    ephemeral: tuple[str, ...] = ()  # names of spec.ephemeralContainers

    @property
    def all_containers(self) -> tuple[Container, ...]:
        """Init containers, then the others."""
        return self.init_containers + self.containers

    @property
    def has_own_resources(self) -> bool:
        """Whether pod-level resources count (IsPodLevelResourcesSet)."""
        return any(map(is_pod_level, [*(self.requests or {}), *(self.limits or {})]))

    def without_sidecars(self) -> "Pod":
        """The pod as a kubelet without restartable init containers sees it."""
        if not any(container.is_restartable for container in self.init_containers):
            return self
        plain = tuple(
            container._replace(is_restartable=False) for container in self.init_containers
        )
        return self._replace(init_containers=plain)


def is_memory(resource: str) -> bool:
    """Whether the memory manager looks after a resource."""
    return resource == MEMORY or resource.startswith(HUGEPAGES)


def is_pod_level(resource: str) -> bool:
    """Whether spec.resources of a pod can name it (IsSupportedPodLevelResource)."""
    return resource == CPU or is_memory(resource)


def read_pod(manifest: Manifest) -> Pod:
    """A v1 Pod; KubeletError for a quantity that is none."""
    metadata, spec = manifest.get("metadata") or {}, manifest["spec"]
    own = spec.get("resources")
    return Pod(
        uid=metadata.get("uid", ""),
        init_containers=tuple(
            _read_container(given, is_init=True) for given in spec.get("initContainers") or ()
        ),
        containers=tuple(
            _read_container(given, is_init=False) for given in spec.get("containers") or ()
        ),
        requests=None if own is None else read_resources(own.get("requests")),
        limits=None if own is None else read_resources(own.get("limits")),
        overhead=read_resources(spec.get("overhead")),
        name=metadata.get("name", ""),
        namespace=metadata.get("namespace", ""),
        given_qos=(manifest.get("status") or {}).get("qosClass", ""),
        annotations=metadata.get("annotations") or {},
        priority=spec.get("priority") or 0,
        runtime_class=spec.get("runtimeClassName") or "",
        labels=metadata.get("labels") or {},
        priority_class=spec.get("priorityClassName") or "",
        claims=tuple(map(_read_claim, spec.get("resourceClaims") or ())),
        ephemeral=tuple(_texts(spec.get("ephemeralContainers"), "name")),
    )


def _read_claim(given: Manifest) -> PodClaim:
    claim, template = given.get("resourceClaimName"), given.get("resourceClaimTemplateName")
    return PodClaim(given["name"], claim or "", template or "")


def _read_container(given: Manifest, *, is_init: bool) -> Container:
    resources = given.get("resources") or {}
    return Container(
        name=given["name"],
        requests=read_resources(resources.get("requests")),
        limits=read_resources(resources.get("limits")),
        is_init=is_init,
        is_restartable=is_init and given.get("restartPolicy") == "Always",
        env=tuple(map(_read_variable, given.get("env") or ())),
        claims=tuple(dict.fromkeys(used["name"] for used in resources.get("claims") or ())),
        resize_policy=tuple(
            zip(
                _texts(given.get("resizePolicy"), "resourceName"),
                _texts(given.get("resizePolicy"), "restartPolicy"),
                strict=False,
            )
        ),
    )


def _texts(given: Any, key: str) -> Iterator[str]:
    """A field of each part of a list; nobody has looked at the types."""
    for part in given if isinstance(given, list) else ():
        value = part.get(key) if isinstance(part, dict) else None
        yield value if isinstance(value, str) else ""


def _read_variable(given: Manifest) -> str:
    return f"{given['name']}={given.get('value') or ''}"


def read_resources(given: Mapping[str, Any] | None) -> dict[str, Quantity]:
    """A ResourceList."""
    return {name: quantity.parse(str(text)) for name, text in (given or {}).items()}


def sum_of(lists: Iterable[Resources]) -> dict[str, Quantity]:
    """All resources of all lists."""
    total: dict[str, Quantity] = {}
    for resources in lists:
        for name, amount in resources.items():
            total[name] = total[name].plus(amount) if name in total else amount
    return total


def larger_of(first: Resources, second: Resources) -> dict[str, Quantity]:
    """The larger amount of each resource; the first of equal ones."""
    larger = dict(first)
    for name, amount in second.items():
        if name not in larger or amount.nano > larger[name].nano:
            larger[name] = amount
    return larger


def aggregate(pod: Pod, column: str) -> dict[str, Quantity]:
    """What the containers need at once of `requests` or `limits`.

    From component-helpers/resource, AggregateContainerRequests and AggregateContainerLimits.

    Plain init containers run beside the sidecars that were started before them.
    """
    total = sum_of(getattr(container, column) for container in pod.containers)
    sidecars: dict[str, Quantity] = {}
    init: dict[str, Quantity] = {}
    for container in pod.init_containers:
        needed = getattr(container, column)
        if container.is_restartable:
            sidecars = sum_of((sidecars, needed))
            needed = sidecars
            total = sum_of((total, getattr(container, column)))
        else:
            needed = sum_of((needed, sidecars))
        init = larger_of(init, needed)
    return larger_of(total, init)


def apply_defaults(pod: Pod, gates: Gates) -> Pod:
    """Requests from limits, for the pod as a whole too, and nothing finer than thousandths.

    Restartable init containers are plain ones where the API server does not know them.
    """
    if not gates.enabled("SidecarContainers"):
        pod = pod.without_sidecars()
    pod = pod._replace(
        init_containers=tuple(_default_requests(container) for container in pod.init_containers),
        containers=tuple(_default_requests(container) for container in pod.containers),
    )
    if pod.requests is None or pod.limits is None:
        return pod
    pod = pod._replace(requests=_rounded(pod.requests), limits=_rounded(pod.limits))
    if not gates.enabled("PodLevelResources"):
        return pod
    pod = pod._replace(limits=_default_huge_page_pod_limits(pod))
    return pod._replace(requests=_default_pod_requests(pod))


def _default_requests(container: Container) -> Container:
    limits = _rounded(container.limits)
    return container._replace(limits=limits, requests={**limits, **_rounded(container.requests)})


def _rounded(resources: Resources) -> Resources:
    return {name: amount.round_up_milli() for name, amount in resources.items()}


def _default_huge_page_pod_limits(pod: Pod) -> Resources:
    """Limits on huge pages are those of the containers, where the pod says nothing of that size."""
    limits: dict[str, Quantity] = dict(pod.limits or {})
    for name, amount in aggregate(pod, "limits").items():
        if name.startswith(HUGEPAGES) and name not in (pod.requests or {}):
            limits.setdefault(name, amount)
    return limits


def _default_pod_requests(pod: Pod) -> Resources:
    """The pod's requests: those of the containers, else its limits; unchanged without limits."""
    requests: dict[str, Quantity] = dict(pod.requests or {})
    if not pod.limits:
        return requests
    for name, amount in aggregate(pod, "requests").items():
        if is_pod_level(name) and not name.startswith(HUGEPAGES):
            requests.setdefault(name, amount)
    for name, amount in pod.limits.items():
        if is_pod_level(name):
            requests.setdefault(name, amount)
    return requests
