"""The Intent of a proposal: the profile creator's answer, field by field.

CPUs are listed, since their number was asked for and their place follows from it; `isolated` is the
rest.
"""

from collections.abc import Sequence
from typing import Any

from cpuplan import API_VERSION
from cpuplan.base.name_ranges import fold_names
from cpuplan.fleet.cluster import ClusterNode, MachineConfigPool
from cpuplan.importers.machine import Machine
from cpuplan.importers.objects.node_object import kept_labels
from cpuplan.language.model.roles import NODE_ROLE
from cpuplan.profiles.propose import alike
from cpuplan.profiles.propose.choice import Choice
from cpuplan.profiles.propose.dump import Dump
from cpuplan.profiles.propose.members import own_label
from cpuplan.profiles.propose.request import Request
from cpuplan.upstream.kubelet.policy_options import DEFAULT_MAX_NUMA_NODES, MAX_NUMA_NODES


def intent(
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
        "targets": [_target(dump, request, pool, nodes, mixed=len(alike.models(machines)) > 1)],
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
    kubelet: dict[str, Any] = {"topologyManagerPolicy": request.topology_policy}
    # the kubelet does not start without the option
    count = len(machine.numa_nodes)
    if count > DEFAULT_MAX_NUMA_NODES:
        kubelet["topologyManagerPolicyOptions"] = {MAX_NUMA_NODES: str(count)}
    return kubelet


def _kernel(request: Request) -> dict[str, Any]:
    kernel: dict[str, Any] = {"realTime": True} if request.real_time else {}
    return kernel | ({"extraArguments": ["nosmt"]} if request.disable_smt else {})


def _frequencies(request: Request) -> dict[str, int]:
    if request.frequencies is None:
        return {}
    isolated, reserved = request.frequencies
    return {"isolatedCpuFreq": isolated, "reservedCpuFreq": reserved}
