"""Whether the webhook admits slo-controller-config."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from cpuplan.upstream.koordinator.annotations.values import dump
from cpuplan.upstream.koordinator.webhooks.sloconfig import configs
from cpuplan.upstream.koordinator.webhooks.sloconfig.fields import Struct, problems
from cpuplan.upstream.koordinator.webhooks.sloconfig.network import check_network
from cpuplan.upstream.koordinator.webhooks.sloconfig.selectors import (
    Selector,
    overlapping,
    read_selector,
    selector_text,
)
from cpuplan.upstream.kubelet.errors import NIL_DEREFERENCE, KubeletError, PanicError
from cpuplan.upstream.kubelet.go.unmarshal import unmarshal
from cpuplan.upstream.kubelet.labels import Labels

Data = Mapping[str, str]
_SYSTEM, _RESOURCE_QOS = "system-config", "resource-qos-config"
_INVALID = "ConfigParamInvalid"
_MAP = "koordinator-system/slo-controller-config"


class _Kind(NamedTuple):
    """A key: its structure, the field with groups of nodes, and its name in messages."""

    struct: Struct
    groups: str
    name: str


#: In the order in which they are checked. Other keys are not.
_KINDS = {
    "colocation-config": _Kind(configs.COLOCATION, "nodeConfigs", "colocation"),
    "resource-threshold-config": _Kind(
        configs.RESOURCE_THRESHOLD, "nodeStrategies", "resourceThreshold"
    ),
    _RESOURCE_QOS: _Kind(configs.RESOURCE_QOS_CONFIG, "nodeStrategies", "ResourceQOS"),
    _SYSTEM: _Kind(configs.SYSTEM, "nodeStrategies", "System"),
    "cpu-burst-config": _Kind(configs.CPU_BURST, "nodeStrategies", "CpuBurst"),
}
#: The keys that are checked.
CHECKED = tuple(_KINDS)


class SloConfigError(KubeletError):
    """A refusal: the text of the webhook, and what is wrong with which key."""

    def __init__(self, key: str, text: str, details: Mapping[str, str] | None = None) -> None:
        super().__init__(text)
        self.key = key
        self.details = dict(details or {})


class _Checked(NamedTuple):
    key: str
    value: Mapping[str, Any]
    system: Mapping[str, Any]
    names: list[str]
    selectors: list[Selector]


def check(data: Data, old: Data | None = None, nodes: Mapping[str, Labels] | None = None) -> None:
    """SloConfigError for the first problem; PanicError where the webhook crashes.

    Keys that an update leaves alone are not checked. `nodes` are the labels of the nodes by name:
    only where a key has several groups are these looked at.
    """
    changed = [key for key in _KINDS if data.get(key) and data[key] != (old or {}).get(key)]
    refused: dict[str, SloConfigError] = {}
    read: list[_Checked] = []
    for key in changed:
        try:
            read.append(_read(key, data))
        except SloConfigError as error:
            refused[key] = error
    checked = {content.key: content for content in read}
    for key in changed:
        if key in refused:
            raise refused[key]
        _check_content(checked[key])
    for name, labels in (nodes or {}).items():
        for content in read:
            _check_node(content, name, labels)


def _json_error(key: str, reason: str, message: Any) -> SloConfigError:
    details = message if reason == _INVALID and isinstance(message, dict) else {}
    return SloConfigError(key, f"___{dump({'reason': reason, 'message': message})}___", details)


def _unmarshal(key: str, kind: _Kind, data: Data) -> Mapping[str, Any]:
    text = data.get(_SYSTEM if kind is _KINDS[_SYSTEM] else key, "")
    try:
        value: Mapping[str, Any] = unmarshal(text, kind.struct.as_type())
    except KubeletError as error:
        message = f"Failed to parse {kind.name} config in configmap {_MAP}, err: {error}"
        raise _json_error(key, "ParseConfigFail", message) from None
    return value


def _read(key: str, data: Data) -> _Checked:
    kind = _KINDS[key]
    value = _unmarshal(key, kind, data)
    system = _unmarshal(key, _KINDS[_SYSTEM], data) if key == _RESOURCE_QOS else {}
    if data[key].strip() == "null":
        raise PanicError(NIL_DEREFERENCE)
    names, selectors = [], []
    for group in value.get(kind.groups) or ():
        names.append(group.get("name", ""))
        selectors.append(_selector(key, names[-1], group.get("nodeSelector") or {}))
    return _Checked(key, value, system, names, selectors)


def _selector(key: str, name: str, given: Mapping[str, Any]) -> Selector:
    if not given.get("matchLabels") and not given.get("matchExpressions"):
        message = (
            "nodeConfigs NodeSelector must not empty error! configType:"
            f" {key},nodeConfig name:{name}"
        )
        raise _json_error(key, _INVALID, message)
    try:
        return read_selector(given)
    except KubeletError as error:
        what = f"failed to parse node selector {selector_text(given)}"
        message = f"{what},configType: {key},nodeConfig name:{name}, err: {error}"
        raise _json_error(key, _INVALID, message) from None


def _check_content(checked: _Checked) -> None:
    wrong = problems(_KINDS[checked.key].struct, checked.value)
    if wrong:
        texts = {path: wrong[path] for path in sorted(wrong)}
        raise _json_error(checked.key, _INVALID, texts)
    if checked.key == _RESOURCE_QOS:
        try:
            check_network(checked.value, checked.system)
        except KubeletError as error:
            raise SloConfigError(checked.key, str(error)) from None
    for selector in checked.selectors:
        for labels in selector.examples():
            both = overlapping(checked.names, checked.selectors, labels)
            if both:
                message = {"config": checked.key, "strategies": both}
                raise _json_error(checked.key, "NodeStrategiesOverlap", message)


def _check_node(checked: _Checked, name: str, labels: Labels) -> None:
    both = overlapping(checked.names, checked.selectors, labels) if len(checked.names) > 1 else []
    if both:
        message = {"config": checked.key, "strategies": both, "exampleNodes": [name]}
        raise _json_error(checked.key, "ExistNodeConfict", message)
