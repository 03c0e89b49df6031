"""What the DRA CPU driver and the scheduler find on a planned node, and claims of workloads."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from cpuplan.base.cpuset import CpuSet
from cpuplan.base.topology import Topology
from cpuplan.components.dra import claims, classes, driver, pods, slices
from cpuplan.components.dra.names import GENERAL
from cpuplan.language.model.workloads import Workload
from cpuplan.plan import NodePlan
from cpuplan.plan.setting import Settings, plain
from cpuplan.upstream.dra.allocator_incubating import Constraint, Request, Spec
from cpuplan.upstream.dra.api import CAPACITY, DRIVER
from cpuplan.upstream.dra.builder import Device
from cpuplan.upstream.dra.cpuinfo import Topology as Machine
from cpuplan.upstream.dra.driverconfig import Config, resolve
from cpuplan.upstream.kubernetes.pod import CPU, Container, Pod, PodClaim, read_resources

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
    given = (*driver.settings(plan), *classes.settings(plan), *slices.settings(plan))
    return inputs_of(plan.topology, plan.pool("offlined").cpus, Settings(given))


def inputs_of(topology: Topology, offlined: CpuSet, settings: Settings) -> Inputs:
    """The machine without offlined CPUs, and what the settings make of it."""
    own = settings.of(driver.NAME)
    config = resolve(driver.render(own))
    known: dict[str, tuple[str, ...]] = {GENERAL: (_GENERAL,)}
    for setting in settings.of(classes.NAME):
        selectors = classes.document(setting)["spec"]["selectors"]
        known[setting.key] = tuple(each["cel"]["expression"] for each in selectors)
    told = {setting.key: setting.value for setting in settings.of(slices.NAME)}
    return Inputs(
        slices.machine(topology, offlined),
        config,
        tuple(slices.of_settings(topology, offlined, own, told)),
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
    template = pods.template(plan, workload)["spec"]
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
    init, containers = (
        tuple(
            own._replace(claims=tuple(name for name in own.claims if name in names))
            for own in group
        )
        for group in (pod.init_containers, pod.containers)
    )
    return pod._replace(claims=known, init_containers=init, containers=containers)


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
    found = []
    for number, share in enumerate(claims.chunks(plan, "", cpus) if cpus else (), start=1):
        name = container.name if number == 1 else f"{container.name}-{number}"
        found.append(PodClaim(name, spec=_spec(claims.spec_of(plan, "", share)["devices"])))
    return tuple(claim.name for claim in found), found


def _mapped(container: Container) -> Container:
    least = read_resources({CPU: pods.OF_CLASS})
    requests, limits = ({**own, **least} for own in (container.requests, container.limits))
    return container._replace(requests=requests, limits=limits)


def _claim(reference: Mapping[str, str], specs: Mapping[str, Any]) -> PodClaim:
    name = reference["resourceClaimTemplateName"]
    return PodClaim(reference["name"], template=name, spec=_spec(specs[name]["devices"]))


def _claiming(container: Container, side: Mapping[str, Any]) -> Container:
    """The container with its claims, and CPUs as the template requests them, if it does."""
    used = tuple(claim["name"] for claim in side["claims"])
    requests, limits = (
        {**{name: amount for name, amount in own.items() if name != CPU}, **read_resources(given)}
        for own, given in (
            (container.requests, side.get("requests")),
            (container.limits, side.get("limits")),
        )
    )
    return container._replace(claims=used, requests=requests, limits=limits)


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
