"""What the DRA CPU driver finds on a planned node, and the claims of pods there.

CP718 and CP719: pods whose claims are not what they request.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from cpuplan.base.cpuset import CpuSet
from cpuplan.base.text import counted
from cpuplan.base.topology import Topology
from cpuplan.components.dra import claims, classes, driver, resource_slices
from cpuplan.components.dra.driver import CLASS
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Position
from cpuplan.language.model.pools import Workload
from cpuplan.plan import NodePlan
from cpuplan.plan.setting import Settings, plain
from cpuplan.upstream.dra.allocator_incubating import Constraint, Request, Spec
from cpuplan.upstream.dra.api import CAPACITY, DRIVER, INDIVIDUAL
from cpuplan.upstream.dra.builder import Device
from cpuplan.upstream.dra.cpuinfo import Topology as Machine
from cpuplan.upstream.dra.driverconfig import Config, resolve
from cpuplan.upstream.kubernetes import quantity
from cpuplan.upstream.kubernetes.fit import pod_requests
from cpuplan.upstream.kubernetes.kube_features import Gates
from cpuplan.upstream.kubernetes.pod import (
    CPU,
    Container,
    Pod,
    PodClaim,
    Resources,
    apply_defaults,
    read_resources,
)
from cpuplan.upstream.kubernetes.qos import guaranteed_cpus
from cpuplan.upstream.kubernetes.quantity import ZERO

#: The selector of the chart's DeviceClass.
_GENERAL = f'device.driver == "{DRIVER}"'


class Inputs(NamedTuple):
    """The driver's machine and configuration, and the devices and classes that schedulers know.

    `is_mapped`: claims count as CPUs of the pod for the scheduler and the kubelet.
    """

    topology: Machine
    config: Config
    devices: tuple[Device, ...]
    classes: Mapping[str, tuple[str, ...]]
    is_mapped: bool


def inputs(plan: NodePlan) -> Inputs:
    """Of a node of the plan's class, with the driver's own reading of its configuration.

    The settings are made here: beside other mechanisms, plans of every platform are asked, also of
    those whose backend writes none for the driver.
    """
    given = (*driver.settings(plan), *classes.settings(plan), *resource_slices.settings(plan))
    return inputs_of(plan.topology, plan.pool("offlined").cpus, Settings(given))


def inputs_of(topology: Topology, offlined: CpuSet, settings: Settings) -> Inputs:
    """The machine without offlined CPUs, and what the settings make of it."""
    own = settings.of(driver.NAME)
    config = resolve(driver.render(own))
    known: dict[str, tuple[str, ...]] = {CLASS: (_GENERAL,)}
    for setting in settings.of(classes.NAME):
        selectors = classes.document(setting)["spec"]["selectors"]
        known[setting.key] = tuple(selector["cel"]["expression"] for selector in selectors)
    told = {setting.key: setting.value for setting in settings.of(resource_slices.NAME)}
    return Inputs(
        resource_slices.machine(topology, offlined),
        config,
        tuple(resource_slices.of_settings(topology, offlined, own, told)),
        known,
        config.publish_node_allocatable_resource_mapping,
    )


def with_claims(plan: NodePlan, workload: Workload, pod: Pod) -> Pod:
    """A workload's pod with the claims, and the requests, of its compiled template.

    A manifest that names compiled templates itself is as it is; its claims of other drivers, of
    which the intent has no objects, are left out.
    """
    given = {setting.key: plain(setting.value) for setting in claims.settings(plan)}
    own = [claim for claim in pod.claims if claim.template in given]
    if own:
        known = (claim._replace(spec=_spec(given[claim.template]["devices"])) for claim in own)
        return _only(pod, tuple(known))
    pod = _only(pod, ())
    template = claims.pod_template(plan, workload)["spec"]
    made = tuple(_claim(reference, given) for reference in template["resourceClaims"])
    sides = {container["name"]: container["resources"] for container in template["containers"]}
    containers = tuple(
        _claiming(container, sides[container.name]) if container.name in sides else container
        for container in pod.containers
    )
    own = template.get("resources")
    if own is None:
        return pod._replace(claims=made, containers=containers)
    requests, limits = read_resources(own["requests"]), read_resources(own["limits"])
    return pod._replace(claims=made, containers=containers, requests=requests, limits=limits)


def _only(pod: Pod, known: tuple[PodClaim, ...]) -> Pod:
    """The pod with these claims alone."""
    names = {claim.name for claim in known}

    def kept(container: Container) -> Container:
        return container._replace(claims=tuple(filter(names.__contains__, container.claims)))

    return pod._replace(
        claims=known,
        init_containers=tuple(map(kept, pod.init_containers)),
        containers=tuple(map(kept, pod.containers)),
    )


def claiming(plan: NodePlan, pod: Pod) -> Pod:
    """A pod with a claim for each container that requests whole CPUs, as workloads have them.

    Its requests stay, which is how CPUs of claims are counted; with the driver's mapping the claim
    counts, and the container requests next to nothing.
    """
    is_mapped = plan.node_class.target.dra.accounting == "mapping"
    made: list[PodClaim] = []
    containers = []
    for container in pod.containers:
        names_of, own = _claims_of(plan, container)
        made += own
        counted = container._replace(claims=names_of) if own else container
        containers.append(_mapped(counted) if own and is_mapped else counted)
    return pod._replace(claims=tuple(made), containers=tuple(containers))


def _claims_of(plan: NodePlan, container: Container) -> tuple[tuple[str, ...], list[PodClaim]]:
    cpus = claims.whole_cpus(container)
    made = []
    for number, share in enumerate(claims.chunks(plan, "", cpus) if cpus else (), start=1):
        name = container.name if number == 1 else f"{container.name}-{number}"
        made.append(PodClaim(name, spec=_spec(claims.spec_of(plan, "", share)["devices"])))
    return tuple(claim.name for claim in made), made


def _mapped(container: Container) -> Container:
    least = read_resources({CPU: claims.OF_CLASS})
    requests, limits = ({**own, **least} for own in (container.requests, container.limits))
    return container._replace(requests=requests, limits=limits)


def _claim(reference: Mapping[str, str], specs: Mapping[str, Any]) -> PodClaim:
    name = reference["resourceClaimTemplateName"]
    return PodClaim(reference["name"], template=name, spec=_spec(specs[name]["devices"]))


def _claiming(container: Container, side: Mapping[str, Any]) -> Container:
    """The container with its claims, and CPUs as the template requests them, if it does."""
    used = tuple(claim["name"] for claim in side["claims"])
    return container._replace(
        claims=used,
        requests=_with_cpus_of(container.requests, side.get("requests")),
        limits=_with_cpus_of(container.limits, side.get("limits")),
    )


def _with_cpus_of(amounts: Resources, given: Any) -> Resources:
    """The amounts of a container, with the CPUs of its template, or with none."""
    others = {name: amount for name, amount in amounts.items() if name != CPU}
    return {**others, **read_resources(given)}


def _spec(devices: Mapping[str, Any]) -> Spec:
    constraints = (
        Constraint(given["matchAttribute"], tuple(given.get("requests", ())))
        for given in devices.get("constraints", ())
    )
    return Spec(tuple(map(_request, devices["requests"])), tuple(constraints))


def _request(given: Mapping[str, Any]) -> Request:
    asked = given["exactly"]
    amount = asked.get("capacity", {}).get("requests", {}).get(CAPACITY)
    capacity = ((CAPACITY, str(amount)),) if amount else ()
    return Request(given["name"], asked["deviceClassName"], (), asked.get("count", 1), capacity)


class Given(NamedTuple):
    """A pod, and where it stands; pods of one template stand at one place."""

    pod: Pod
    name: str
    place: Position | None


def check_claims(pods: Iterable[Given], inputs: Inputs, gates: Gates) -> Iterator[Diagnostic]:
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
        cpus = 1 if is_individual else quantity.parse(amount or "0").value
        total += request.number * cpus
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
