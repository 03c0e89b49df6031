"""Label selectors (apimachinery, pkg/apis/meta/v1/helpers.go and pkg/labels/selector.go).

Upstream: openshift/machine-config-operator pkg/helpers/helpers.go
  vendor/k8s.io/apimachinery/pkg/apis/meta/v1/helpers.go
  vendor/k8s.io/apimachinery/pkg/labels/selector.go @ 7ff337a4ffac8e7562692181178ede61e4b2eec5
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from cpuplan.upstream.kubernetes.labels import Labels, Requirement
from cpuplan.upstream.mco.common import (
    McoError,
    NodePoolError,
    as_mapping,
    mapping,
    mappings,
    text,
    text_mapping,
    texts,
)

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


Object: TypeAlias = Mapping[str, Any]

MASTER, WORKER = "master", "worker"
_OS_LABEL = "kubernetes.io/os"


class Membership(NamedTuple):
    """The pools of a node; the first decides everything that the node gets.

    A node without pools is not managed. `is_custom_role_ignored`: the node is also in a custom
    pool, and gets nothing of it.
    """

    pools: tuple[Object, ...] = ()
    is_custom_role_ignored: bool = False


def name_of(item: Object) -> str:
    """The name of an object."""
    return text(mapping(item, "metadata"), "name")


def labels_of(item: Object) -> Mapping[str, str]:
    """The labels of an object."""
    return text_mapping(mapping(item, "metadata"), "labels")


def pools_for_node(node: Object, pools: Sequence[Object]) -> Membership:
    """master before custom before worker; NodePoolError for two custom pools on one node.

    Every pool that is named neither master nor worker is custom. McoError for a selector that
    cannot be evaluated: one breaks the answer for every node.
    """
    master, worker, custom = _selecting(node, pools)
    if len(custom) > 1:
        names = tuple(map(name_of, custom))
        raise NodePoolError(
            "the node belongs to several custom pools", node=name_of(node), pools=names
        )
    if not custom:
        return Membership((master or worker)[:1])
    return Membership((*(master or custom), *worker), bool(master))


def _selecting(
    node: Object, pools: Sequence[Object]
) -> tuple[tuple[Object, ...], tuple[Object, ...], tuple[Object, ...]]:
    """The master, worker and custom pools that select a node; none of a node with Windows."""
    labels = labels_of(node)
    if labels.get(_OS_LABEL) == "windows":
        return (), (), ()
    selected = tuple(pool for pool in pools if _selects(pool, labels))
    master = tuple(pool for pool in selected if name_of(pool) == MASTER)
    worker = tuple(pool for pool in selected if name_of(pool) == WORKER)
    custom = tuple(pool for pool in selected if name_of(pool) not in (MASTER, WORKER))
    return master, worker, custom


def _selects(pool: Object, labels: Mapping[str, str]) -> bool:
    """An empty node selector selects nothing, unlike elsewhere in Kubernetes."""
    selector = read_selector(mapping(pool, "spec").get("nodeSelector"))
    return not selector.is_empty and selector.matches(labels)
