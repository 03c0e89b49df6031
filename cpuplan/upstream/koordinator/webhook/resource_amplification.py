"""Amplification of nodes.

Upstream: koordinator-sh/koordinator
  pkg/webhook/node/plugins/resourceamplification/resource_amplification.go
  @ 989ca85c62abcca92b303aa12fd2ccff2ed30fed
"""

from typing import NamedTuple

from cpuplan.upstream.koordinator.extension.constants import AMPLIFICATION_RATIO, RAW_ALLOCATABLE
from cpuplan.upstream.koordinator.extension.node import of_milli, read_ratios, read_raw_allocatable
from cpuplan.upstream.koordinator.util import Annotations, texts_of
from cpuplan.upstream.kubernetes.json import dump
from cpuplan.upstream.kubernetes.pod import CPU, MEMORY, Resources
from cpuplan.upstream.kubernetes.quantity import Quantity

_SUPPORTED = (CPU, MEMORY)


class Node(NamedTuple):
    """What the webhook reads and changes of a node."""

    annotations: Annotations
    allocatable: Resources | None


def amplify(node: Node, old: Node | None) -> Node:
    """The node as an update leaves it; KubeletError with the webhook's text.

    What the kubelet reports is kept in an annotation, and multiplied from there. The annotation
    follows a change of what is reported, and goes with the ratio.
    """
    annotations = dict(node.annotations)
    if not annotations.get(AMPLIFICATION_RATIO):
        annotations.pop(RAW_ALLOCATABLE, None)
        return node._replace(annotations=annotations)
    if node.allocatable is None:
        return node
    raw: Resources | None = _supported(node.allocatable)
    if RAW_ALLOCATABLE in annotations and not _is_changed(node, old):
        raw = read_raw_allocatable(annotations)
        if raw is None:
            return node
    elif raw:
        annotations[RAW_ALLOCATABLE] = dump(texts_of(raw))
    ratios = read_ratios(annotations) or {}
    allocatable = dict(node.allocatable)
    for name in _SUPPORTED:
        if ratios.get(name, 0) > 1 and raw and name in raw:
            allocatable[name] = _multiplied(raw[name], ratios[name])
    return Node(annotations, allocatable)


def _supported(allocatable: Resources) -> Resources:
    return {name: allocatable[name] for name in _SUPPORTED if name in allocatable}


def _is_changed(node: Node, old: Node | None) -> bool:
    if old is None:
        return False
    before, after = _supported(old.allocatable or {}), _supported(node.allocatable or {})
    return {name: amount.nano for name, amount in before.items()} != {
        name: amount.nano for name, amount in after.items()
    }


def _multiplied(amount: Quantity, ratio: float) -> Quantity:
    """Thousandths times the ratio, cut off: memory loses its power of two."""
    return of_milli(int(float(amount.milli) * ratio), amount.format)
