"""Simulated nodes for programs, and what the container runtime makes of admitted pods."""

from collections.abc import Iterable, Iterator
from typing import Any

from cpuplan.base.text import joined, listed
from cpuplan.simulate import fleet
from cpuplan.simulate.admission import Answer, Outcome
from cpuplan.simulate.allocators.base import GivenDevices, Left, Move, Placed
from cpuplan.simulate.fleet import Result, Simulated, full_name
from cpuplan.simulate.runtimes import Started
from cpuplan.upstream.crio.cgmgr import UNLIMITED
from cpuplan.upstream.crio.high_performance_hooks import Effects
from cpuplan.upstream.kubernetes.bits import to_text

#: Devices of a resource that are printed one by one.
_MOST_DEVICES = 16


def runtime_lines(outcomes: Iterable[Outcome]) -> Iterator[str]:
    """A line for each container that the runtime treats in a special way."""
    for outcome in outcomes:
        for container in outcome.containers:
            parts = list(_parts(container))
            if parts:
                yield f"{full_name(outcome.pod)} {container.name}: {'; '.join(parts)}"


def device_lines(outcomes: Iterable[Outcome]) -> Iterator[str]:
    """The devices of each container, and of whom nobody knows which ones it gets."""
    for outcome in outcomes:
        for container in outcome.containers:
            who = f"{full_name(outcome.pod)} {container.name}"
            yield from (f"{who}: {_device_text(given)}" for given in container.devices)
        if outcome.undetermined and not outcome.refused:
            names = joined(outcome.undetermined)
            yield (
                f"{full_name(outcome.pod)} may get other devices of {names}, near other NUMA "
                "nodes: the kubelet takes them in no order, so this is one of several outcomes"
            )


def _device_text(given: GivenDevices) -> str:
    near = f"NUMA node {','.join(map(str, given.numa_nodes))}" if given.numa_nodes else "no node"
    return f"{given.resource} {listed(given.ids, _MOST_DEVICES)} ({near})"


def _parts(container: Placed) -> Iterator[str]:
    started = container.started
    if started.problem:
        yield f"does not start: {started.problem}"
        return
    if started.managed_shares is not None:
        yield f"pinned by workload partitioning, with {started.managed_shares} CPU shares"
    if started.cpus and started.cpus != container.cpus:
        yield f"cpuset {to_text(started.cpus)}"
    if started.env:
        yield f"environment {' '.join(started.env)}"
    has_own = container.is_exclusive or started.managed_shares is not None
    if has_own and started.quota != UNLIMITED:
        yield f"quota {started.quota} µs"
    if started.outer_quota != UNLIMITED:
        yield f"throttled by a quota of {started.outer_quota} µs around it"
    yield from _effects(started.effects)
    yield from started.outside


def _effects(effects: Effects) -> Iterator[str]:
    if effects.without_load_balancing:
        yield f"no load balancing on CPUs {to_text(effects.without_load_balancing)}"
    if effects.without_interrupts:
        yield f"no interrupts on CPUs {to_text(effects.without_interrupts)}"
    if effects.is_quota_off:
        yield "no quota (cpu-quota.crio.io)"
    if effects.resume_latency:
        yield f"pm_qos_resume_latency_us {effects.resume_latency}"
    if effects.governor:
        yield f"governor {effects.governor}"
    if effects.exec_cpu is not None:
        yield f"exec probes start on CPU {effects.exec_cpu}"


def runtime_data(started: Started) -> dict[str, Any]:
    """The same for programs; -1 stands for no quota."""
    managed = {} if started.managed_shares is None else {"managedShares": started.managed_shares}
    return managed | {
        "cpuset": to_text(started.cpus),
        "cpusetEffective": to_text(started.effective),
        "cpusetAfterUpdate": started.updated,
        "env": list(started.env),
        "quota": started.quota,
        "outerQuota": started.outer_quota,
        "effects": list(_effects(started.effects)),
        "problems": [text for text in (started.problem, *started.outside) if text],
        "pod": started.cgroup._asdict(),
    }


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
    nodes = (
        result.nodes if one_by_one else fleet.groups_of_nodes(result.nodes, across_classes=False)
    )
    refused = (
        list(map(fleet.Refused, result.nowhere)) if one_by_one else fleet.refused_workloads(result)
    )
    return {
        "version": 1,
        "policy": policy,
        "nodes": [_node_data(node) for node in nodes],
        "refused": list(map(_nowhere_data, refused)),
        "orders": [_order_data(name, answer) for name, answer in answers],
        "complete": result.is_complete,
    }


def _nowhere_data(refused: fleet.Refused) -> dict[str, Any]:
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
        "depends": answer.depends,
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
            {"pod": departure.uid, "moves": list(map(_move_data, departure.moves))}
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
                "devices": list(map(_device_data, container.devices)),
                "runtime": runtime_data(container.started),
            }
            for container in outcome.containers
        ],
        "refused": outcome.refused and outcome.refused._asdict(),
        "moves": [_move_data(move) for move in outcome.moves],
        "exact": outcome.is_exact,
        "undetermined": list(outcome.undetermined),
    }


def _device_data(given: GivenDevices) -> dict[str, Any]:
    return {
        "resource": given.resource,
        "ids": list(given.ids),
        "numaNodes": list(given.numa_nodes),
    }


def _move_data(move: Move) -> dict[str, Any]:
    return {
        "pod": move.pod,
        "container": move.container,
        "old": to_text(move.old),
        "new": to_text(move.new),
        "exclusive": move.is_exclusive,
    }
