"""Which pools a node belongs to (pkg/helpers/helpers.go)."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from cpuplan.upstream.mco.errors import NodePoolError
from cpuplan.upstream.mco.fields import mapping, text, text_mapping
from cpuplan.upstream.mco.labels import read_selector

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
