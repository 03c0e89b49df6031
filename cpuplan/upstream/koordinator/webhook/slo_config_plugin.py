"""Whether the webhook admits the ConfigMap slo-controller-config.

Upstream: koordinator-sh/koordinator pkg/webhook/cm/plugins/sloconfig/slo_config_plugin.go
  pkg/webhook/cm/plugins/sloconfig/checker.go pkg/webhook/cm/plugins/sloconfig/checkers.go
  pkg/webhook/cm/plugins/sloconfig/resource_qos_checker.go
  pkg/webhook/cm/plugins/sloconfig/selector.go pkg/webhook/cm/plugins/sloconfig/result.go
  @ 989ca85c62abcca92b303aa12fd2ccff2ed30fed
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from cpuplan.upstream.koordinator.webhook import slo_controller_config
from cpuplan.upstream.koordinator.webhook.slo_controller_config import (
    CLASSES,
    NETWORK_FIELDS,
    Struct,
    problems,
)
from cpuplan.upstream.kubernetes import quantity
from cpuplan.upstream.kubernetes.errors import (
    NIL_DEREFERENCE,
    AggregateError,
    KubeletError,
    PanicError,
)
from cpuplan.upstream.kubernetes.json import dump
from cpuplan.upstream.kubernetes.labels import Labels, Requirement
from cpuplan.upstream.kubernetes.quantity import ZERO, Quantity
from cpuplan.upstream.kubernetes.strconv import quote
from cpuplan.upstream.kubernetes.unmarshal import unmarshal

Json = Mapping[str, Any]
_REQUESTS = ("ingressRequest", "egressRequest")


def check_network(config: Json, system: Json) -> None:
    """CheckNetQosCfg; KubeletError with its text."""
    cluster, nodes = config.get("clusterStrategy"), config.get("nodeStrategies") or []
    strategies = [] if cluster is None else [("ClusterStrategy", cluster)]
    strategies += [(f"nodeStrategy.{index}", node) for index, node in enumerate(nodes)]
    for where, strategy in strategies:
        _check_values(f"ResourceQOSCfg.{where}", strategy)
    _check_one_format(cluster, nodes)
    _check_percentages(cluster, nodes)
    _check_quantities(cluster, nodes, system)


def _of_classes(strategy: Json) -> Iterator[tuple[str, Json]]:
    for name, key in CLASSES:
        section = (strategy.get(key) or {}).get("networkQOS")
        if section is not None:
            yield name, section


def _check_values(where: str, strategy: Json) -> None:
    for name, section in _of_classes(strategy):
        for go, key in NETWORK_FIELDS:
            problem = _value_problem(section.get(key))
            if problem:
                raise KubeletError(f"{where}.{name}.{go}: Invalid value: {problem}")


def _value_problem(value: int | str | None) -> str:
    if isinstance(value, str):
        try:
            quantity.parse(value)
        except KubeletError as error:
            return f"{quote(value)}: {error}"
    elif value is not None and not 0 <= value <= 100:
        return f"{value}: must be percentage value just in 0-100'"
    return ""


def _check_one_format(cluster: Json | None, nodes: list[Json]) -> None:
    rule = "only one type can be used for percentages or quantity in"
    if cluster is not None and _is_mixed(cluster):
        raise KubeletError(f"{rule} clusterStrategy")
    for index, node in enumerate(nodes):
        if _is_mixed(node):
            raise KubeletError(f"{rule} nodeStrategy[{index}]")


def _is_mixed(strategy: Json) -> bool:
    values = (section.get(key) for _, section in _of_classes(strategy) for key in _REQUESTS)
    return len({type(value) for value in values if value is not None}) > 1


def _check_percentages(cluster: Json | None, nodes: list[Json]) -> None:
    rule = "total net bandwidth percentage already over 100"
    if cluster is not None and _is_over(cluster, 100):
        raise KubeletError(f"ClusterStrategy {rule}")
    for index, node in enumerate(nodes):
        if _is_over(node, 100):
            raise KubeletError(f"cfg.NodeStrategies[{index}] {rule}")


def _is_over(strategy: Json, total: int) -> bool:
    """Whether the requests of a direction are more; percentages and quantities are added alike."""
    for key in _REQUESTS:
        left = total
        for _, section in _of_classes(strategy):
            value = section.get(key, 0)
            left -= quantity.parse(value).value if isinstance(value, str) else value
        if left < 0:
            return True
    return False


def _check_quantities(cluster: Json | None, nodes: list[Json], system: Json) -> None:
    of_cluster = system.get("clusterStrategy")
    if cluster is not None and of_cluster is not None:
        total: Quantity = of_cluster.get("totalNetworkBandwidth", ZERO)
        if _is_over(cluster, total.value):
            raise KubeletError(
                "total net bandwidth over total network bandwidth in clusterStrategy"
            )
    for index, node in enumerate(nodes):
        if _is_over(node, _bandwidth(node, system).value):
            raise KubeletError(
                "total net bandwidth quantity already over total network bandwidth in"
                f" cfg.NodeStrategies[{index}]"
            )


def _bandwidth(node: Json, system: Json) -> Quantity:
    """What a group of nodes has: of the group with the same selector, else nothing."""
    groups, cluster = system.get("nodeStrategies") or [], system.get("clusterStrategy")
    bandwidth: Quantity = ZERO
    if not groups and cluster is not None:
        bandwidth = cluster.get("totalNetworkBandwidth", ZERO)
    for group in groups:
        if group.get("nodeSelector") == node.get("nodeSelector"):
            if not group.keys() - {"name", "nodeSelector"}:
                raise PanicError(NIL_DEREFERENCE)
            return group.get("totalNetworkBandwidth", ZERO)  # type: ignore[no-any-return]
    return bandwidth


_NAME = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]\Z")
_DOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\Z")
_NAME_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an"
    " alphanumeric character (e.g. {})"
)
_KEY_RULE = _NAME_RULE.format(
    "'MyName',  or 'my.name',  or '123-abc', regex used for validation is"
    " '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'"
)
_VALUE_RULE = "a valid label must be an empty string or consist of" + _NAME_RULE.removeprefix(
    "must consist of"
).format(
    "'MyValue',  or 'my_value',  or '12345', regex used for validation is"
    " '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?'"
)
_DOMAIN_RULE = (
    "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric"
    " characters, '-' or '.', and must start and end with an alphanumeric character (e.g."
    " 'example.com', regex used for validation is"
    r" '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_OPERATORS = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}


class Selector(NamedTuple):
    """All conditions must hold."""

    requirements: tuple[Requirement, ...]
    given: Mapping[str, Any]

    def matches(self, labels: Labels) -> bool:
        return all(requirement.matches(labels) for requirement in self.requirements)

    def examples(self) -> list[Labels]:
        """Nodes that stand for all that are selected: not every combination of values.

        A value that NotIn excludes is an example too.
        """
        expressions = [row for row in self.given.get("matchExpressions") or () if row.get("values")]
        count = 1
        for row in expressions:
            count *= len(row["values"])
        nodes: list[dict[str, str]] = []
        for index in range(count):
            labels = dict(self.given.get("matchLabels") or {})
            for row in expressions:
                labels[row.get("key", "")] = row["values"][index % len(row["values"])]
            nodes.append(labels)
        return list(nodes)


def read_selector(given: Mapping[str, Any]) -> Selector:
    """LabelSelectorAsSelector; KubeletError with its text."""
    labels = given.get("matchLabels") or {}
    requirements = [Requirement(key, "In", (value,)) for key, value in labels.items()]
    for row in given.get("matchExpressions") or ():
        operator = row.get("operator", "")
        if operator not in _OPERATORS:
            raise KubeletError(f"{quote(operator)} is not a valid label selector operator")
        requirements.append(
            Requirement(row.get("key", ""), operator, tuple(row.get("values") or ()))
        )
    for requirement in requirements:
        problems = _requirement_problems(requirement)
        if problems:
            raise AggregateError(problems)
    return Selector(tuple(requirements), given)


def _requirement_problems(requirement: Requirement) -> list[str]:
    key, operator, values = requirement
    problems = [f"key: Invalid value: {quote(key)}: {rule}" for rule in _key_problems(key)]
    shown = f"[]string{{{', '.join(map(quote, values))}}}"
    if operator in ("In", "NotIn") and not values:
        rule = "for 'in', 'notin' operators, values set can't be empty"
        problems.append(f"values: Invalid value: {shown}: {rule}")
    if operator in ("Exists", "DoesNotExist") and values:
        rule = "values set must be empty for exists and does not exist"
        problems.append(f"values: Invalid value: {shown}: {rule}")
    for index, value in enumerate(values):
        rule = _label_problem(value)
        if rule:
            problems.append(f"values[{index}][{key}]: Invalid value: {quote(value)}: {rule}")
    return problems


def _key_problems(key: str) -> list[str]:
    prefix, slash, name = key.rpartition("/")
    problems = []
    if slash and not prefix:
        problems.append("prefix part must be non-empty")
    elif slash and not _DOMAIN.match(prefix):
        problems.append(_DOMAIN_RULE)
    if not name:
        problems.append("name part must be non-empty")
    elif len(name) > 63:
        problems.append("name part must be no more than 63 bytes")
    if not _NAME.match(name):
        problems.append(f"name part {_KEY_RULE}")
    return problems


def _label_problem(value: str) -> str:
    if len(value) > 63:
        return "must be no more than 63 bytes"
    return "" if not value or _NAME.match(value) else _VALUE_RULE


def selector_text(given: Mapping[str, Any]) -> str:
    """LabelSelector.String, as `%v` prints it."""
    labels = given.get("matchLabels") or {}
    shown = "".join(f"{key}: {labels[key]}," for key in sorted(labels))
    rows = "".join(
        "LabelSelectorRequirement{"
        f"Key:{row.get('key', '')},Operator:{row.get('operator', '')},"
        f"Values:[{' '.join(row.get('values') or ())}],}},"
        for row in given.get("matchExpressions") or ()
    )
    expressions = f"[]LabelSelectorRequirement{{{rows}}}"
    match_labels = f"map[string]string{{{shown}}}"
    return f"&LabelSelector{{MatchLabels:{match_labels},MatchExpressions:{expressions},}}"


def overlapping(names: Sequence[str], selectors: Sequence[Selector], labels: Labels) -> list[str]:
    """The groups that a node with these labels is in, if they are several."""
    groups = [
        name for name, selector in zip(names, selectors, strict=True) if selector.matches(labels)
    ]
    return groups if len(groups) > 1 else []


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
    "colocation-config": _Kind(slo_controller_config.COLOCATION, "nodeConfigs", "colocation"),
    "resource-threshold-config": _Kind(
        slo_controller_config.RESOURCE_THRESHOLD, "nodeStrategies", "resourceThreshold"
    ),
    _RESOURCE_QOS: _Kind(
        slo_controller_config.RESOURCE_QOS_CONFIG, "nodeStrategies", "ResourceQOS"
    ),
    _SYSTEM: _Kind(slo_controller_config.SYSTEM, "nodeStrategies", "System"),
    "cpu-burst-config": _Kind(slo_controller_config.CPU_BURST, "nodeStrategies", "CpuBurst"),
}


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
