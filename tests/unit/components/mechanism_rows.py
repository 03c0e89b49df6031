"""Plans that are wrong in one way, for the checks of NRI, DRA and Koordinator (`test_checks`)."""

from typing import Any

from cpuplan.base.topology import Cpu, KubeletFacts, NumaNodeFacts, SharedCache, Topology
from tests.machines.plans import GIB, regular


def kubelet(**fields: Any) -> dict[str, Any]:
    return {"spec": {"kubelet": fields}}


def further(**fields: Any) -> dict[str, Any]:
    return kubelet(configuration=fields)


def cpu_options(*names: str, **fields: Any) -> dict[str, Any]:
    return kubelet(cpuManagerPolicyOptions=dict.fromkeys(names, "true"), **fields)


KUBERNETES = {"platform": "kubernetes", "version": "1.33"}
PLAIN = {**KUBERNETES, "isolated": "2-5"}
BALLOONS: dict[str, Any] = {
    "platform": "kubernetes",
    "version": "1.36",
    "target": {"mechanism": "balloons"},
}
DRA: dict[str, Any] = {
    "platform": "kubernetes",
    "version": "1.36",
    "target": {"mechanism": "dra", "dra": {"mode": "individual"}},
}
IN_GROUPS: dict[str, Any] = {**DRA, "target": {"mechanism": "dra"}}
ON_CONTAINERD: dict[str, Any] = {"runtime": "containerd"}


def koordinator(release: str = "1.8", **fields: Any) -> dict[str, Any]:
    """A plan with this section, for this release of Koordinator."""
    return {
        "platform": "kubernetes",
        "version": "1.35",
        "topology": regular(sockets=2, cores=4, threads=2),
        "reserved": "0,8",
        "target": {"mechanism": "koordinator", "koordinator": release},
        "spec": {"koordinator": fields} if fields else {},
    }


def workload(**fields: Any) -> dict[str, Any]:
    """The same with one workload."""
    return koordinator(
        workloads=[{"name": "web", "matchLabels": {"app": "web"}, "qosClass": "LSR", **fields}]
    )


OLD: dict[str, Any] = {"runtime": "containerd", "containerd": "1.6"}
SMT = regular(cores=4, threads=2)
WITHOUT_IDS = Topology(regular().cpus, kubelet=KubeletFacts((SharedCache(3, regular().online),)))


def renumbered(*numbers: int) -> Topology:
    """One CPU on each NUMA node, with these numbers."""
    return Topology(
        [Cpu(cpu, cpu, cpu, 0, node, cpu, 0) for cpu, node in enumerate(numbers)],
        [NumaNodeFacts(node, 64 * GIB) for node in numbers],
    )


def dra(**fields: Any) -> dict[str, Any]:
    """A target with these fields of the DRA CPU driver."""
    return {"target": {"mechanism": "dra", "dra": {"mode": "individual", **fields}}}


def claiming(cpus: int, **fields: Any) -> dict[str, Any]:
    """The same, with a workload that claims CPUs."""
    return {**dra(**fields), "spec": {"workloads": [{"name": "upf", "cpus": cpus}]}}


WITHOUT_NODES = Topology(regular().cpus, kubelet=KubeletFacts(no_numa_nodes=True))
UNREAD = Topology(regular().cpus, kubelet=KubeletFacts(unread_caches=regular().online))


