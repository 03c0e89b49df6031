"""Label selectors of groups of nodes, and whether two groups share a node (selector.go)."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from cpuplan.upstream.kubelet.errors import AggregateError, KubeletError
from cpuplan.upstream.kubelet.go.text import quote
from cpuplan.upstream.kubelet.labels import Labels, Requirement

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
        problems = _problems(requirement)
        if problems:
            raise AggregateError(problems)
    return Selector(tuple(requirements), given)


def _problems(requirement: Requirement) -> list[str]:
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
