"""Whether an empty node leaves pods a CPU, by what the settings of the kubelet add up to."""

import random
from typing import Any

import pytest

from cpuplan.backends import configure
from cpuplan.base.topology import Topology
from cpuplan.components import kubelet
from cpuplan.diagnostics import CpuplanError, Diagnostic
from cpuplan.plan import NodeClass, NodePlan
from cpuplan.simulate import startup
from cpuplan.solve.solver import solve
from tests.machines.plans import class_of, no_position, regular

STRICT = {"cpuManagerPolicyOptions": {"strict-cpu-reservation": "true"}}


def made(topology: Topology, spec: dict[str, Any], **target: str) -> NodeClass:
    """A class on Kubernetes with this intent."""
    targets = [{"platform": "kubernetes", "version": "1.34", "runtime": "crio", **target}]
    facts = {"hardware": "server", "nodes": ("w0",), "architecture": "x86_64"}
    return class_of(topology, "ran", {"targets": targets, **spec}, **facts)


def findings(plan: NodePlan) -> list[Diagnostic]:
    return startup.check(configure(plan), no_position)


def _random_spec(chance: random.Random, threads: int) -> dict[str, Any]:
    """Pools that often leave nothing."""
    size = chance.choice(["cores", "count"])
    unit = threads if size == "count" else 1
    pools: dict[str, Any] = {"reserved": {size: unit * chance.randint(1, 4)}}
    if chance.random() < 0.4:
        pools["shared"] = chance.choice(["rest", {size: unit}, {"max": 2 * threads}])
    if chance.random() < 0.3:
        pools["isolcpus"] = {size: unit}
    if chance.random() < 0.2:
        pools["offlined"] = {"cores": 1}
    sizes = [{size: unit * chance.randint(0, 3)}, {"max": 4 * threads}]
    isolated = chance.choice(sizes if pools.get("shared") == "rest" else [*sizes, "rest", None])
    if isolated:
        pools["isolated"] = isolated
    spec: dict[str, Any] = {"pools": pools}
    if chance.random() < 0.5:
        spec["kubelet"] = STRICT
    if chance.random() < 0.3:
        spec["runtime"] = {"mixedCpus": False} if "shared" in pools else {}
    if chance.random() < 0.2:
        spec["rules"] = [{"disable": "isolated-not-empty", "because": "-"}]
    return spec


@pytest.mark.parametrize("seed", range(40))
def test_a_pod_fits_or_a_finding_says_why_not(seed: int) -> None:
    """The kubelet offers pods what is online and not in `reservedSystemCPUs`.

    (pkg/kubelet/cm/node_container_manager_linux.go, GetNodeAllocatableAbsolute.)
    """
    chance = random.Random(seed)  # noqa: S311
    threads = chance.choice([1, 2])
    topology = regular(cores=chance.randint(2, 6), threads=threads)
    node = made(topology, _random_spec(chance, threads))
    try:
        plan = solve(node, no_position)
    except CpuplanError as error:
        codes = {problem.code for problem in error.diagnostics}
    else:
        codes = set()
    if codes:
        assert codes <= {"CP401", "CP402"}
        return
    offline = plan.pool("offlined").cpus
    offered = topology.online - offline - kubelet.reserved_cpus(plan)
    codes = {problem.code for problem in findings(plan)}
    assert ("CP7645" in codes) == (not offered)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40, 200))
def test_a_pod_fits_or_a_finding_says_why_not_at_length(seed: int) -> None:
    test_a_pod_fits_or_a_finding_says_why_not(seed)


def test_the_remedy_leaves_pods_a_cpu() -> None:
    """Two cores, of which one must stay: not the number that just fits."""
    for cores in (2, 3):
        spec = {"pools": {"reserved": {"cores": cores}, "isolated": "rest"}}
        with pytest.raises(CpuplanError) as caught:
            solve(made(regular(cores=2), spec), no_position)
        assert caught.value.diagnostics[0].remedy.startswith("lower reserved.cores to 1")


def test_workloads_that_fill_a_node() -> None:
    """A pod of a DaemonSet beside them would be refused, or one of them."""
    spec = {
        "pools": {"reserved": {"cores": 2}, "isolated": "rest"},
        "workloads": [{"name": "upf", "cpus": 2, "pods": 3}],
    }
    node = made(regular(), spec)
    assert {"CP7648"} <= {problem.code for problem in findings(solve(node, no_position))}
    smaller = {**spec, "workloads": [{"name": "upf", "cpus": 2, "pods": 2}]}
    free = findings(solve(made(regular(), smaller), no_position))
    assert "CP7648" not in {problem.code for problem in free}


@pytest.mark.parametrize(
    ("count", "policy", "code"), [(1, "true", True), (2, "true", False), (1, "false", False)]
)
def test_no_whole_core_for_a_container(count: int, policy: str, code: bool) -> None:
    """Half a core is nothing to `full-pcpus-only`."""
    spec = {
        "pools": {"reserved": "rest", "isolated": {"count": count, "wholeCores": False}},
        "kubelet": {"cpuManagerPolicyOptions": {"full-pcpus-only": policy}},
    }
    node = made(regular(threads=2), spec)
    codes = {problem.code for problem in findings(solve(node, no_position))}
    assert ("CP7646" in codes) is code


def test_an_empty_rest() -> None:
    """Pools and partitions that are to take what is left, and get nothing."""
    half = {"cores": 4}
    pools: dict[str, Any] = {"reserved": half, "shared": "rest", "isolated": half}
    shared = findings(solve(made(regular(), {"pools": pools}), no_position))
    assert [problem.message for problem in shared if problem.code == "CP7647"] == [
        "shared takes the rest, of which class ran-server leaves no CPU"
    ]
    parts = {"a": {"cores": 4}, "b": "rest"}
    pools = {"reserved": half, "isolated": {"cores": 4, "partitions": parts}}
    divided = findings(solve(made(regular(), {"pools": pools}), no_position))
    assert "isolated.b" in next(problem.message for problem in divided if problem.code == "CP7647")
