"""Simulated nodes for programs."""

from collections.abc import Iterable
from typing import Any

from cpuplan.render.simulation import runtime
from cpuplan.simulate import alike
from cpuplan.simulate.admission import Outcome
from cpuplan.simulate.allocators.base import Left, Move
from cpuplan.simulate.fleet import Result, Simulated
from cpuplan.simulate.names import full_name
from cpuplan.simulate.orders import Answer
from cpuplan.upstream.kubernetes.bits import to_text


def to_data(
    result: Result,
    answers: Iterable[tuple[str, Answer]] = (),
    *,
    policy: str = "kubelet",
    one_by_one: bool = False,
) -> dict[str, Any]:
    """The document that docs/simulate.md describes; keys are only ever added while `version` is 1.

    Nodes of a class that come out alike are together, with the pods of the first one, and so are
    pods of a workload that every node refuses; not `one_by_one`.
    """
    nodes = result.nodes if one_by_one else alike.alike(result.nodes, across_classes=False)
    refused = list(map(alike.Refused, result.nowhere)) if one_by_one else alike.refused(result)
    return {
        "version": 1,
        "policy": policy,
        "nodes": [_node_data(node) for node in nodes],
        "refused": list(map(_nowhere_data, refused)),
        "orders": [_order_data(name, answer) for name, answer in answers],
        "complete": result.is_complete,
    }


def _nowhere_data(refused: alike.Refused) -> dict[str, Any]:
    """A pod as on the last node, and the refusals by the last node of each class."""
    pod = refused.first
    refusals = [
        {"node": node, **outcome.refused._asdict()}
        for node, outcome in pod.refusals
        if outcome.refused
    ]
    return {
        **_pod_data(pod.outcome),
        "node": pod.node,
        "count": refused.number,
        "refusals": refusals,
    }


def _order_data(name: str, answer: Answer) -> dict[str, Any]:
    return {
        "class": name,
        "proven": answer.is_proven,
        "failing": [full_name(pod) for pod in answer.failing],
        "refused": answer.refused and answer.refused._asdict(),
        "tried": answer.tried,
        "moments": answer.moments,
        "works": answer.works,
        "orders": answer.orders,
    }


def _node_data(node: Simulated) -> dict[str, Any]:
    remainder = node.outcome.remainder
    return {
        "nodes": list(node.nodes),
        "count": len(node.nodes),
        "class": node.plan.node_class.name,
        "cluster": node.plan.node_class.cluster,
        "pods": [_pod_data(outcome) for outcome in node.outcome.outcomes],
        "ended": [
            {"pod": departure.uid, "moves": [_move_data(move) for move in departure.moves]}
            for departure in node.outcome.departures
        ],
        "sharedPool": to_text(remainder.shared_pool),
        "left": remainder.left and _left_data(remainder.left),
    }


def _left_data(left: Left) -> dict[str, Any]:
    return {
        "cpus": to_text(left.cpus),
        "largest": left.largest,
        "because": left.because,
        "numaNodes": [
            {"numaNode": number, "cpus": to_text(cpus), "largest": largest}
            for number, (cpus, largest) in left.by_numa_node.items()
        ],
    }


def _pod_data(outcome: Outcome) -> dict[str, Any]:
    return {
        "pod": full_name(outcome.pod),
        "qos": outcome.qos,
        "containers": [
            {
                "name": container.name,
                "cpus": to_text(container.cpus),
                "exclusive": container.is_exclusive,
                "memoryNodes": list(container.numa_nodes),
                "runtime": runtime.to_data(container.started),
            }
            for container in outcome.containers
        ],
        "refused": outcome.refused and outcome.refused._asdict(),
        "moves": [_move_data(move) for move in outcome.moves],
        "exact": outcome.is_exact,
    }


def _move_data(move: Move) -> dict[str, Any]:
    return {
        "pod": move.pod,
        "container": move.container,
        "old": to_text(move.old),
        "new": to_text(move.new),
        "exclusive": move.is_exclusive,
    }
