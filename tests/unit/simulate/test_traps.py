"""What goes wrong on planned nodes, and that nothing is told of those where nothing does."""

from typing import Any

import pytest

from cpuplan.base.cpuset import CpuSet
from cpuplan.base.topology import Cpu, KubeletFacts, NumaNodeFacts, Topology
from cpuplan.simulate import startup
from cpuplan.simulate.files.kubelet_configuration import field_of
from tests.machines.plans import GIB, no_position, plan, regular

SMT = regular(sockets=2, cores=4, threads=2)
KUBERNETES: dict[str, Any] = {"platform": "kubernetes", "version": "1.36"}


def kubelet(**fields: Any) -> dict[str, Any]:
    return {"spec": {"kubelet": fields}, **KUBERNETES}


def options(*names: str, **fields: Any) -> dict[str, Any]:
    return kubelet(cpuManagerPolicyOptions=dict.fromkeys(names, "true"), **fields)


def hybrid(performance: int, efficient: int) -> Topology:
    """Cores with two threads, then cores with one."""
    threads = [core for core in range(performance) for _ in range(2)]
    cores = [*threads, *range(performance, performance + efficient)]
    first = {core: cores.index(core) for core in cores}
    return Topology(
        [Cpu(cpu, first[core], 0, 0, 0, 0, core) for cpu, core in enumerate(cores)],
        [NumaNodeFacts(0, 64 * GIB)],
    )


BOTH = ("distribute-cpus-across-numa", "full-pcpus-only")
#: A node with half a core reserved on each of four NUMA nodes.
ODD = {"topology": regular(sockets=4, cores=4, threads=2), "reserved": "0,4,8,12"}
UNEVEN = {"topology": SMT, "reserved": "4,12", **KUBERNETES}

ROWS: list[tuple[str, dict[str, Any], str]] = [
    (
        "CP701",
        kubelet(systemReserved={"memory": "100Gi"}, memoryManagerPolicy="None"),
        "but capacity of 64Gi",
    ),
    (
        "CP702",
        kubelet(configuration={"featureGates": {"MemoryManager": True}}),
        "unrecognized feature gate: MemoryMan",
    ),
    (
        "CP702",
        kubelet(configuration={"featureGates": {"CPUManager": False}}),
        "unrecognized feature gate: CPUManager",
    ),
    ("CP703", kubelet(configuration={"cpuCFSQuotaPeriod": "2s"}), "must be between 1ms and 1sec"),
    (
        "CP703",
        kubelet(configuration={"shutdownGracePeriod": "500ms"}),
        "must be either zero or otherwise >= 1 sec",
    ),
    (
        "CP704",
        {"topology": hybrid(4, 4), **KUBERNETES},
        "after one of 5, gets CPUs that another one has",
    ),
    (
        "CP704",
        {"topology": hybrid(4, 4), "reserved": "0", **KUBERNETES},
        "gets CPUs that are reserved, such as 0",
    ),
    ("CP704", {**UNEVEN, "offlined": "1-2,9-10"}, "gets CPUs that"),
    ("CP705", {**ODD, **options(*BOTH)}, "22 CPUs"),
    ("CP706", {"topology": regular(sockets=5, cores=2), **options(BOTH[0])}, "which has 5"),
]


@pytest.mark.parametrize(
    ("code", "given", "words"), ROWS, ids=[f"{row[0]}-{index}" for index, row in enumerate(ROWS)]
)
def test_traps(code: str, given: dict[str, Any], words: str) -> None:
    given = dict(given)
    made = plan(given.pop("topology", None), **given)
    problems = startup.check(made, no_position)
    assert [problem.code for problem in problems] == [code]
    assert words in problems[0].message


def workloads(*sizes: tuple[int, int], **fields: Any) -> dict[str, Any]:
    """(CPUs, pods) on two NUMA nodes of eight CPUs with a core of each reserved."""
    given = [{"name": f"w{cpus}", "cpus": cpus, "pods": pods} for cpus, pods in sizes]
    spec = {"workloads": given, "kubelet": {"memoryManagerPolicy": "None", **fields}}
    return {"topology": SMT, "reserved": "0,4,8,12", "spec": spec, **KUBERNETES}


SINGLE = {
    "topologyManagerPolicy": "single-numa-node",
    "cpuManagerPolicyOptions": {"full-pcpus-only": "false"},
}
WHOLE = {"cpuManagerPolicyOptions": {"full-pcpus-only": "true"}}

WORKLOADS: list[tuple[dict[str, Any], list[str]]] = [
    (workloads((4, 2), (2, 2)), ["CP7648"]),
    (workloads((4, 3)), ["CP7648"]),
    (workloads((4, 3), **SINGLE), ["CP712"]),
    (workloads((6, 2), **SINGLE), ["CP7648"]),
    (workloads((4, 2), (2, 1), (1, 2), **SINGLE), ["CP7648", "CP713"]),
    (workloads((3, 1), **WHOLE), ["CP712"]),
    (workloads((8, 1), **WHOLE), ["CP708"]),
    (workloads((4, 1), (2, 1), **WHOLE), []),
    ({**workloads((8, 1), **WHOLE), "platform": "openshift", "version": "4.20"}, []),
    (workloads((4, 3), cpuManagerPolicy="none"), []),
]


