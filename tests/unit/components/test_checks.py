"""What is refused or warned of.

Each row has a plan that is wrong in one way, its code, and values that are named.
"""

from typing import Any

import pytest

from cpuplan.base.cpuset import CpuSet
from cpuplan.base.topology import Cpu, KubeletFacts, NumaNodeFacts, SharedCache, Topology
from cpuplan.components import checks
from cpuplan.diagnostics import Diagnostic, Severity
from cpuplan.diagnostics.source import Position
from cpuplan.facts import platforms
from tests.machines.plans import GIB, no_position, plan, regular


def kubelet(**fields: Any) -> dict[str, Any]:
    return {"spec": {"kubelet": fields}}


def further(**fields: Any) -> dict[str, Any]:
    return kubelet(configuration=fields)


def cpu_options(*names: str, **fields: Any) -> dict[str, Any]:
    return kubelet(cpuManagerPolicyOptions=dict.fromkeys(names, "true"), **fields)


def kernel(*arguments: str, **spec: Any) -> dict[str, Any]:
    return {"spec": {"kernel": {"extraArguments": list(arguments)}, **spec}}


def huge(*pages: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"spec": {"hugePages": {"pages": list(pages), **fields}}}


def by_profile(version: str, **spec: Any) -> dict[str, Any]:
    return {"version": version, "target": {"mode": "performanceProfile"}, "spec": spec}


