"""A must-gather and a request to an Intent, in order: the pool, its nodes, their machine, the CPUs,
the document.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from cpuplan.diagnostics import Diagnostic, diagnose, errors
from cpuplan.fleet.cluster import ClusterNode
from cpuplan.importers.machine import Machine
from cpuplan.kubelet.releases.policy_options import DEFAULT_MAX_NUMA_NODES, MAX_NUMA_NODES
from cpuplan.profiles.propose import alike, document
from cpuplan.profiles.propose.choice import Choice, Wanted, choose
from cpuplan.profiles.propose.dump import Dump
from cpuplan.profiles.propose.members import members, own_label, pool_names
from cpuplan.profiles.propose.request import Request
from cpuplan.text import counted, nearest


class Proposal(NamedTuple):
    """An Intent (None with errors), the layout in it, and what there is to say of both."""

    intent: dict[str, Any] | None
    choice: Choice | None = None
    comments: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


def propose(dump: Dump, request: Request) -> Proposal:
    """The Intent for a pool's nodes. Options that exclude each other are the caller's
    (`request.contradiction`).
    """
    if problem := _unknown_pool(dump, request.pool):
        return Proposal(
            None,
            None,
            (),
            tuple(dump.remarks),
            (*dump.diagnostics, *([] if dump.is_empty else [problem])),
        )
    pool_members = members(dump, request.pool)
    remarks = [*dump.remarks, *pool_members.remarks]
    machines = [
        (node.name, machine) for node in pool_members.nodes if (machine := dump.machine(node.name))
    ]
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
            f"the must-gather does not contain OpenShift's release: {dump.facts.version} is assumed (--release)"
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
    told = f"did you mean {near!r}?" if near else f"there are {', '.join(known) or 'none'}"
    return diagnose(
        "CP280", path=dump.path, kind="node pool" if dump.hosted else "pool", pool=name, hint=told
    )


def _check_label(dump: Dump, name: str) -> list[Diagnostic]:
    """On a hosted cluster the node pool refers to the profile; elsewhere a label of the pool finds
    it.
    """
    pool = next((known for known in dump.pools if known.name == name), None)
    return (
        [diagnose("CP284", pool=name)]
        if pool and not dump.hosted and not own_label(pool, dump.pools)
        else []
    )


def _guesses(machine: Machine) -> Iterable[str]:
    """What the layout depends on and the snapshot does not tell."""
    if not machine.core_ids:
        yield "the snapshot does not contain cores: each CPU is treated as one"
    if machine.kubelet and machine.kubelet.no_numa_nodes:
        yield "the snapshot does not contain NUMA nodes: all CPUs are treated as node 0"


def _share_remarks(request: Request, choice: Choice) -> Iterable[str]:
    counts = {node: len(cpus) for node, cpus in choice.shares.items()}
    if request.split and len(set(counts.values())) > 1:
        told = ", ".join(f"{count} on node {node}" for node, count in counts.items())
        yield f"{request.reserved} reserved CPUs cannot be split evenly over the NUMA nodes in whole cores: {told}"


def _comments(
    request: Request, choice: Choice, machine: Machine, nodes: tuple[ClusterNode, ...]
) -> tuple[str, ...]:
    """Why the CPUs are where they are: lines for the head of the document."""
    shares = "; ".join(f"NUMA node {node}: {cpus}" for node, cpus in choice.shares.items())
    how = "split over the NUMA nodes" if request.split else "from the lowest NUMA node on"
    told = [
        f"Proposed for pool {request.pool} ({counted(len(nodes), 'node')} like {nodes[0].name})",
        f"reserved: {request.reserved} CPUs in whole cores, {how} ({shares})",
    ]
    if choice.offlined:
        sockets = (
            "" if request.power == "ultra-low-latency" else "sockets without reserved CPUs, then "
        )
        told.append(
            f"offlined: {request.offlined} CPUs: {sockets}second threads of cores, then first ones"
        )
    if (nodes_count := len(machine.numa_nodes)) > DEFAULT_MAX_NUMA_NODES:
        told.append(
            f"{MAX_NUMA_NODES}: with {nodes_count} NUMA nodes, the kubelet does not start without it"
        )
    if request.disable_smt and len(machine.siblings) < len(machine.online):
        told.append("nosmt leaves the first thread of each core: the others are in no pool")
    return tuple(told)
