"""The NodeResourceTopology of a node, as its exporter publishes it, against what was compiled."""

from collections.abc import Iterator, Mapping
from typing import Any

from cpuplan.check.cluster.objects import Absent, Subject
from cpuplan.components import derived, nrt
from cpuplan.components.nri.zones import EXCESS, ISOLATED, SHARED
from cpuplan.components.nrt import ATTRIBUTES, LABELS, POLICIES, VERSION, ZONES, settings_of
from cpuplan.diagnostics.source import Field
from cpuplan.plan.expected.evidence import Answer, Heals
from cpuplan.plan.setting import Setting, Value, plain
from cpuplan.simulate.files.objects import NRT, Object
from cpuplan.upstream.kubernetes.pod import MEMORY
from cpuplan.upstream.nrt.crd import DEFINITIONS, admit

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
    found = subject.objects.find(NRT, subject.node)
    if isinstance(found, Absent):
        if found.is_unknown or not subject.objects.is_served(NRT):
            yield from (subject.unverifiable(setting, found.reason) for setting in settings)
            return
        yield subject.differs(
            NRT, "CP885", None, observed="nothing", expected="", kind=NRT, node=subject.node
        )
        return
    if admit(found.data, DEFINITIONS["noderesourcetopology-api"]).errors:
        reason = "no API server has such an object; `cpuplan validate` says why"
        yield from (subject.unverifiable(setting, reason, found) for setting in settings)
        return
    published = settings_of(found.data)
    for setting in settings:
        yield _answer(subject, found, setting, published.get(setting.key))


def _answer(subject: Subject, found: Object, setting: Setting, value: Value | None) -> Answer:
    wanted, known = _fixed(setting.value), _fixed(() if value is None else value)
    if setting.key == VERSION or setting.key.startswith(LABELS):
        return subject.unverifiable(setting, _OTHERS, found)
    if setting.key.endswith(f".{MEMORY}"):
        return subject.unverifiable(setting, _MEMORY, found)
    if wanted == known or not setting.key.startswith(_COMPARED):
        return subject.held(setting, found, _shown(wanted))
    return subject.differs(
        setting,
        "CP886",
        (found, _place(found.data, setting.key)),
        observed=_shown(known),
        expected=_shown(wanted),
        because=setting.reasons,
        heals=Heals.LIVE,
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