PERIOD = {"evictionSoftGracePeriod": {"pid.available": "1m30s"}}
FREQUENCIES = {"isolatedCpuFreq": 2500000, "reservedCpuFreq": 2800000}
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
    ("CP594", {**BALLOONS, "version": "1.33"}, ["1.33", "1.34"]),
    ("CP594", {**BALLOONS, "topology": WITHOUT_IDS, "architecture": "aarch64"}, ["without ids"]),
    ("CP594", {**BALLOONS, "topology": UNREAD}, ["without ids"]),
    ("CP594", {**BALLOONS, "target": {**ON_CONTAINERD, "mechanism": "balloons"}}, ["2.0", "2.2"]),
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
    ("CP527", {**PLAIN, "target": ON_CONTAINERD, "shared": "6-7"}, ["pools.shared"]),
    (
        "CP527",
        {**PLAIN, "target": ON_CONTAINERD, "spec": {"runtime": {"execCpuAffinity": "first"}}},
        ["runtime.execCpuAffinity"],
    ),
    (
        "CP527",
        {**BALLOONS, "target": {**OLD, "mechanism": "balloons"}},
        ["targets.0.mechanism", "1.6 has no NRI"],
    ),
    (
        "CP527",
        {**PLAIN, "target": OLD, **kubelet(dynamicResourceAllocation=True)},
        ["1.6 has no CDI"],
    ),
    ("CP528", {**PLAIN, "target": ON_CONTAINERD}, ["pause containers"]),
    (
        "CP529",
        {**PLAIN, "target": OLD, "spec": {"runtime": {"handler": "rt"}}},
        ["runtime_type", "io.containerd.grpc.v1.cri"],
    ),
    (
        "CP586",
        {**PLAIN, "target": ON_CONTAINERD, "spec": {"runtime": {"handler": "rt"}}},
        ["/etc/containerd/conf.d/99-cpuplan.toml"],
    ),
    (
        "CP587",
        {**PLAIN, "spec": {"runtime": {"handler": "crun"}}},
        ["crun is a handler of CRI-O itself"],
    ),
    ("CP501", {"version": "4.13"}, ["openshift 4.13", "4.14", "5.1"]),
    ("CP501", {"platform": "kubernetes", "version": "1.26"}, ["kubernetes 1.26"]),
    (
        "CP502",
        {"platform": "kubernetes", "version": "1.27"},
        ["1.27", "/etc/kubernetes/kubelet.conf.d/90-cpuplan.conf"],
    ),
    ("CP503", cpu_options("full-cpus-only"), ["full-cpus-only", "full-pcpus-only"]),
    (
        "CP503",
        kubelet(topologyManagerPolicyOptions={"full-pcpus-only": "true"}),
        ["topologyManagerPolicyOptions"],
    ),
    ("CP504", {"version": "4.18", **cpu_options("strict-cpu-reservation")}, ["1.32", "1.31"]),
    (
        "CP504",
        {
            **KUBERNETES,
            "version": "1.30",
            **kubelet(topologyManagerPolicyOptions={"max-allowable-numa-nodes": "9"}),
        },
        ["1.31"],
    ),
    ("CP505", {**KUBERNETES, **cpu_options("align-by-socket")}, ["CPUManagerPolicyAlphaOptions"]),
    (
        "CP505",
        {
            "version": "4.14",
            **kubelet(topologyManagerPolicyOptions={"prefer-closest-numa-nodes": "true"}),
        },
        ["TopologyManagerPolicyAlphaOptions"],
    ),
    ("CP506", kubelet(cpuManagerPolicyOptions={"full-pcpus-only": "yes"}), ["'yes'"]),
    (
        "CP506",
        kubelet(topologyManagerPolicyOptions={"max-allowable-numa-nodes": "7"}),
        ["from 8 up"],
    ),
    ("CP507", cpu_options("full-pcpus-only", cpuManagerPolicy="none"), ["full-pcpus-only"]),
    (
        "CP507",
        {**DRA, **cpu_options("full-pcpus-only")},
        ["full-pcpus-only"],
    ),
    ("CP507", cpu_options("full-pcpus-only", dynamicResourceAllocation=True), ["full-pcpus-only"]),
    (
        "CP509",
        {
            **KUBERNETES,
            "version": "1.34",
            **cpu_options("prefer-align-cpus-by-uncorecache", "distribute-cpus-across-numa"),
        },
        ["distribute-cpus-across-numa"],
    ),
    (
        "CP509",
        {**KUBERNETES, **cpu_options("align-by-socket", topologyManagerPolicy="single-numa-node")},
        ["single-numa-node"],
    ),
    (
        "CP510",
        {
            **KUBERNETES,
            "topology": Topology([cpu._replace(numa_node=0) for cpu in regular(sockets=2).cpus]),
            **cpu_options("align-by-socket"),
        },
        ["1 in 2 sockets"],
    ),
    ("CP511", {"version": "4.20", **cpu_options("strict-cpu-reservation")}, ["state"]),
    (
        "CP512",
        {"topology": regular(sockets=9, cores=2)},
        ["9 NUMA nodes", "the limit of the topology manager is 8", "9 or more, or"],
    ),
    (
        "CP512",
        {"topology": regular(sockets=20, cores=2)},
        ["20 NUMA nodes", "the limit of the topology manager is 8"],
    ),
    (
        "CP5150",
        {
            "topology": regular(sockets=32, cores=2),
            **kubelet(topologyManagerPolicyOptions={"max-allowable-numa-nodes": "32"}),
        },
        ["2^32 sets of the 32 NUMA nodes", "CPU manager"],
    ),
    (
        "CP5151",
        {
            "topology": regular(sockets=20, cores=2),
            **kubelet(topologyManagerPolicyOptions={"max-allowable-numa-nodes": "20"}),
        },
        ["2^20 sets of the 20 NUMA nodes", "CPU manager"],
    ),
    (
        "CP513",
        {
            "topology": renumbered(0, 2, 3),
            **kubelet(topologyManagerPolicyOptions={"prefer-closest-numa-nodes": "true"}),
        },
        ["0, 2, 3"],
    ),
    ("CP514", kubelet(kubeReserved={"memory": "1.5.0Gi"}), ["kubeReserved.memory", "'1.5.0Gi'"]),
    ("CP514", kubelet(systemReserved={"pid": "-1"}), ["systemReserved.pid"]),
    (
        "CP514",
        kubelet(evictionHard={"memory.available": "lots"}),
        ["evictionHard.memory.available"],
    ),
    (
        "CP514",
        kubelet(evictionHard={"nodefs.available": "150%"}),
        ["evictionHard.nodefs.available"],
    ),
    ("CP514", kubelet(evictionHard={"nodefs.available": "0"}), ["evictionHard.nodefs.available"]),
    (
        "CP514",
        further(evictionSoft={"pid.available": "x"}, **PERIOD),
        ["evictionSoft.pid.available", "'x'"],
    ),
    (
        "CP514",
        further(evictionSoftGracePeriod={"memory.available": "90"}),
        ["evictionSoftGracePeriod.memory.available"],
    ),
    ("CP514", further(evictionSoftGracePeriod={"memory.available": "-5s"}), ["'-5s'"]),
    (
        "CP514",
        further(evictionMinimumReclaim={"memory.available": "0%"}),
        ["evictionMinimumReclaim.memory.available"],
    ),
    ("CP515", kubelet(evictionHard={"memory.avail": "1Gi"}), ["evictionHard", "'memory.avail'"]),
    (
        "CP515",
        further(evictionMinimumReclaim={"disk": "1Gi"}),
        ["evictionMinimumReclaim", "'disk'"],
    ),
    (
        "CP559",
        {
            "topology": regular(sockets=2, cores=4),
            "spec": {
                "kubelet": {
                    "topologyManagerPolicy": "restricted",
                    "reservedMemory": [
                        {"numaNode": 0, "memory": "100Mi"},
                        {"numaNode": 1, "memory": "1000Mi"},
                    ],
                },
                "hugePages": {"pages": [{"size": "1G", "count": 64, "numaNode": 1}]},
            },
        },
        ["1000Mi", "NUMA node 1", "0 next to"],
    ),
    ("CP558", further(evictionSoft={"memory.available": "1Gi"}), ["memory.available"]),
    (
        "CP516",
        kubelet(topologyManagerPolicy="restricted", evictionHard={"memory.available": "5%"}),
        ["memory.available is 5%"],
    ),
    (
        "CP517",
        kubelet(
            topologyManagerPolicy="restricted", reservedMemory=[{"numaNode": 0, "memory": "1000Mi"}]
        ),
        ["1000Mi in total", "1100Mi in total"],
    ),
    (
        "CP518",
        {"topology": regular(memory=GIB), **kubelet(topologyManagerPolicy="restricted")},
        ["76Mi of the 1100Mi"],
    ),
    ("CP519", kubelet(reservedMemory=[{"numaNode": 0, "memory": "1100Mi"}]), ["no effect"]),
    ("CP520", kernel("nohz_full=1-7"), ["nohz_full=1-7", "nohz_full=2-7"]),
    ("CP520", kernel("isolcpus=2-7"), ["isolcpus=managed_irq,2-7"]),
    ("CP520", kernel("irqaffinity=0"), ["no irqaffinity="]),
    ("CP520", kernel("rcu-nocbs=0"), ["rcu_nocbs=2-7"]),
    ("CP521", kernel("rcupdate.rcu_normal_after_boot=0"), ["rcupdate.rcu_normal_after_boot=1"]),
    ("CP521", kernel("loglevel=3", "loglevel=4"), ["loglevel=4 replaces loglevel=3"]),
    ("CP522", kernel("hugepagesz=1G", hugePages={"defaultSize": "1G"}), ["hugepagesz=1G"]),
    ("CP522", kernel("hugepages=4", hugePages={"defaultSize": "1G"}), ["hugepages=4"]),
    (
        "CP522",
        kernel("default_hugepagesz=2M", hugePages={"pages": [{"size": "1G", "count": 1}]}),
        ["default_hugepagesz=2M"],
    ),
    ("CP523", {"topology": SMT, **kernel("nosmt")}, ["nosmt", "4-7"]),
    ("CP523", kernel("maxcpus=6"), ["6-7"]),
    ("CP523", kernel("nr_cpus=4"), ["4-7"]),
    ("CP523", kernel("nr_cpus=1"), ["1-7"]),
    ("CP523", kernel("maxcpus=0"), ["1-7"]),
    (
        "CP524",
        {"spec": {"workloadHints": {"highPowerConsumption": True, "perPodPowerManagement": True}}},
        ["workloadHints.perPodPowerManagement true"],
    ),
    (
        "CP524",
        {"spec": {"workloadHints": {"realTime": False}, "kernel": {"realTime": True}}},
        ["workloadHints.realTime false"],
    ),
    ("CP524", {"spec": {"kernel": {"pageSize": "64k"}}}, ["architecture x86_64"]),
    (
        "CP524",
        {"architecture": "aarch64", "spec": {"kernel": {"pageSize": "64k", "realTime": True}}},
        ["kernel.realTime true"],
    ),
    (
        "CP525",
        {
            "topology": regular(cores=1024),
            "reserved": ",".join(str(cpu) for cpu in range(0, 1024, 2)),
        },
        ["the limit is 1792"],
    ),
    ("CP526", {"isolcpus": "6-7"}, ["CPUs 6-7 are"]),
    ("CP526", {**PLAIN, "isolcpus": "7", **kubelet(cpuManagerPolicy="none")}, ["CPU 7 is"]),
    ("CP530", {"spec": {"runtime": {"mixedCpus": True}}}, ["no shared CPUs"]),
    ("CP531", {"version": "4.15", "shared": "2-3"}, ["CRI-O 1.29", "openshift 4.15"]),
    ("CP532", {"topology": renumbered(0, 2, 3)}, ["0, 2, 3"]),
    ("CP533", {"shared": "2-3", **kubelet(dynamicResourceAllocation=True)}, ["DRA"]),
    ("CP540", huge({"size": "32M", "count": 1}), ["32M on x86_64", "2M, 1G"]),
    ("CP540", huge(defaultSize="64k"), ["64k"]),
    (
        "CP541",
        huge(
            {"size": "1G", "count": 1, "numaNode": 0}, {"size": "1024M", "count": 1, "numaNode": 0}
        ),
        ["1024M for NUMA node 0"],
    ),
    ("CP542", huge({"size": "1G", "count": 1, "numaNode": 1}), ["NUMA node 1", "with memory: 0"]),
    (
        "CP542",
        kubelet(
            topologyManagerPolicy="restricted", reservedMemory=[{"numaNode": 3, "memory": "1100Mi"}]
        ),
        ["NUMA node 3"],
    ),
    ("CP543", huge({"size": "1G", "count": 65}), ["65Gi on NUMA node 0", "has 64Gi"]),
    (
        "CP549",
        {
            "topology": regular(sockets=2, cores=4),
            "spec": {
                "kubelet": {"topologyManagerPolicy": "restricted"},
                "hugePages": {"pages": [{"size": "1G", "count": 3}]},
            },
        },
        ["3 huge pages of 1G", "NUMA nodes 0, 1", "the node of 1 at boot"],
    ),
    ("CP556", {"spec": {"openVSwitch": {"dpdk": True}}}, ["no CPU"]),
    (
        "CP557",
        {"isolated": "4-7", "isolcpus": "2-3", "spec": {"openVSwitch": {"dpdk": True}}},
        ["strict-cpu-reservation"],
    ),
    (
        "CP544",
        kubelet(configuration={"reservedSystemCPUs": "0"}),
        ["reservedSystemCPUs", "follows from pools"],
    ),
    ("CP544", kubelet(configuration={"systemReserved": {}}), ["kubelet.systemReserved"]),
    ("CP545", kubelet(configuration={"maxPod": 250}), ["maxPod", "maxPods"]),
    ("CP545", kubelet(configuration={"configuration": {}}), ["no field configuration"]),
    (
        "CP545",
        {**KUBERNETES, "version": "1.32", **kubelet(configuration={"userNamespaces": {}})},
        ["userNamespaces before Kubernetes 1.33", "target Kubernetes 1.33 or later"],
    ),
    ("CP545", kubelet(configuration={"logging": {"verbose": 1}}), ["logging.verbose"]),
    (
        "CP545",
        kubelet(configuration={"registerWithTaints": [{"key": "a", "name": "b"}]}),
        ["Taints[0].name"],
    ),
    ("CP546", kubelet(configuration={"memoryThrottlingFactor": "much"}), ["a number"]),
    ("CP546", kubelet(configuration={"maxPods": True}), ["maxPods", "a whole number"]),
    ("CP546", kubelet(configuration={"failSwapOn": 0}), ["failSwapOn", "true or false"]),
    ("CP547", kubelet(configuration={"featureGates": {"MemoryQoS": True}}), ["featureGates"]),
    ("CP547", kubelet(configuration={"failSwapOn": False}), ["failSwapOn"]),
    ("CP547", kubelet(configuration={"memorySwap": {"swapBehavior": "NoSwap"}}), ["swapBehavior"]),
    ("CP547", kubelet(configuration={"staticPodPath": "/etc/pods"}), ["staticPodPath"]),
    (
        "CP547",
        kubelet(configuration={"systemReservedCgroup": "/a", "systemCgroups": "/b"}),
        ["systemReservedCgroup /a beside systemCgroups /b"],
    ),
    (
        "CP547",
        kubelet(dynamicResourceAllocation=True, configuration={"systemCgroups": "/b"}),
        ["systemReservedCgroup /system.slice beside systemCgroups /b"],
    ),
    (
        "CP550",
        {"spec": {"runtime": {"sharedNamespaces": ["a", "b"]}}},
        ["a, b", "no container can share"],
    ),
    (
        "CP550",
        {"shared": "2-3", "spec": {"runtime": {"sharedNamespaces": ["a"], "mixedCpus": False}}},
        ["no container can share"],
    ),
    ("CP551", {**KUBERNETES, "shared": "2-3"}, ["1.33", "v1alpha1"]),
    ("CP551", {**KUBERNETES, "version": "1.35", "shared": "2-3"}, ["1.35", "v1beta1"]),
    ("CP552", {**KUBERNETES, "version": "1.29", "shared": "2-3"}, ["1.29", "1.30"]),
    (
        "CP553",
        {
            **KUBERNETES,
            "version": "1.31",
            "shared": "2-3",
            "spec": {"runtime": {"annotatePods": True}},
        },
        ["1.31", "1.32"],
    ),
    ("CP554", by_profile("4.15", hardwareTuning=FREQUENCIES), ["hardwareTuning", "4.16", "4.15"]),
    ("CP554", by_profile("4.21", kubelet={"dynamicResourceAllocation": True}), ["4.22", "4.21"]),
    (
        "CP554",
        {**by_profile("4.17", kernel={"pageSize": "64k"}), "architecture": "aarch64"},
        ["4.18"],
    ),
    ("CP554", {**by_profile("4.14"), "shared": "2-3"}, ["pools.shared", "4.15"]),
    ("CP554", by_profile("4.20", runtime={"execCpuAffinity": "first"}), ["4.21"]),
    (
        "CP554",
        {
            "version": "4.16",
            "target": {"mode": "performanceProfile", "controlPlaneTopology": "External"},
        },
        ["targets.0.controlPlaneTopology", "4.17"],
    ),
    (
        "CP573",
        {
            "topology": regular(sockets=2),
            "reserved": "8-9",
            **by_profile("4.20", kubelet={"topologyManagerPolicy": "restricted"}),
        },
        ["1100Mi on NUMA node 1"],
    ),
    ("CP571", {**by_profile("5.1"), "shared": "2-3"}, ["Default", "CPUs 2-3", "TechPreview"]),
    ("CP572", {**by_profile("4.20"), "vendor": "HygonGenuine"}, ["HygonGenuine", "4.20"]),
    (
        "CP554",
        {"version": "4.14", "architecture": "aarch64", "spec": {"kernel": {"pageSize": "64k"}}},
        ["kernel.pageSize", "4.15"],
    ),
    (
        "CP576",
        {"spec": {"isolation": {"globallyDisableIrqLoadBalancing": True}}},
        ["irqbalance-start"],
    ),
    (
        "CP560",
        {**KUBERNETES, "spec": {"defaults": [{"enable": "ovs-slice", "because": "one"}]}},
        ["ovs-slice", "kubernetes"],
    ),
    (
        "CP561",
        by_profile("4.20", defaults=[{"disable": "ovs-slice", "because": "one"}]),
        ["ovs-slice"],
    ),
    (
        "CP567",
        {"shared": "2-3", **kubelet(configuration={"cpuCFSQuotaPeriod": "10ms"})},
        ["cpuCFSQuotaPeriod is 10ms"],
    ),
    (
        "CP562",
        {**KUBERNETES, **kubelet(memoryManagerPolicy="Static")},
        ["100Mi", "kubeReserved", "evictionHard"],
    ),
    ("CP563", {"spec": {"defaults": [{"disable": "iommu", "because": "one"}] * 2}}, ["iommu"]),
]


