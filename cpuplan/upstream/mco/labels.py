"""Label selectors (apimachinery, pkg/apis/meta/v1/helpers.go and pkg/labels/selector.go)."""

import re
from typing import Any, NamedTuple

from cpuplan.upstream.kubelet.labels import Labels, Requirement
from cpuplan.upstream.mco.errors import McoError
from cpuplan.upstream.mco.fields import as_mapping, mappings, text, text_mapping, texts

_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_DOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


class Selector(NamedTuple):
    """All requirements must be met; `selects_nothing` is that of a selector that is absent."""

    requirements: tuple[Requirement, ...] = ()
    selects_nothing: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether nothing is required: in Kubernetes this selects everything."""
        return not self.requirements and not self.selects_nothing

    def matches(self, labels: Labels) -> bool:
        """Whether an object with these labels is selected."""
        if self.selects_nothing:
            return False
        return all(requirement.matches(labels) for requirement in self.requirements)


def read_selector(value: Any) -> Selector:
    """The selector of a field; McoError for one that Kubernetes cannot evaluate."""
    if value is None:
        return Selector(selects_nothing=True)
    selector = as_mapping(value, "selector")
    requirements = []
    for key, label in text_mapping(selector, "matchLabels").items():
        requirements.append(_requirement(key, "In", (label,)))
    for expression in mappings(selector, "matchExpressions"):
        key, operator = text(expression, "key"), text(expression, "operator")
        requirements.append(_requirement(key, operator, texts(expression, "values")))
    return Selector(tuple(requirements))


def _requirement(key: str, operator: str, values: tuple[str, ...]) -> Requirement:
    if operator not in _OPERATORS:
        raise McoError("not a label selector operator", key=key, operator=operator)
    if operator in ("In", "NotIn") and not values:
        raise McoError("a selector with In or NotIn needs values", key=key, operator=operator)
    if operator in ("Exists", "DoesNotExist") and values:
        raise McoError("a selector with Exists takes no values", key=key, operator=operator)
    if not _is_key(key):
        raise McoError("not a label key", key=key)
    for value in values:
        if value and not _is_name(value):
            raise McoError("not a label value", key=key, value=value)
    return Requirement(key, operator, values)


def _is_key(key: str) -> bool:
    prefix, slash, name = key.rpartition("/")
    if slash and (len(prefix) > 253 or not _DOMAIN.fullmatch(prefix)):
        return False
    return _is_name(name)


def _is_name(name: str) -> bool:
    return len(name) <= 63 and _NAME.fullmatch(name) is not None
