"""The devices that the DRA CPU driver publishes of a node, against what was compiled.

Names of slices are random: those of a node are found by driver and pool, and of several
generations the newest counts.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from cpuplan.check.cluster.live_objects import Absent, Subject
from cpuplan.components.dra import driver, resource_slices
from cpuplan.components.dra.driver import CLASS_LABEL
from cpuplan.diagnostics.source import Field
from cpuplan.language.read.pods import value_of
from cpuplan.plan.expected.evidence import Answer
from cpuplan.simulate.files.objects import Object
from cpuplan.upstream.dra.api import CAPACITY, CPU_ID, DRIVER
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.quantity import parse

KIND = "ResourceSlice"
_POOL: Field = ("spec", "pool")
#: A device as it is compared.
_Device = Mapping[str, Any]
_Published = tuple[Object, int, _Device]


def devices(subject: Subject) -> Iterator[Answer]:
    """CP684 without slices, CP685 for a device that differs, CP686 for one too many."""
    settings = subject.expected.settings.of(resource_slices.NAME)
    if not settings:
        return
    reason = _unknown(subject)
    own_slices = list(_of_node(subject)) if not reason else []
    if own_slices and len(own_slices) < _count(own_slices[0]):
        reason = f"{len(own_slices)} of {_count(own_slices[0])} slices of its pool are there"
    if reason:
        yield from (subject.unverifiable(setting, reason) for setting in settings)
    elif not own_slices:
        yield _absent(subject)
    else:
        yield from _compare(subject, own_slices)


def _unknown(subject: Subject) -> str:
    """Why nothing is known of the node's slices; empty where the cluster tells them."""
    if subject.objects.is_known(KIND) or not subject.objects.is_served(KIND):
        return ""
    listed = subject.objects.find(KIND, subject.node)
    return listed.reason if isinstance(listed, Absent) else ""


def _of_node(subject: Subject) -> Iterator[Object]:
    """The newest slices of the driver for the node."""
    own = [
        resource_slice
        for resource_slice in subject.objects.of_kind(KIND)
        if value_of(resource_slice.data, ("spec", "driver")) == DRIVER
        and value_of(resource_slice.data, (*_POOL, "name")) == subject.node
    ]
    newest = max((_generation(resource_slice) for resource_slice in own), default=0)
    return (resource_slice for resource_slice in own if _generation(resource_slice) == newest)


def _generation(resource_slice: Object) -> int:
    return _whole(value_of(resource_slice.data, (*_POOL, "generation")))


def _count(resource_slice: Object) -> int:
    return _whole(value_of(resource_slice.data, (*_POOL, "resourceSliceCount")))


def _whole(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _absent(subject: Subject) -> Answer:
    name = subject.expected.name
    return subject.differs(
        KIND,
        "CP684",
        None,
        observed="nothing",
        expected=f"{CLASS_LABEL}={name}",
        because=subject.because(resource_slices.NAME),
        node=subject.node,
    )


def _compare(subject: Subject, own_slices: list[Object]) -> Iterator[Answer]:
    wanted = _wanted(subject)
    published = {str(entry[2].get("name")): entry for entry in _all(own_slices)}
    problems = list(_problems(subject, wanted, published))
    yield from problems
    if not problems:
        for setting in subject.expected.settings.of(resource_slices.NAME):
            yield subject.held(setting, own_slices[0])


def _all(own_slices: list[Object]) -> Iterator[_Published]:
    for resource_slice in own_slices:
        given = value_of(resource_slice.data, ("spec", "devices"))
        for at, device in enumerate(given if isinstance(given, list) else ()):
            if isinstance(device, Mapping):
                yield resource_slice, at, device


def _wanted(subject: Subject) -> dict[str, _Device]:
    """The devices that follow from the expected state, with what the release tells of them."""
    expected = subject.expected
    given = expected.settings.values(driver.NAME)
    told = expected.settings.values(resource_slices.NAME)[resource_slices.ATTRIBUTES]
    names = set(told) if isinstance(told, tuple) else set()
    made = resource_slices.devices(expected.topology, expected.pool("offlined").cpus, given)
    return {device.name: _own(device.fields(), names) for device in made}


def _own(device: _Device, names: set[Any]) -> _Device:
    attributes = {key: value for key, value in device["attributes"].items() if key in names}
    return {**device, "attributes": attributes}


def _problems(
    subject: Subject, wanted: Mapping[str, _Device], published: Mapping[str, _Published]
) -> Iterator[Answer]:
    """The first device that differs, and the first that is not planned."""
    differing = [
        (name, problem)
        for name, device in wanted.items()
        if (problem := _problem(device, published.get(name)))
    ]
    for name, problem in differing[:1]:
        more = f" (and {len(differing) - 1} more devices differ)" if len(differing) > 1 else ""
        yield _differs(subject, name, problem + more, published.get(name))
    extra = [name for name in published if name not in wanted]
    for name in extra[:1]:
        resource_slice, at, device = published[name]
        yield subject.differs(
            f"device {name}",
            "CP686",
            (resource_slice, ("spec", "devices", at)),
            observed=_described(device) + (f" (and {len(extra) - 1} more)" if extra[1:] else ""),
            expected="no such device",
            because=subject.because(resource_slices.NAME),
            node=subject.node,
            device=name,
        )


def _differs(subject: Subject, name: str, problem: str, published: _Published | None) -> Answer:
    return subject.differs(
        f"device {name}",
        "CP685",
        (published[0], ("spec", "devices", published[1])) if published else None,
        observed=problem,
        expected="the planned device",
        because=subject.because(resource_slices.NAME),
        node=subject.node,
        device=name,
        problem=problem,
    )


def _problem(wanted: _Device, published: _Published | None) -> str:
    """How a published device differs from the planned one; empty where it does not."""
    if published is None:
        return "is not published"
    device = published[2]
    # The number of the CPU says more than what follows from it.
    for key, value in sorted(wanted["attributes"].items(), key=lambda item: item[0] != CPU_ID):
        other = _attribute(device, key)
        # Of several sockets the driver tells one, by chance.
        is_fixed = next(iter(value.values())) is not None
        if is_fixed and other != value:
            return f"has {key} {_shown(other)} instead of {_shown(value)}"
    if CAPACITY in wanted.get("capacity", {}):
        own, other = wanted["capacity"][CAPACITY]["value"], _capacity(device)
        if other != own:
            return f"has {other or 'no'} CPUs instead of {own}"
        if value_of(device, ("allowMultipleAllocations",)) is not True:
            return "lacks allowMultipleAllocations: one claim takes it whole"
    if "nodeAllocatableResources" in wanted and "nodeAllocatableResources" not in device:
        return "has no mapping: claims are not counted"
    return ""


def _attribute(device: _Device, key: str) -> Any:
    return value_of(device, ("attributes", key))


def _capacity(device: _Device) -> str:
    """The CPUs of a grouped device, in the form in which they are planned."""
    text = value_of(device, ("capacity", CAPACITY, "value"))
    try:
        return str(parse(str(text)).value) if text is not None else ""
    except KubeletError:
        return str(text)


def _shown(value: Any) -> str:
    """The value of an attribute, which is below its type."""
    if isinstance(value, Mapping) and value:
        return str(next(iter(value.values())))
    return "nothing"


def _described(device: _Device) -> str:
    cpu = _attribute(device, CPU_ID)
    return f"CPU {_shown(cpu)}" if cpu else f"{_capacity(device) or 'no'} CPUs"
