"""What a cluster publishes of a node: allocatable amounts, and the zones of its topology."""

from collections.abc import Iterator, Mapping
from typing import Any

from cpuplan.check.cluster.live_objects import Absent, Subject
from cpuplan.components import derived, kubelet, nrt
from cpuplan.components.derived import ALLOCATABLE, AMOUNTS, CAPACITY, KEPT, SHARED_CPUS
from cpuplan.components.nri.zones import EXCESS, ISOLATED, SHARED
from cpuplan.components.nrt import ATTRIBUTES, LABELS, POLICIES, VERSION, ZONES, settings_of
from cpuplan.components.openshift import mixedcpus
from cpuplan.diagnostics import Reason
from cpuplan.diagnostics.source import Field
from cpuplan.facts.settings.kubelet import RESERVED_CPUS, SYSTEM_RESERVED
from cpuplan.language.read.pods import value_of
from cpuplan.plan.expected.evidence import Answer
from cpuplan.plan.setting import Setting, Value, plain
from cpuplan.simulate.files.objects import NRT, Object
from cpuplan.upstream.koordinator.extension import constants
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.pod import CPU, HUGEPAGES, MEMORY
from cpuplan.upstream.kubernetes.quantity import Quantity, parse
from cpuplan.upstream.nrt.crd import DEFINITIONS, admit

#: What is left of a sum or difference for the finding: one resource, one fact.
_NOTHING = "nothing"


def amounts(subject: Subject) -> Iterator[Answer]:
    """CP890 for each amount that is not as the plan has it."""
    expected = subject.expected.facts.get(AMOUNTS)
    node = subject.objects.find("Node", subject.node)
    for resource, wanted in (expected if isinstance(expected, dict) else {}).items():
        for column, amount in (wanted if isinstance(wanted, dict) else {}).items():
            fact = f"node {resource} {column}"
            if isinstance(node, Absent):
                yield subject.unverifiable(fact, node.reason)
            else:
                yield _compare(subject, node, resource, column, str(amount))


def _compare(subject: Subject, node: Object, resource: str, column: str, wanted: str) -> Answer:
    fact = f"node {resource} {column}"
    if node.annotations.get(constants.RAW_ALLOCATABLE) and column == ALLOCATABLE:
        return subject.unverifiable(fact, "koord-manager amplifies what can be allocated", node)
    text = _difference(node, resource) if column == KEPT else _given(node, column, resource)
    if text is None and value_of(node.data, ("status", CAPACITY)) is None:
        return subject.unverifiable(fact, "the Node has no status", node)
    if _amount(text) == _amount(wanted):
        return subject.held(fact, node, wanted)
    field = ("status", ALLOCATABLE if column == KEPT else column, resource)
    return subject.differs(
        fact,
        "CP890",
        (node, field),
        observed=_NOTHING if text is None else text,
        expected=wanted,
        because=_because(subject, resource, column),
        node=subject.node,
        amount=f"{column} of {resource}" if column != KEPT else f"the {resource} {column}",
    )


def _given(node: Object, column: str, resource: str) -> str | None:
    given = value_of(node.data, ("status", column, resource))
    return None if given is None else str(given)


def _difference(node: Object, resource: str) -> str | None:
    """How much less can be allocated of a resource than there is."""
    amounts = [_amount(_given(node, column, resource)) for column in (CAPACITY, ALLOCATABLE)]
    whole, free = amounts
    return str(whole.minus(free)) if whole and free else None


def _amount(text: str | None) -> Quantity | None:
    """A quantity without the form in which it was written."""
    try:
        return None if text is None else Quantity(parse(text).nano)
    except KubeletError:
        return None


def _because(subject: Subject, resource: str, column: str) -> tuple[Reason, ...]:
    """The statement from which an amount follows."""
    if resource == CPU and column == ALLOCATABLE:
        return subject.because(kubelet.NAME, RESERVED_CPUS.key)
    if resource == CPU:
        return subject.expected.pool("offlined").because
    if resource == MEMORY:
        return subject.because(kubelet.NAME, f"{SYSTEM_RESERVED.head}.memory")
    if resource == SHARED_CPUS:
        return subject.because(mixedcpus.NAME)
    if resource.startswith(HUGEPAGES):
        ending = f".resources.{resource}"
        zones = (
            setting
            for setting in subject.expected.settings.of(nrt.NAME)
            if setting.key.endswith(ending)
        )
        return next((zone.reasons for zone in zones), ())
    return ()


_COMPARED = (ATTRIBUTES, POLICIES, ZONES)
#: Pods change these: amounts, and attributes of the zones of NRI policies.
_CHANGING = ("available", SHARED, ISOLATED, EXCESS)
_CAPACITY = "capacity"
_MEMORY = "of memory an inventory has what the machine's maker says"
_OTHERS = "the object has what its exporter supports"


def topology(subject: Subject) -> Iterator[Answer]:
    """CP885 without an object, CP886 for each value that the exporter should publish otherwise.

    What Koordinator's agent writes has a check of its own, `koordinator`.
    """
    settings = subject.expected.settings.of(nrt.NAME)
    if not settings or subject.expected.facts.get(derived.KOORDLET):
        return
    zones = subject.objects.find(NRT, subject.node)
    if isinstance(zones, Absent):
        if zones.is_unknown or not subject.objects.is_served(NRT):
            yield from (subject.unverifiable(setting, zones.reason) for setting in settings)
            return
        yield subject.differs(
            NRT, "CP885", None, observed="nothing", expected="", kind=NRT, node=subject.node
        )
        return
    if admit(zones.data, DEFINITIONS["noderesourcetopology-api"]).errors:
        reason = "no API server has such an object; `cpuplan validate` says why"
        yield from (subject.unverifiable(setting, reason, zones) for setting in settings)
        return
    published = settings_of(zones.data)
    for setting in settings:
        yield _answer(subject, zones, setting, published.get(setting.key))


def _answer(subject: Subject, zones: Object, setting: Setting, value: Value | None) -> Answer:
    wanted, known = _fixed(setting.value), _fixed(() if value is None else value)
    if setting.key == VERSION or setting.key.startswith(LABELS):
        return subject.unverifiable(setting, _OTHERS, zones)
    if setting.key.endswith(f".{MEMORY}"):
        return subject.unverifiable(setting, _MEMORY, zones)
    if wanted == known or not setting.key.startswith(_COMPARED):
        return subject.held(setting, zones, _shown(wanted))
    return subject.differs(
        setting,
        "CP886",
        (zones, _place(zones.data, setting.key)),
        observed=_shown(known),
        expected=_shown(wanted),
        because=setting.reasons,
        node=subject.node,
        key=setting.key,
    )


def _fixed(value: Value) -> Any:
    """A value without what pods change."""
    data = plain(value)
    if isinstance(data, Mapping):
        return {key: item for key, item in data.items() if key not in _CHANGING}
    return data


def _place(data: Mapping[str, Any], key: str) -> Field:
    """The item of the list that a setting is about; the list where there is none."""
    field, _, rest = key.partition(".")
    name = rest.split(".")[0] if field == "zones" else rest
    for index, item in enumerate(data.get(field) or ()):
        if isinstance(item, Mapping) and item.get("name") == name:
            return (field, index)
    return (field,)


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        keys = sorted(value, key=lambda key: (key != _CAPACITY, key))
        value = [f"{key} {value[key]}" for key in keys]
    if isinstance(value, list | tuple):
        value = ", ".join(map(str, value))
    return str(value or "nothing")
