"""A must-gather and a request to an Intent: the pool, its nodes, their machine, the CPUs.

In the Intent, CPUs are listed, since their number was asked for and their place follows from it;
`isolated` is the rest.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from cpuplan import API_VERSION
from cpuplan.base.naming import fold_names
from cpuplan.base.text import counted, nearest
from cpuplan.diagnostics import Diagnostic, diagnose, errors
from cpuplan.facts.settings.kubelet import TOPOLOGY_MANAGER_OPTIONS, TOPOLOGY_MANAGER_POLICY
from cpuplan.fleet.openshift import ClusterNode, MachineConfigPool
from cpuplan.importers.base import Machine
from cpuplan.importers.objects import kept_labels
from cpuplan.language.model.vocabulary import NODE_ROLE
from cpuplan.profiles.propose import cluster
from cpuplan.profiles.propose.choice import Choice, Request, Wanted, choose
from cpuplan.profiles.propose.cluster import Dump, members, own_label, pool_names
from cpuplan.upstream.kubelet.policy_options import DEFAULT_MAX_NUMA_NODES, MAX_NUMA_NODES


def intent_document(
    dump: Dump,
    request: Request,
    nodes: Sequence[ClusterNode],
    machines: Sequence[Machine],
    choice: Choice,
) -> dict[str, Any]:
    """The document's data, keys in reading order; `machines` are those of `nodes`."""
    pool = next(
        (known for known in dump.pools if known.name == request.pool and not dump.hosted), None
    )
    hints = {
        "realTime": request.power != "default",
        "highPowerConsumption": request.power == "ultra-low-latency",
        "perPodPowerManagement": request.per_pod_power,
    }
    spec = {
        "selector": _selector(dump, request, pool, nodes),
        "targets": [
            _target(dump, request, pool, nodes, mixed=len(cluster.cpu_models(machines)) > 1)
        ],
        "pools": _pools(choice),
        "kubelet": _kubelet(request, machines[0]),
        "kernel": _kernel(request),
        "workloadHints": hints,
        "net": {"userLevelNetworking": True} if request.user_level_networking else {},
        "hardwareTuning": _frequencies(request),
    }
    kept = {key: value for key, value in spec.items() if value}
    name = request.name or request.pool
    return {"apiVersion": API_VERSION, "kind": "Intent", "metadata": {"name": name}, "spec": kept}


def _selector(
    dump: Dump, request: Request, pool: MachineConfigPool | None, nodes: Sequence[ClusterNode]
) -> dict[str, Any]:
    """The pool's labels if they fit its nodes and no others, else the names of the nodes.

    The labels of workers also fit the nodes of custom pools.
    """
    cluster = request.cluster or dump.name
    labels = dict(pool.match_labels) if pool and not pool.match_expressions else {}
    fitting = [
        node.name for node in dump.nodes if labels.items() <= kept_labels(node.labels).items()
    ]
    by_labels = bool(labels) and fitting == [node.name for node in nodes]
    chosen: dict[str, Any] = {"clusters": [cluster]} if cluster else {}
    chosen |= (
        {"matchLabels": labels} if by_labels else {"nodes": fold_names(node.name for node in nodes)}
    )
    return chosen


def _target(
    dump: Dump,
    request: Request,
    pool: MachineConfigPool | None,
    nodes: Sequence[ClusterNode],
    *,
    mixed: bool,
) -> dict[str, Any]:
    target: dict[str, Any] = {
        "platform": "openshift",
        "version": request.release or dump.facts.version,
        "mode": "performanceProfile",
        "pool": request.pool,
    }
    if mixed:
        target["mixedHardware"] = "common"
    # the operator of a hosted cluster wants a selector, and looks at the node pool alone
    if pool is None:
        return target | {
            "nodeSelector": {f"{NODE_ROLE}worker": ""},
            "controlPlaneTopology": "External",
        }
    selector = pool.match_labels or _fitting_label(pool, nodes)
    if selector:
        target["nodeSelector"] = dict(selector)
    return target | {"machineConfigPoolSelector": own_label(pool, dump.pools)}


def _fitting_label(pool: MachineConfigPool, nodes: Sequence[ClusterNode]) -> dict[str, str]:
    """A label of all nodes that the operator matches to a pool with expressions; roles first."""
    shared = set.intersection(*(set(node.labels.items()) for node in nodes))
    fitting = sorted(item for item in shared if pool.selects(dict([item])))
    return dict(sorted(fitting, key=lambda item: not item[0].startswith(NODE_ROLE))[:1])


def _pools(choice: Choice) -> dict[str, Any]:
    pools: dict[str, Any] = {"reserved": str(choice.reserved), "isolated": "rest"}
    if choice.offlined:
        pools["offlined"] = {"cpus": str(choice.offlined), "wholeCores": False}
    return pools


def _kubelet(request: Request, machine: Machine) -> dict[str, Any]:
    kubelet: dict[str, Any] = {TOPOLOGY_MANAGER_POLICY.key: request.topology_policy}
    # the kubelet does not start without the option
    count = len(machine.numa_nodes)
    if count > DEFAULT_MAX_NUMA_NODES:
        kubelet[TOPOLOGY_MANAGER_OPTIONS.head] = {MAX_NUMA_NODES: str(count)}
    return kubelet


def _kernel(request: Request) -> dict[str, Any]:
    kernel: dict[str, Any] = {"realTime": True} if request.real_time else {}
    return kernel | ({"extraArguments": ["nosmt"]} if request.disable_smt else {})


def _frequencies(request: Request) -> dict[str, int]:
    if request.frequencies is None:
        return {}
    isolated, reserved = request.frequencies
    return {"isolatedCpuFreq": isolated, "reservedCpuFreq": reserved}


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
    problems += cluster.check_equality(request.pool, machines)
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
    remarks += cluster.equality_remarks(machines)
    remarks += _share_remarks(request, choice)
    comments = _comments(request, choice, machines[0][1], pool_members.nodes)
    intent = intent_document(
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