#: A code, a plan, and values that are named.
ROWS: list[tuple[str, dict[str, Any], list[str]]] = [
    ("CP590", {**BALLOONS, **kubelet(cpuManagerPolicy="static")}, ["kubelet.cpuManagerPolicy"]),
    ("CP590", {"target": {"mechanism": "balloons"}}, ["targets.0.platform"]),
    ("CP590", {**BALLOONS, "shared": "2-3"}, ["pools.shared"]),
    ("CP590", {**BALLOONS, **kubelet(dynamicResourceAllocation=True)}, ["DRA driver"]),
    (
        "CP590",
        {
            **BALLOONS,
            "sets": {"bestEffort": "6-7", "other": "0-6"},
        },
        ["qos.bestEffort", "CPU 6 "],
    ),
    (
        "CP590",
        {
            **BALLOONS,
            "sets": {"bestEffort": "0-1", "other": "2-7"},
        },
        ["qos.bestEffort", "nothing of the set"],
    ),
    (
        "CP591",
        {**BALLOONS, "topology": SMT, "reserved": "0,4", "sets": {"isolated.odd": "5"}},
        ["isolated.odd", "CPU 1 ", "instead of 5"],
    ),
    ("CP592", {"sets": {"isolated.dpdk": "2-3"}}, ["isolated.dpdk"]),
    ("CP593", {**BALLOONS, "sets": {"isolated.dpdk": "2-7"}}, ["ran-server"]),
    ("CP579", {**BALLOONS, "version": "1.33"}, ["1.33", "1.34"]),
    ("CP5320", {**BALLOONS, "topology": WITHOUT_IDS, "architecture": "aarch64"}, ["without ids"]),
    ("CP5320", {**BALLOONS, "topology": UNREAD}, ["without ids"]),
    ("CP579", {**BALLOONS, "target": {**ON_CONTAINERD, "mechanism": "balloons"}}, ["2.0", "2.2"]),
    ("CP508", {"target": {"mechanism": "dra"}}, ["targets.0.platform"]),
    (
        "CP508",
        {**PLAIN, "target": {"dra": {"mode": "grouped"}}},
        ["mechanism kubelet", "targets.0.dra"],
    ),
    ("CP508", {**DRA, "version": "1.33"}, ["targets.0.version", "1.34"]),
    ("CP508", {**DRA, "shared": "2-3"}, ["pools.shared"]),
    ("CP508", {**DRA, **kubelet(cpuManagerPolicy="static")}, ["kubelet.cpuManagerPolicy"]),
    ("CP508", {**DRA, **kubelet(memoryManagerPolicy="Static")}, ["memoryManagerPolicy"]),
    ("CP508", {**DRA, **kubelet(topologyManagerPolicy="restricted")}, ["align: numaNode"]),
    ("CP508", {**DRA, **kubelet(dynamicResourceAllocation=True)}, ["leave it out"]),
    (
        "CP508",
        {**IN_GROUPS, **further(featureGates={"DRAConsumableCapacity": False})},
        ["featureGates.DRAConsumableCapacity"],
    ),
    ("CP508", {**DRA, "sets": {"bestEffort": "6-7"}}, ["qos.bestEffort"]),
    ("CP508", {**IN_GROUPS, "sets": {"isolated.dpdk": "4-5"}}, ["isolated.partitions.dpdk"]),
    ("CP508", {**DRA, "spec": {"isolation": {"domain": True}}}, ["isolation.domain", "2-7"]),
    ("CP508", {**DRA, **dra(accounting="mapping", release="0.3")}, ["1.37"]),
    ("CP508", {**DRA, **dra(align="cache", mode="grouped")}, ["align", "mode: individual"]),
    ("CP508", {**DRA, **dra(namespaces={"db": ["a"]})}, ["namespaces.db", "no partition db"]),
    (
        "CP534",
        {**IN_GROUPS, "topology": regular(sockets=2, cores=4)},
        ["core_id 0 is of several cores"],
    ),
    ("CP534", {**IN_GROUPS, "topology": SMT, "offlined": "7"}, ["unequal numbers"]),
    ("CP535", IN_GROUPS, ["ran-server", "run on all CPUs"]),
    ("CP535", {**DRA, **dra(release="0.3")}, ["no container without a claim starts"]),
    ("CP535", {**DRA, "sets": {"isolated.db": "2-7"}}, ["more CPUs than its partitions"]),
    ("CP555", {**DRA, "topology": SMT, "reserved": "0,4", "sets": {"isolated.db": "1"}}, ["db"]),
    ("CP555", {**DRA, "topology": SMT, "reserved": "0,4", **claiming(3)}, ["workload upf", "of 2"]),
    (
        "CP568",
        {**DRA, "topology": regular(sockets=2, cores=20), **claiming(33, align="numaNode")},
        ["2 claims of at most 32", "one NUMA node"],
    ),
    ("CP569", {**DRA, "topology": WITHOUT_NODES}, ["no NUMA nodes"]),
    ("CP578", {**IN_GROUPS, "version": "1.35"}, ["DRAConsumableCapacity=true"]),
    (
        "CP579",
        {**DRA, "target": {**ON_CONTAINERD, "mechanism": "dra"}},
        ["2.0", "2.2"],
    ),
    ("CP630", {"target": {"mechanism": "koordinator"}}, ["targets.0.platform"]),
    ("CP630", {**koordinator(), "shared": "1,9"}, ["pools.shared"]),
    ("CP630", {**koordinator(), "sets": {"isolated.dpdk": "4-5,12-13"}}, ["partitions.dpdk"]),
    ("CP630", {**koordinator(), "sets": {"bestEffort": "1-7,9-15"}}, ["qos.bestEffort"]),
    ("CP630", {**koordinator(), "sets": {"other": "1-7,9-15"}}, ["qos.other"]),
    (
        "CP630",
        {**koordinator(), **kubelet(dynamicResourceAllocation=True)},
        ["kubelet.dynamicResourceAllocation"],
    ),
    (
        "CP630",
        {**koordinator(), "spec": {"isolation": {"domain": True}}},
        ["isolation.domain", "load balancing"],
    ),
    ("CP630", koordinator(systemQos="isolated"), ["isolated is no partition of reserved"]),
    ("CP630", koordinator(systemQos="reserved.host"), ["no CPUs for reserved.host"]),
    ("CP631", koordinator(cpuBindPolicy="None"), ["koordinator.cpuBindPolicy: None"]),
    ("CP631", koordinator(numaAllocateStrategy="DistributeEvenly"), ["LeastAllocated"]),
    ("CP631", koordinator(numaTopologyPolicy="None"), ["panic"]),
    (
        "CP631",
        koordinator(scheduler={"scoringStrategy": {"type": "BalancedAllocation"}}),
        ["scoringStrategy.type", "does not start"],
    ),
    (
        "CP631",
        koordinator(
            scheduler={
                "numaScoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu"}]}
            }
        ),
        ["numaScoringStrategy.resources"],
    ),
    (
        "CP631",
        {**koordinator(), **kubelet(topologyManagerPolicy="best-effort")},
        ["kubelet.topologyManagerPolicy: best-effort"],
    ),
    (
        "CP631",
        {**koordinator(), **kubelet(topologyManagerPolicy="single-numa-node")},
        ["kubelet.topologyManagerPolicy: single-numa-node"],
    ),
    ("CP631", workload(requiredCPUBindPolicy="ConstrainedBurst"), ["ConstrainedBurst"]),
    ("CP631", workload(numaTopologyPolicy="None"), ["workloads.0.numaTopologyPolicy"]),
    (
        "CP631",
        workload(preferredCPUBindPolicy="FullPCPUs", preferredCPUExclusivePolicy="PCPULevel"),
        ["preferredCPUExclusivePolicy: PCPULevel"],
    ),
    ("CP632", koordinator("1.7", numaReservation=True), ["1.8", "1.7"]),
    ("CP632", koordinator("1.5", cpuAmplificationRatio="1.5"), ["1.6", "1.5"]),
    (
        "CP632",
        koordinator("1.3", scheduler={"numaScoringStrategy": {"type": "MostAllocated"}}),
        ["numaScoringStrategy", "1.4"],
    ),
    ("CP632", koordinator("proposal", cpuSuppressPolicy="cpuset"), ["1.2", "proposal"]),
    ("CP633", {**koordinator(), **kubelet(cpuManagerPolicy="static")}, ["static"]),
    (
        "CP634",
        {**koordinator(numaTopologyPolicy="Restricted"), "topology": SMT, "reserved": "0,4"},
        ["Restricted", "one NUMA node"],
    ),
    (
        "CP634",
        {**koordinator(cpuBindPolicy="SpreadByPCPUs"), "architecture": "aarch64"},
        ["SpreadByPCPUs", "on Arm", "FullPCPUs"],
    ),
    (
        "CP634",
        {**workload(preferredCPUExclusivePolicy="PCPULevel"), "architecture": "aarch64"},
        ["PCPULevel", "NUMANodeLevel"],
    ),
    ("CP635", workload(matchLabels={}), ["every pod of the cluster"]),
    ("CP635", workload(priorityClassName="koord-batch"), ["LSR", "koord-batch"]),
    ("CP635", workload(qosClass="LSE", priorityClassName="koord-batch"), ["gets no CPUs"]),
    ("CP635", workload(qosClass="BE", priorityClassName="koord-prod"), ["BE", "koord-prod"]),
    ("CP635", workload(cpus=3, requiredCPUBindPolicy="FullPCPUs"), ["3 CPUs", "2 threads"]),
    (
        "CP635",
        workload(qosClass="LS", preferredCPUBindPolicy="FullPCPUs"),
        ["preferredCPUBindPolicy", "LS"],
    ),
    (
        "CP636",
        {**koordinator(), "isolated": "1-7,9-14", "offlined": "15"},
        ["2 threads online and others 1", "CPU 7"],
    ),
    (
        "CP636",
        {**koordinator(numaTopologyPolicy="SingleNUMANode"), "topology": renumbered(0, 2, 4)},
        ["0, 2, 4"],
    ),
    ("CP6202", koordinator("1.2"), ["1.2", "twice"]),
    ("CP6200", koordinator("proposal", numaTopologyPolicy="BestEffort"), ["alignment-policy"]),
    (
        "CP528",
        {**koordinator(), "reserved": "", "target": {**OLD, "mechanism": "koordinator"}},
        ["koordlet", "10 s"],
    ),
    ("CP631", workload(qosClass="SYSTEM"), ["qosClass: SYSTEM", "systemQos"]),
    (
        "CP631",
        {
            **koordinator(),
            **cpu_options("distribute-cpus-across-numa", cpuManagerPolicy="static"),
        },
        ["distribute-cpus-across-numa", "numaAllocateStrategy"],
    ),
    ("CP6201", koordinator(cpuAmplificationRatio="2"), ["koordinator#2158"]),
    (
        "CP660",
        koordinator(
            cpuBindPolicy="FullPCPUsOnly",
            workloads=[{"name": "web", "matchLabels": {"app": "web"}, "qosClass": "LS"}],
        ),
        ["FullPCPUsOnly", "web"],
    ),
    ("CP639", {"spec": {"koordinator": {"systemQos": "reserved.a"}}}, ["mechanism kubelet"]),
]
