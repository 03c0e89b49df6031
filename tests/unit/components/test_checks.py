"""What is refused or warned of.

Each row has a plan that is wrong in one way, its code, and values that are named.
"""

from typing import Any

import pytest

from cpuplan.base.cpuset import CpuSet
from cpuplan.base.topology import NumaNodeFacts, Topology
from cpuplan.components import checks
from cpuplan.diagnostics import Diagnostic, Severity
from cpuplan.diagnostics.source import Position
from cpuplan.facts import platforms
from tests.machines.plans import GIB, no_position, plan, regular
from tests.unit.components import mechanism_rows
from tests.unit.components.mechanism_rows import (
    BALLOONS,
    DRA,
    KUBERNETES,
    OLD,
    ON_CONTAINERD,
    PLAIN,
    SMT,
    cpu_options,
    further,
    kubelet,
    renumbered,
)


def kernel(*arguments: str, **spec: Any) -> dict[str, Any]:
    return {"spec": {"kernel": {"extraArguments": list(arguments)}, **spec}}


def huge(*pages: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"spec": {"hugePages": {"pages": list(pages), **fields}}}


def by_profile(version: str, **spec: Any) -> dict[str, Any]:
    return {"version": version, "target": {"mode": "performanceProfile"}, "spec": spec}


def manifest(annotation: str, value: str) -> dict[str, Any]:
    """A workload of one pod with an annotation, whose containers have exclusive CPUs."""
    resources = {"limits": {"cpu": "2", "memory": "1Gi"}}
    pod = {
        "kind": "Pod",
        "metadata": {"annotations": {annotation: value}},
        "spec": {
            "runtimeClassName": "performance-ran",
            "containers": [{"name": "app", "resources": resources}],
        },
    }
    return {"spec": {"workloads": [{"name": "upf", "manifest": pod}]}}


PERIOD = {"evictionSoftGracePeriod": {"pid.available": "1m30s"}}
FREQUENCIES = {"isolatedCpuFreq": 2500000, "reservedCpuFreq": 2800000}


def annotated(name: str, **spec: Any) -> dict[str, Any]:
    """A workload whose pod has an annotation."""
    resources = {"limits": {"cpu": "2", "memory": "1Gi"}}
    manifest = {
        "kind": "Pod",
        "metadata": {"name": "upf", "annotations": {name: "disable"}},
        "spec": {"containers": [{"name": "c", "resources": resources}], **spec},
    }
    return {"spec": {"workloads": [{"name": "upf", "pods": 1, "manifest": manifest}]}}


#: Two NUMA nodes with CPUs, and two of HBM.
HBM = Topology(regular(sockets=2).cpus, [NumaNodeFacts(node, 16 * GIB) for node in range(4)])

