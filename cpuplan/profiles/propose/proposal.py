"""A must-gather and a request to an Intent: the pool, its nodes, their machine, the CPUs."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from cpuplan.base.text import counted, nearest
from cpuplan.diagnostics import Diagnostic, diagnose, errors
from cpuplan.fleet.cluster import ClusterNode
from cpuplan.importers.machine import Machine
from cpuplan.profiles.propose import alike, document
from cpuplan.profiles.propose.choice import Choice, Wanted, choose
from cpuplan.profiles.propose.dump import Dump
from cpuplan.profiles.propose.members import members, own_label, pool_names
from cpuplan.profiles.propose.request import Request
from cpuplan.upstream.kubelet.policy_options import DEFAULT_MAX_NUMA_NODES, MAX_NUMA_NODES


class Proposal(NamedTuple):
    """An Intent (None with errors), the layout in it, and remarks on both."""

    intent: dict[str, Any] | None
    choice: Choice | None = None
    comments: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


def propose(dump: Dump, request: Request) -> Proposal:
    """The Intent for a pool's nodes. The caller checks `request.contradiction` first."""
    problem = _unknown_pool(dump, request.pool)
    if problem:
        own = () if dump.is_empty else (problem,)
        return Proposal(None, None, (), tuple(dump.remarks), (*dump.diagnostics, *own))
    pool_members = members(dump, request.pool)
    remarks = [*dump.remarks, *pool_members.remarks]
    by_name = {node.name: dump.machine(node.name) for node in pool_members.nodes}
    machines = [(name, machine) for name, machine in by_name.items() if machine]
    problems = [
        *dump.diagnostics,
        *(problem for node in pool_members.nodes for problem in dump.problems(node.name)),
    ]
    if not pool_members.nodes:
        problems.append(diagnose("CP281", pool=request.pool, path=dump.path))
    if len(machines) < len(pool_members.nodes) or not pool_members.nodes:
        return Proposal(None, None, (), tuple(remarks), tuple(problems))
    problems += alike.check(request.pool, machines)
    problems += _check_label(dump, request.pool)
    choice = choose(machines[0][1], _wanted(request))
    if isinstance(choice, Diagnostic):
        problems.append(choice)
    if isinstance(choice, Diagnostic) or errors(problems):
        return Proposal(None, None, (), tuple(remarks), tuple(problems))
    if not (dump.release or request.release):
        remarks.append(
            f"the must-gather does not contain OpenShift's release: {dump.facts.version} is "
            "assumed (--release)"
        )
    remarks += _guesses(machines[0][1])
    remarks += alike.remarks(machines)
    remarks += _share_remarks(request, choice)
    comments = _comments(request, choice, machines[0][1], pool_members.nodes)
    intent = document.intent(
        dump, request, pool_members.nodes, [machine for _, machine in machines], choice
    )
    return Proposal(intent, choice, comments, tuple(remarks), tuple(problems))


def _wanted(request: Request) -> Wanted:
    # Sockets that sleep answer late: with ultra-low latency, CPUs of all sockets stay.
    save_power = request.power != "ultra-low-latency"
    return Wanted(
        request.reserved, request.offlined, request.split, request.disable_smt, save_power
    )


def _unknown_pool(dump: Dump, name: str) -> Diagnostic | None:
    known = pool_names(dump)
    if name in known:
        return None
    near = nearest(name, known)
    hint = f"did you mean {near!r}?" if near else f"there are {', '.join(known) or 'none'}"
    kind = "node pool" if dump.hosted else "pool"
    return diagnose("CP280", path=dump.path, kind=kind, pool=name, hint=hint)


def _check_label(dump: Dump, name: str) -> list[Diagnostic]:
    """CP284: a pool without a unique label, by which a profile outside hosted clusters finds it."""
    pool = next((known for known in dump.pools if known.name == name), None)
    if not pool or dump.hosted or own_label(pool, dump.pools):
        return []
    return [diagnose("CP284", pool=name)]


def _guesses(machine: Machine) -> Iterable[str]:
    """Facts on which the layout depends and that the snapshot does not contain."""
    if not machine.core_ids:
        yield "the snapshot does not contain cores: each CPU is treated as one"
    if machine.kubelet and machine.kubelet.no_numa_nodes:
        yield "the snapshot does not contain NUMA nodes: all CPUs are treated as node 0"


def _share_remarks(request: Request, choice: Choice) -> Iterable[str]:
    counts = {node: len(cpus) for node, cpus in choice.shares.items()}
    if request.split and len(set(counts.values())) > 1:
        shares = ", ".join(f"{count} on node {node}" for node, count in counts.items())
        yield (
            f"{request.reserved} reserved CPUs cannot be split evenly over the NUMA nodes in "
            f"whole cores: {shares}"
        )


def _comments(
    request: Request, choice: Choice, machine: Machine, nodes: tuple[ClusterNode, ...]
) -> tuple[str, ...]:
    """Why the CPUs are where they are: lines for the head of the document."""
    shares = "; ".join(f"NUMA node {node}: {cpus}" for node, cpus in choice.shares.items())
    how = "split over the NUMA nodes" if request.split else "from the lowest NUMA node on"
    lines = [
        f"Proposed for pool {request.pool} ({counted(len(nodes), 'node')} like {nodes[0].name})",
        f"reserved: {request.reserved} CPUs in whole cores, {how} ({shares})",
    ]
    if choice.offlined:
        sockets = (
            "" if request.power == "ultra-low-latency" else "sockets without reserved CPUs, then "
        )
        lines.append(
            f"offlined: {request.offlined} CPUs: {sockets}second threads of cores, then first ones"
        )
    nodes_count = len(machine.numa_nodes)
    if nodes_count > DEFAULT_MAX_NUMA_NODES:
        lines.append(
            f"{MAX_NUMA_NODES}: with {nodes_count} NUMA nodes, the kubelet does not start "
            "without it"
        )
    if request.disable_smt and len(machine.siblings) < len(machine.online):
        lines.append("nosmt leaves the first thread of each core: the others are in no pool")
    return tuple(lines)