@pytest.mark.parametrize(("given", "codes"), WORKLOADS, ids=range(len(WORKLOADS)))
def test_workloads_are_admitted(given: dict[str, Any], codes: list[str]) -> None:
    given = dict(given)
    made = plan(given.pop("topology"), **given)
    assert [problem.code for problem in startup.check(made, no_position)] == codes


FINE: list[dict[str, Any]] = [
    {},
    {"topology": SMT, "reserved": "0,8", **options("full-pcpus-only")},
    {"topology": SMT, "reserved": "0,8", **options(*BOTH)},
    {"topology": regular(sockets=4, cores=4), **options("distribute-cpus-across-numa")},
    {"topology": SMT, "reserved": "0,8", "offlined": "1,5,9,13", **KUBERNETES},
    {"topology": SMT, "reserved": "0,8", **options("align-by-socket", "strict-cpu-reservation")},
    kubelet(
        topologyManagerPolicy="single-numa-node",
        cpuManagerPolicyOptions={"full-pcpus-only": "true"},
    ),
    kubelet(cpuManagerPolicy="none"),
    kubelet(topologyManagerPolicy="restricted"),
    kubelet(dynamicResourceAllocation=True),
    {"topology": hybrid(4, 4), **kubelet(cpuManagerPolicy="none")},
    {
        "topology": regular(sockets=12, cores=1),
        **kubelet(topologyManagerPolicyOptions={"max-allowable-numa-nodes": "12"}),
    },
    {
        "topology": regular(sockets=16, cores=2, threads=2),
        "offlined": "63",
        **kubelet(
            topologyManagerPolicy="restricted",
            topologyManagerPolicyOptions={"max-allowable-numa-nodes": "16"},
        ),
    },
    {"topology": regular(memory=None), **kubelet(topologyManagerPolicy="restricted")},
]


@pytest.mark.parametrize("given", FINE, ids=range(len(FINE)))
def test_nothing_is_told_where_nothing_goes_wrong(given: dict[str, Any]) -> None:
    given = dict(given)
    assert startup.check(plan(given.pop("topology", None), **given), no_position) == []


def test_reserved_cpus_that_the_kubelet_does_not_see() -> None:
    topology = Topology(
        SMT.cpus, SMT.numa_facts.values(), kubelet=KubeletFacts(unlabelled=CpuSet.parse("0"))
    )
    made = plan(topology, reserved="0,8", **KUBERNETES)
    (problem,) = startup.check(made, no_position)
    assert "reserved-cpus: 0,8 is not a subset of online-cpus: 1-15" in problem.message


@pytest.mark.parametrize(
    ("text", "config", "field"),
    [
        (
            "cpuCFSQuotaPeriod (--cpu-cfs-quota-period) {2s}",
            {"cpuCFSQuotaPeriod": "2s"},
            ("cpuCFSQuotaPeriod",),
        ),
        ("unrecognized feature gate: A", {"featureGates": {"A": True}}, ("featureGates", "A")),
        (
            'option "pods" of enforceNodeAllocatable',
            {"enforceNodeAllocatable": []},
            ("enforceNodeAllocatable",),
        ),
        (
            "tracing.endpoint: Invalid value",
            {"tracing": {"endpoint": "x"}},
            ("tracing", "endpoint"),
        ),
        ('the limit type "cpu" for NUMA node 0', {"reservedMemory": []}, ("reservedMemory",)),
        ("invalid taint: { }", {"registerWithTaints": []}, ("registerWithTaints",)),
        ("nothing that is known", {"maxPods": 3}, ()),
    ],
)
def test_a_text_names_its_field(text: str, config: dict[str, Any], field: tuple[str, ...]) -> None:
    assert field_of(text, config) == field


def _pod(*containers: dict[str, Any], init: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    named = [{"name": f"c{index}", **given} for index, given in enumerate(containers)]
    first = [{"name": f"i{index}", **given} for index, given in enumerate(init)]
    return {"kind": "Pod", "spec": {"initContainers": first, "containers": named}}


def _wants(cpus: int, memory: str = "1Gi") -> dict[str, Any]:
    return {"resources": {"limits": {"cpu": cpus, "memory": memory}}}


@pytest.mark.parametrize(
    ("workload", "codes"),
    [
        ({"manifest": _pod(_wants(3), _wants(3))}, []),
        ({"manifest": _pod(_wants(6), init=(_wants(6),))}, []),  # one after the other
        ({"manifest": _pod(_wants(3), _wants(3)), "pods": 2, "per": "numaNode"}, ["CP712"]),
        ({"manifest": _pod(_wants(3), _wants(3)), "per": "numaNode"}, ["CP7648"]),
        ({"manifest": _pod(_wants(1, "9999Gi"))}, ["CP712"]),  # CPUs are not all it needs
        ({"manifest": _pod({**_wants(1), "name": "gpu"}), "pods": 12}, ["CP7648"]),
    ],
)
def test_manifests_of_intents_are_admitted(workload: dict[str, Any], codes: list[str]) -> None:
    """One container after the other, as the kubelet does; sums alone would find room."""
    spec = {
        "workloads": [{"name": "du", **workload}],
        "kubelet": {"memoryManagerPolicy": "None", **SINGLE, "topologyManagerScope": "pod"},
    }
    node = plan(topology=SMT, reserved="0,8,4,12", **{"spec": spec, **KUBERNETES})
    assert [problem.code for problem in startup.check(node, no_position)] == codes