ROWS: list[tuple[str, dict[str, Any], list[str]]] = [
    *mechanism_rows.ROWS,
    ("CP5340", annotated("cpu-quota.crio.io"), ["cpu-quota.crio.io of upf", "performance-ran"]),
    ("CP5341", annotated("cpu-quotas.crio.io"), ["of upf", "write cpu-quota.crio.io"]),
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
    ("CP5506", {"platform": "microk8s", "version": "1.34"}, ["args/kubelet", "--config-dir="]),
    (
        "CP5645",
        {**KUBERNETES, "shared": "2-3", "spec": {"runtime": {"mixedCpus": False}}},
        ["gives CPUs of pools.shared exclusively", "those of reserved too"],
    ),
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
    ("CP501", {**KUBERNETES, "target": {"containerd": "3.0"}}, ["containerd 3.0", "2.4"]),
    ("CP501", {**KUBERNETES, "target": {"koordinator": "2.0"}}, ["koordinator 2.0", "1.8"]),
    ("CP501", {**KUBERNETES, "target": {"nriPlugins": "9.1"}}, ["nri-plugins 9.1", "0.14"]),
    ("CP5625", {}, ["OpenShift 5.1", "unproven"]),
    ("CP5625", {"platform": "talos", "version": "1.14"}, ["Kubernetes 1.37", "rules of 1.36"]),
    (
        "CP5625",
        {**KUBERNETES, "target": {"mechanism": "koordinator", "koordinator": "1.4"}},
        ["Koordinator 1.4", "rules of 1.8"],
    ),
    (
        "CP5626",
        {"version": "5.0", "target": {"mode": "performanceProfile", "tuned": "2.40"}},
        ["TuneD 2.40", "2.28"],
    ),
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
    (
        "CP5605",
        {"topology": HBM, **huge({"size": "1G", "count": 6})},
        ["6 huge pages of 1G", "NUMA nodes 2-3", "{size: 1G, count: 3, numaNode: 0}"],
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
    ("CP520", kernel("isolcpus=2-6"), ["isolcpus=managed_irq,2-7"]),
    ("CP5303", kernel("isolcpus=2-7"), ["isolcpus=managed_irq,2-7"]),
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
    (
        "CP5302",
        kernel("default_hugepagesz=2M", hugePages={"defaultSize": "1G"}),
        ["the default size there is 1G"],
    ),
    ("CP523", {"topology": SMT, **kernel("nosmt")}, ["nosmt", "4-7"]),
    ("CP523", kernel("maxcpus=6"), ["6-7"]),
    ("CP523", kernel("nr_cpus=4"), ["4-7"]),
    ("CP523", kernel("nr_cpus=1"), ["1-7"]),
    ("CP523", kernel("maxcpus=0"), ["1-7"]),
    ("CP5300", kernel("cgroup_disable=cpuset"), ["no control groups for cpuset"]),
    ("CP5301", kernel("notsc"), ["does not trust its clock"]),
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
    ("CP5360", manifest("cpu-quota.crio.io", "off"), ["cpu-quota.crio.io: off of upf"]),
    ("CP5361", manifest("cpu-c-states.crio.io", "low"), ["invalid annotation value low"]),
    (
        "CP5362",
        {
            "platform": "kubernetes",
            "version": "1.33",
            "spec": {"runtime": {"execCpuAffinity": "first"}},
        },
        ["CRI-O 1.34", "Kubernetes 1.33"],
    ),
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


def but_the_release(given: list[Diagnostic]) -> list[Diagnostic]:
    """All but that the release is not proven: plans have the newest one here."""
    return [finding for finding in given if finding.code != "CP5625"]


def many(nodes: int, **further: Any) -> dict[str, Any]:
    """Nodes with CPUs, that the topology manager accepts."""
    options = {"max-allowable-numa-nodes": str(nodes)}
    return {
        "topology": regular(sockets=nodes, cores=2),
        **kubelet(topologyManagerPolicyOptions=options, **further),
    }


#: With the memory manager, whose reservation is CP562's.
MEMORY = {"memoryManagerPolicy": "Static", "kubeReserved": {}, "systemReserved": {}}


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (many(32), ["2^32 sets of the 32 NUMA nodes", "the CPU manager looks", "Policy to none"]),
        (
            many(18, **MEMORY),
            ["2^36 combinations of the hints of memory manager and CPU manager", "is small"],
        ),
    ],
)
def test_kubelets_that_do_not_come_to_an_end(given: dict[str, Any], named: list[str]) -> None:
    (finding,) = [finding for finding in findings(given) if finding.code == "CP705"]
    for words in named:
        assert words in f"{finding.message}; {finding.remedy}"


@pytest.mark.parametrize(
    "given",
    [
        many(18, topologyManagerPolicy="single-numa-node", **MEMORY),
        many(17, **MEMORY),
        many(29),
    ],
)
def test_kubelets_that_take_long(given: dict[str, Any]) -> None:
    codes = {finding.code for finding in findings(given)}
    assert "CP705" not in codes
    assert "CP5151" in codes


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


def test_pages_that_are_placed_are_on_no_node_by_accident() -> None:
    """Each node without CPUs has a count of its own, or all entries name a node."""
    placed = [{"size": "1G", "count": 2, "numaNode": node} for node in range(4)]
    for pages in (placed[:2], [{"size": "1G", "count": 8}, *placed[2:]]):
        codes = {finding.code for finding in findings({"topology": HBM, **huge(*pages)})}
        assert "CP5605" not in codes


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
        "CP5505",
        "CP596",
        "CP588",
        *(f"CP538{number}" for number in range(8)),
        "CP5400",
        "CP5401",
        "CP5402",
        "CP5403",
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
    assert but_the_release(findings(given)) == []


def test_findings_stand_where_the_statement_is() -> None:
    asked: list[str] = []

    def locate(origin: str) -> Position:
        asked.append(origin)
        return Position("intents/ran.yaml", 1, 1)

    node = plan(spec={"kernel": {"extraArguments": ["quiet", "nohz_full=0"]}})
    (only,) = but_the_release(checks.check(node, locate))
    assert only.position == Position("intents/ran.yaml", 1, 1)
    assert "Intent/ran:spec.kernel.extraArguments.1" in asked


def test_nothing_else_is_said_of_an_unknown_release() -> None:
    node = plan(version="9.9", spec={"runtime": {"mixedCpus": True}})
    assert [finding.code for finding in checks.check(node, no_position)] == ["CP501"]


def test_offline_cpus_do_not_need_to_come_up() -> None:
    topology = regular(cores=8, offline=CpuSet.parse("6-7"))
    given = {"topology": topology, **kernel("nr_cpus=6")}
    assert but_the_release(findings(given)) == []
