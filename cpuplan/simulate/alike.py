"""Groups of nodes with the same result, and of pods with the same refusal."""

import re
from collections.abc import Hashable, Iterable
from typing import NamedTuple

from cpuplan.simulate.admission import Outcome
from cpuplan.simulate.fleet import Nowhere, Result, Simulated
from cpuplan.upstream.kubernetes.pod import Pod

#: What distinguishes the pods of one workload.
_ORDINAL = re.compile(r"-\d+\Z")


class Refused(NamedTuple):
    """Pods of one workload that no node admits: the first one, and how many there are."""

    first: Nowhere
    number: int = 1


def alike(nodes: Iterable[Simulated], *, across_classes: bool) -> tuple[Simulated, ...]:
    """Groups of nodes that have as many pods of the same workloads on the same CPUs.

    The pods of a group are those of its first node.

    `across_classes` takes nodes of several classes together, named with their cluster where it
    differs.
    """
    groups: dict[Hashable, list[Simulated]] = {}
    for node in nodes:
        of = node.plan.node_class
        own = None if across_classes else of.key
        groups.setdefault((own, _form(node)), []).append(node)
    return tuple(map(_together, groups.values()))


def _together(group: list[Simulated]) -> Simulated:
    first, *others = group
    if not others:
        return first
    several = len({node.plan.node_class.cluster for node in group}) > 1
    names = (
        f"{node.plan.node_class.cluster}/{name}" if several else name
        for node in group
        for name in node.nodes
    )
    return first._replace(nodes=tuple(names))


def _form(node: Simulated) -> Hashable:
    """The printed facts of a node, without its name and the numbers of its pods."""
    remainder = node.outcome.remainder
    again = tuple((pod and workload(pod), refused) for pod, refused in remainder.after_restart)
    cpu = remainder.overlap and remainder.overlap.cpu
    return (
        *map(_outcome, node.outcome.outcomes),
        repr(remainder.left),
        remainder.shared_pool,
        again,
        cpu,
        tuple(code for code, _ in remainder.findings),
    )


def _outcome(outcome: Outcome) -> Hashable:
    moves = tuple((move.container, move.old, move.new) for move in outcome.moves)
    return (
        workload(outcome.pod),
        outcome.qos,
        outcome.containers,
        outcome.refused,
        moves,
        outcome.is_exact,
    )


def workload(pod: Pod) -> tuple[str, str]:
    """Namespace and name of the owner of a pod, as far as its name shows it."""
    return pod.namespace, _ORDINAL.sub("", pod.name)


def refused(result: Result) -> list[Refused]:
    """The pods that no node admits, those of one workload with the same reasons together."""
    groups: dict[Hashable, Refused] = {}
    for pod in result.nowhere:
        key = tuple((node, _outcome(outcome)) for node, outcome in pod.refusals)
        known = groups.get(key)
        groups[key] = known._replace(number=known.number + 1) if known else Refused(pod)
    return list(groups.values())
