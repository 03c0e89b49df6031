"""Pods whose claims are not what they request: CP719, and CP7200 to CP7202."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from cpuplan.base.text import counted
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Position
from cpuplan.simulate.dra.inputs import Inputs
from cpuplan.upstream.dra.allocator_incubating import Spec
from cpuplan.upstream.dra.api import CAPACITY, INDIVIDUAL
from cpuplan.upstream.kubernetes import quantity
from cpuplan.upstream.kubernetes.fit import pod_requests
from cpuplan.upstream.kubernetes.kube_features import Gates
from cpuplan.upstream.kubernetes.pod import CPU, Container, Pod, apply_defaults
from cpuplan.upstream.kubernetes.qos import guaranteed_cpus
from cpuplan.upstream.kubernetes.quantity import ZERO


class Given(NamedTuple):
    """A pod, and where it stands; pods of one template stand at one place."""

    pod: Pod
    name: str
    place: Position | None


def check(pods: Iterable[Given], inputs: Inputs, gates: Gates) -> Iterator[Diagnostic]:
    """What is wrong with the first pod of each place."""
    seen: set[object] = set()
    for given in pods:
        key = given.place or given.name.rpartition("-")[0] or given.name
        if key in seen:
            continue
        seen.add(key)
        stored = given._replace(pod=apply_defaults(given.pod, gates))
        if stored.pod.claims:
            yield from _counting(stored, inputs, gates)
        yield from _losing(stored, gates)


def _losing(given: Given, gates: Gates) -> Iterator[Diagnostic]:
    for container in given.pod.all_containers:
        cpus = guaranteed_cpus(given.pod, container, gates)
        if cpus and not container.claims and not container.is_plain_init:
            yield diagnose(
                "CP719",
                given.place,
                container=container.name,
                pod=given.name,
                cpus=counted(cpus, "CPU"),
            )


def _counting(given: Given, inputs: Inputs, gates: Gates) -> Iterator[Diagnostic]:
    """Claims of unknown size (all of a device, alternatives) are not judged."""
    is_individual = inputs.config.cpu_device_mode == INDIVIDUAL
    sizes = {
        claim.name: _size(claim.spec, is_individual=is_individual) for claim in given.pod.claims
    }
    if None in sizes.values():
        return
    known = {name: size or 0 for name, size in sizes.items()}
    if inputs.is_mapped:
        yield from _twice(given, known)
        return
    claimed, requested = sum(known.values()), pod_requests(given.pod, gates).get(CPU, ZERO)
    if requested.milli < claimed * 1000:
        yield diagnose(
            "CP7200",
            given.place,
            pod=given.name,
            claimed=counted(claimed, "CPU"),
            requested=requested,
        )
    yield from _throttled(given, known)


def _size(spec: object, *, is_individual: bool) -> int | None:
    """The CPUs of a claim; None where they depend on what is free."""
    if not isinstance(spec, Spec) or spec.results is not None:
        return None
    total = 0
    for request in spec.requests:
        amount = dict(request.capacity).get(CAPACITY)
        if request.alternatives or request.number is None or (not is_individual and not amount):
            return None
        each = 1 if is_individual else quantity.parse(amount or "0").value
        total += request.number * each
    return total


def _claimed(container: Container, sizes: Mapping[str, int]) -> int:
    return sum(sizes.get(name, 0) for name in container.claims)


def _throttled(given: Given, sizes: Mapping[str, int]) -> Iterator[Diagnostic]:
    for container in given.pod.all_containers:
        claimed, limit = _claimed(container, sizes), container.limits.get(CPU)
        if limit and limit.milli < claimed * 1000:
            yield diagnose(
                "CP7201",
                given.place,
                container=container.name,
                pod=given.name,
                claimed=counted(claimed, "CPU"),
                limit=limit,
            )


def _twice(given: Given, sizes: Mapping[str, int]) -> Iterator[Diagnostic]:
    for container in given.pod.all_containers:
        claimed, requested = _claimed(container, sizes), container.requests.get(CPU, ZERO)
        if claimed and requested.milli >= claimed * 1000:
            yield diagnose(
                "CP7202",
                given.place,
                container=container.name,
                pod=given.name,
                claimed=counted(claimed, "CPU"),
                requested=requested,
            )