def findings(given: dict[str, Any]) -> list[Diagnostic]:
    arguments = dict(given)
    return checks.check(plan(arguments.pop("topology", None), **arguments), no_position)


@pytest.mark.parametrize(
    ("code", "given", "named"), ROWS, ids=[f"{code}-{at}" for at, (code, *_) in enumerate(ROWS)]
)
def test_each_finding(code: str, given: dict[str, Any], named: list[str]) -> None:
    # Of one mistake, there is one finding; gates and releases may be worth a warning of their own.
    wrong = [
        finding
        for finding in findings(given)
        if finding.code == code or finding.severity is Severity.ERROR
    ]
    assert [finding.code for finding in wrong] == [code]
    for words in named:
        assert words in f"{wrong[0].message}; {wrong[0].remedy}"


def test_every_code_has_a_row() -> None:
    from cpuplan.diagnostics.codes import components, cpu_mechanisms, koordinator

    # Of backends (tests/unit/backends), of clusters (tests/unit/components/koordinator), of paused
    # intents (tests/test_paused.py), of machines without the zones of koordlet
    # (tests/test_corpus_mechanisms.py), of
    # tests/unit/write/test_emitted.py, of tests/unit/components/test_plain_nodes.py.
    elsewhere = {
        "CP574",
        "CP575",
        "CP577",
        "CP548",
        "CP564",
        "CP565",
        "CP566",
        "CP570",
        "CP637",
        "CP6175",
        "CP595",
        "CP596",
        "CP588",
        "CP597",
        "CP598",
        "CP599",
    }
    known = {
        *components.CODES,
        *(code for code in cpu_mechanisms.CODES if code < "CP600"),
        # Those of objects that users bring are CP640 to CP649; those of clusters are CP8xx.
        *(code for code in koordinator.CODES if code < "CP640" or "CP650" <= code < "CP700"),
    }
    assert {code for code, *_ in ROWS} | elsewhere == known


