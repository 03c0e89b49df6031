"""The NodeResourceTopology of a node, as its exporter publishes it, against what was compiled."""

from collections.abc import Iterator, Mapping
from typing import Any

from cpuplan.check.koordinator.subject import Subject
from cpuplan.components.published import nrt
from cpuplan.components.published.document import ATTRIBUTES, POLICIES, ZONES, settings_of
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.kubelet.pods.pod import MEMORY
from cpuplan.nrt.crd import DEFINITIONS, admit
from cpuplan.setting import Value, plain
from cpuplan.simulate.koordinatorfiles.objects import NRT, Object
from cpuplan.source import Field

_COMPARED = (ATTRIBUTES, POLICIES, ZONES)
#: Pods change it.
_AVAILABLE = "available"


def check(subject: Subject) -> Iterator[Diagnostic]:
    """CP885 without an object, CP886 for each value that the exporter should publish otherwise.

    Memory is not compared: of it an inventory has what the machine's maker says.
    """
    found = subject.found.topology
    if found is None:
        yield diagnose("CP885", kind=NRT, node=subject.name)
        return
    if admit(found.data, DEFINITIONS["noderesourcetopology-api"]).errors:
        return  # said by `validate`; no cluster has it
    published = settings_of(found.data)
    for setting in subject.plan.settings.of(nrt.NAME):
        if setting.key.startswith(_COMPARED) and not setting.key.endswith(f".{MEMORY}"):
            wanted, known = _fixed(setting.value), _fixed(published.get(setting.key, ()))
            if wanted != known:
                yield _other(subject, found, setting.key, known, wanted)


def _fixed(value: Value) -> Any:
    """A value without what pods change."""
    data = plain(value)
    if isinstance(data, Mapping):
        return {key: item for key, item in data.items() if key != _AVAILABLE}
    return data


def _other(subject: Subject, found: Object, key: str, known: Any, wanted: Any) -> Diagnostic:
    settings = (one for one in subject.plan.settings.of(nrt.NAME) if one.key == key)
    return diagnose(
        "CP886",
        found.source.value_at((*found.at, *_place(found.data, key))),
        labels=subject.labels(settings),
        node=subject.name,
        key=key,
        found=_shown(known),
        wanted=_shown(wanted),
    )


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
        value = [f"{key} {item}" for key, item in value.items()]
    if isinstance(value, list | tuple):
        value = ", ".join(map(str, value))
    return str(value or "nothing")