FINE: list[dict[str, Any]] = [
    {
        **KUBERNETES,
        "version": "1.36",
        "shared": "2-3",
        "spec": {"runtime": {"sharedNamespaces": ["a"]}},
    },
    {**KUBERNETES, "shared": "2-3", "spec": {"runtime": {"annotatePods": False}}},
    {**KUBERNETES, "shared": "2-3", "spec": {"runtime": {"annotatePods": True}}},
    {**KUBERNETES, "version": "1.31", "shared": "2-3"},
    {"version": "4.16", "shared": "2-3"},
    {"shared": "2-3", **kubelet(configuration={"cpuCFSQuotaPeriod": "100ms"})},
    {
        "shared": "2-3",
        **kubelet(configuration={"cpuCFSQuotaPeriod": "10ms", "cpuCFSQuota": False}),
    },
    {**kubelet(configuration={"cpuCFSQuotaPeriod": "10ms"})},
    by_profile("4.16", hardwareTuning=FREQUENCIES),
    {"version": "4.15", "spec": {"hardwareTuning": FREQUENCIES}},
    kernel("isolcpus=managed_irq,2-7"),
    kernel("nohz_full=2-7", "quiet"),
    kernel("hugepagesz=1G", "hugepages=4", "hugepagesz=2M", "hugepages=8"),
    kernel("console=tty0", "console=ttyS0"),
    kernel("maxcpus=8", "nr_cpus=8"),
    # Linux reads no number there, and ignores the argument.
    kernel("maxcpus=two"),
    kernel("nr_cpus"),
    # The reservation fills the room beside the huge pages.
    {
        "topology": regular(memory=2 * GIB),
        "spec": {
            "kubelet": {
                "topologyManagerPolicy": "restricted",
                "reservedMemory": [{"numaNode": 0, "memory": "1Gi"}],
                "evictionHard": {"memory.available": "24Mi"},
            },
            "hugePages": {"pages": [{"size": "1G", "count": 1}]},
        },
    },
    {"topology": SMT, "offlined": "4-7", **kernel("nosmt")},
    {"topology": regular(sockets=8, cores=2)},
    {"topology": regular(sockets=9, cores=2), **kubelet(topologyManagerPolicy="none")},
    {
        "topology": regular(sockets=9, cores=2),
        **kubelet(topologyManagerPolicyOptions={"max-allowable-numa-nodes": "16"}),
    },
    kubelet(
        topologyManagerPolicy="restricted", reservedMemory=[{"numaNode": 0, "memory": "1153433600"}]
    ),
    {"architecture": "aarch64", "vendor": "ARM", **huge({"size": "32M", "count": 1})},
    {
        "architecture": "aarch64",
        "spec": {"kernel": {"pageSize": "64k"}, "hugePages": {"defaultSize": "512M"}},
    },
    {"reserved": "", **kubelet(cpuManagerPolicy="none")},
    {"version": "4.14", "shared": "2", "spec": {"runtime": {"mixedCpus": False}}},
    *({"version": version} for version in platforms.OPENSHIFT.releases),
    kubelet(configuration={"maxPods": 250, "eventBurst": 0, "imageGCHighThresholdPercent": None}),
    {**KUBERNETES, **kubelet(configuration={"featureGates": {"MemoryQoS": True}})},
    kubelet(dynamicResourceAllocation=True, configuration={"reservedSystemCPUs": "0-1"}),
    # Who says that pods are annotated knows that the gate is on.
    {**KUBERNETES, "shared": "2-3", "spec": {"runtime": {"annotatePods": True}}},
    kubelet(kubeReserved={"cpu": "500m", "memory": "1.5Gi"}),
    # What the machine config operator of a release takes.
    {"version": "4.20", **further(failSwapOn=False)},
    {"version": "4.21", **further(systemReservedCgroup="/a", systemCgroups="/b")},
    further(systemCgroups="/b"),
    further(staticPodPath=""),
    further(
        evictionSoft={"pid.available": "10%"},
        evictionMinimumReclaim={"pid.available": "0"},
        **PERIOD,
    ),
]


@pytest.mark.parametrize("given", FINE)
def test_nothing_is_wrong(given: dict[str, Any]) -> None:
    assert findings(given) == []


def test_findings_stand_where_the_statement_is() -> None:
    asked: list[str] = []

    def locate(origin: str) -> Position:
        asked.append(origin)
        return Position("intents/ran.yaml", 1, 1)

    node = plan(spec={"kernel": {"extraArguments": ["quiet", "nohz_full=0"]}})
    (only,) = checks.check(node, locate)
    assert only.position == Position("intents/ran.yaml", 1, 1)
    assert "Intent/ran:spec.kernel.extraArguments.1" in asked


def test_nothing_else_is_said_of_an_unknown_release() -> None:
    node = plan(version="9.9", spec={"runtime": {"mixedCpus": True}})
    assert [finding.code for finding in checks.check(node, no_position)] == ["CP501"]


def test_offline_cpus_do_not_need_to_come_up() -> None:
    topology = regular(cores=8, offline=CpuSet.parse("6-7"))
    assert findings({"topology": topology, **kernel("nr_cpus=6")}) == []
