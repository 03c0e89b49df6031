"""What the fuzzers change: small inputs of every format."""

import bz2
import gzip
import json
import lzma
import tarfile
from pathlib import Path
from typing import Any

from tests.machines import trees

REPOSITORY = Path(__file__).parents[2]

_LINKS = (
    trees.link("sys/devices/system/cpu/cpu0/node0", "../../node/node0"),
    trees.link("sys/bus/pci/devices/0000:31:00.0", "../../../devices/pci0000:30/0000:31:00.0"),
    trees.link("sys/class/net/ens1f0", "../../devices/pci0000:30/0000:31:00.0/net/ens1f0"),
    trees.link("proc/hard", "proc/cmdline", tarfile.LNKTYPE),
    trees.link("sys/" + "long/" * 30, "", tarfile.DIRTYPE),
)
#: Files of a machine with everything that is read, little of each.
FILES = {
    **trees.server(2),
    "sys/devices/pci0000:30/0000:31:00.0/class": "0x020000\n",
    "sys/devices/pci0000:30/0000:31:00.0/numa_node": "1\n",
    "sys/devices/pci0000:30/0000:31:00.0/sriov_totalvfs": "64\n",
    "sys/devices/system/cpu/cpu0/cpu_capacity": "700\n",
    "sys/devices/system/cpu/cpu0/topology/cluster_id": "0\n",
    "sys/devices/system/cpu/cpu0/topology/cluster_cpus": "00000000,00000005\n",
    "sys/devices/system/cpu/offline": "\n",
    "sys/devices/cpu_core/cpus": "0,2\n",
    "proc/meminfo": "MemTotal: 2048 kB\n",
    "proc/sys/kernel/hostname": "worker-0\n",
}
_TAR = trees.tar(FILES, "w", extra=_LINKS)
_NODE = b"""\
apiVersion: v1
kind: Node
metadata: {name: worker-0, labels: {kubernetes.io/arch: amd64, tier: gold}}
status: {capacity: {cpu: "4", memory: 2048Ki, hugepages-2Mi: "0"}}
"""
_NODES = "image/cluster-scoped-resources/core/nodes"
_INFRASTRUCTURE = "image/cluster-scoped-resources/config.openshift.io/infrastructures/cluster.yaml"
#: A must-gather; what is fuzzed is one of its files, named by the first byte.
MUST_GATHER = {
    "image/nodes/worker-0/sysinfo.tgz": gzip.compress(_TAR, mtime=0),
    f"{_NODES}/worker-0.yaml": _NODE,
    _INFRASTRUCTURE: (
        b"status: {apiServerURL: 'https://api.lab.example.com:6443', "
        b"infrastructureName: lab-x7k2p}\n"
    ),
}
_CORES = [
    {"core_id": n, "thread_ids": [n, n + 2], "socket_id": n, "caches": None} for n in range(2)
]
_MACHINE_INFO = {
    "num_cores": 4,
    "topology": [{"node_id": n, "memory": 1024, "cores": [_CORES[n]]} for n in range(2)],
}
_IRONIC_CPUS = [{"cpu": n, "thread_siblings": [n, n + 2], "numa_node": n} for n in range(2)]
_ROWS = [{"id": n, "core": n % 2, "socket": n % 2, "node": n % 2} for n in range(4)]
_ANNOTATION = {"node.koordinator.sh/cpu-topology": json.dumps({"detail": _ROWS})}
_ZONE = {"name": "node-0", "type": "Node", "costs": [{"name": "node-0", "value": 10}]}
_TOPOLOGY = {
    "kind": "NodeResourceTopology",
    "metadata": {"name": "worker-0", "annotations": _ANNOTATION},
    "zones": [_ZONE],
}
_HWLOC = b"""\
<?xml version="1.0"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
 <object type="Machine" os_index="0" cpuset="0x0000000f" complete_cpuset="0x0000000f"
  nodeset="0x1" gp_index="1">
  <info name="CPUModel" value="Xeon"/>
  <object type="Package" os_index="0" cpuset="0x0000000f" nodeset="0x1" gp_index="2">
   <object type="NUMANode" os_index="0" cpuset="0x0000000f" nodeset="0x1" gp_index="3"
    local_memory="4096"/>
   <object type="L3Cache" cpuset="0x0000000f" nodeset="0x1" gp_index="4"
    cache_size="1024" depth="3" cache_type="0">
    <object type="Core" os_index="0" cpuset="0x00000005" nodeset="0x1" gp_index="5">
     <object type="PU" os_index="0" cpuset="0x00000001" nodeset="0x1" gp_index="6"/>
     <object type="PU" os_index="2" cpuset="0x00000004" nodeset="0x1" gp_index="7"/>
    </object>
   </object>
  </object>
 </object>
</topology>
"""
_SUMMARY = b"""\
Architecture:        x86_64
CPU(s):              4
On-line CPU(s) list: 0-3
Thread(s) per core:  2
Core(s) per socket:  2
Socket(s):           1
NUMA node0 CPU(s):   0-3
"""
_LSCPU = (
    b"# CPU,Core,Socket,Node,,L1d,L1i,L2,L3\n0,0,0,0,,0,0,0,0\n1,1,0,0,,1,1,1,0\n",
    _SUMMARY,
    json.dumps(
        {"cpus": [{"cpu": n, "core": n % 2, "socket": 0, "node": 0} for n in range(4)]}
    ).encode(),
    json.dumps(
        {
            "lscpu": [
                {"field": "CPU(s):", "data": "4", "children": [{"field": "Model:", "data": "1"}]}
            ]
        }
    ).encode(),
)
#: Files by the importer's format. An importer needs one here to be fuzzed.
FORMATS: dict[str, tuple[bytes, ...]] = {
    "sysroot": (
        _TAR,
        gzip.compress(_TAR, mtime=0),
        lzma.compress(_TAR, preset=0),
        bz2.compress(_TAR),
    ),
    "must-gather": tuple(bytes((index,)) + data for index, data in enumerate(MUST_GATHER.values())),
    "hwloc": (_HWLOC,),
    "lscpu": _LSCPU,
    "objects": (_NODE, json.dumps({"kind": "List", "items": [_TOPOLOGY]}).encode()),
    "machineinfo": (json.dumps(_MACHINE_INFO).encode(),),
    "ironic": (
        json.dumps({"numa_topology": {"cpus": _IRONIC_CPUS, "ram": [], "nics": []}}).encode(),
    ),
}


_SELECTOR = {"node-role.kubernetes.io/cnf": ""}
_SNIPPET = {
    "systemReserved": {"memory": "1Gi", "cpu": "500m"},
    "evictionHard": {"memory.available": "200Mi"},
    "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1748Mi"}}],
    "cpuManagerPolicyOptions": {"strict-cpu-reservation": "true"},
    "topologyManagerPolicyOptions": {"max-allowable-numa-nodes": "16"},
    "maxPods": 300,
    "memoryThrottlingFactor": 0.8,
    "shutdownGracePeriod": "60s",
    "logging": {"verbosity": 2},
}
#: What stands in a snippet by itself, as text: the annotation of the profile below.
SNIPPET = "kubeletconfig.experimental"
#: A PerformanceProfile with every field, and objects of its cluster.
PROFILE: tuple[dict[str, Any], ...] = (
    {
        "apiVersion": "performance.openshift.io/v2",
        "kind": "PerformanceProfile",
        "metadata": {
            "name": "ran-du",
            "annotations": {"performance.openshift.io/enable-rps": "true", SNIPPET: _SNIPPET},
        },
        "spec": {
            "cpu": {
                "reserved": "0-1",
                "isolated": "4-7",
                "shared": "2",
                "offlined": "8",
                "ovsDpdk": "9",
            },
            "hugepages": {
                "defaultHugepagesSize": "1G",
                "pages": [{"size": "2M", "count": 64, "node": 1}],
            },
            "numa": {"topologyPolicy": "restricted"},
            "kernelPageSize": "4k",
            "additionalKernelArgs": ["quiet", "irqaffinity=0-1"],
            "workloadHints": {"realTime": True, "highPowerConsumption": True, "mixedCpus": True},
            "net": {
                "userLevelNetworking": True,
                "devices": [{"interfaceName": "!ens*", "vendorID": "0x8086"}],
            },
            "hardwareTuning": {"isolatedCpuFreq": 2500000, "reservedCpuFreq": 2800000},
            "nodeSelector": _SELECTOR,
        },
    },
    {
        "apiVersion": "machineconfiguration.openshift.io/v1",
        "kind": "MachineConfigPool",
        "metadata": {"name": "cnf", "labels": {"pool": "cnf"}},
        "spec": {
            "nodeSelector": {
                "matchLabels": _SELECTOR,
                "matchExpressions": [{"key": "zone", "operator": "NotIn", "values": ["a"]}],
            }
        },
    },
    {
        "apiVersion": "config.openshift.io/v1",
        "kind": "Infrastructure",
        "metadata": {"name": "cluster"},
        "status": {"controlPlaneTopology": "HighlyAvailable", "cpuPartitioning": "AllNodes"},
    },
    {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "worker-0", "labels": _SELECTOR},
        "status": {"capacity": {"cpu": "10"}, "nodeInfo": {"architecture": "amd64"}},
    },
)
#: What stands in the place of their values.
ODD: tuple[Any, ...] = (
    *(
        None,
        True,
        0,
        -1,
        2**31,
        2**63 - 1,
        "",
        "x",
        "0-1",
        "1-0",
        "9" * 30,
        "4-100000",
        "a b",
        "a\nb",
        "--",
        "\u2028",
    ),
    *(
        "é",
        "Static",
        "lots",
        "150%",
        "1e9",
        "enable",
        [],
        {},
        [None],
        [{}],
        {"": None},
        {"a": []},
        [["x"]],
    ),
)


#: What stands there more seldom: it is large, deep, or not for eyes.
ODDER: tuple[Any, ...] = (
    *(
        10**7,
        10**12,
        2**63,
        -(2**63),
        "9" * 300,
        "x" * 5000,
        "0-8191",
        "\x1b[31m",
        "a\r\nb",
        "a\0b",
    ),
    *(
        {"a": {"b": {"c": ["d"]}}},
        {"metadata": {}},
        [[[[]]]],
        list(range(300)),
        {"0": "1"},
        "\ue000",
    ),
)


_RESOURCES = {"requests": {"cpu": "2", "memory": "1Gi"}, "limits": {"cpu": "2", "memory": "1Gi"}}
_POD_SPEC = {
    "initContainers": [{"name": "first", "restartPolicy": "Always", "resources": _RESOURCES}],
    "containers": [{"name": "main", "image": "x", "resources": _RESOURCES}, {"name": "side"}],
    "overhead": {"cpu": "250m"},
    "resources": {"limits": {"cpu": "4"}},
    "runtimeClassName": "performance",
    "hostNetwork": False,
    "nodeName": "worker-0",
}
_META = {
    "name": "du",
    "namespace": "ran",
    "labels": {"app": "du"},
    "annotations": {"cpu-quota.crio.io": "disable"},
}
#: Pods, and what controllers make pods of.
PODS: tuple[dict[str, Any], ...] = (
    {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _META,
        "spec": {"containers": _POD_SPEC["containers"]},
    },
    {"apiVersion": "v1", "kind": "Pod", "metadata": {**_META, "name": "cu"}, "spec": _POD_SPEC},
    {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": _META,
        "spec": {"replicas": 2, "template": {"metadata": _META, "spec": _POD_SPEC}},
    },
    {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": _META,
        "spec": {
            "jobTemplate": {
                "spec": {"parallelism": 2, "completions": 3, "template": {"spec": _POD_SPEC}}
            }
        },
    },
    {
        "kind": "List",
        "items": [
            {"kind": "DaemonSet", "metadata": _META, "spec": {"template": {"spec": _POD_SPEC}}}
        ],
    },
    {"kind": "PodList", "items": [{"metadata": _META, "spec": _POD_SPEC}]},
)
_CLAIM = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaimTemplate",
    "metadata": {"name": "cpus"},
    "spec": {
        "spec": {
            "devices": {
                "requests": [
                    {
                        "name": "cpus",
                        "exactly": {
                            "deviceClassName": "dra.cpu",
                            "capacity": {"requests": {"dra.cpu/cpu": "2"}},
                        },
                    }
                ]
            }
        }
    },
}
_SCHEDULING = "scheduling.koordinator.sh"
#: What Koordinator, the NRI policies and the DRA CPU driver read of pods, and claims.
PODS_OF_MECHANISMS: tuple[dict[str, Any], ...] = (
    {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "lse",
            "labels": {"koordinator.sh/qosClass": "LSE", "app": "e"},
            "annotations": {
                f"{_SCHEDULING}/resource-spec": '{"preferredCPUBindPolicy": "FullPCPUs"}',
                f"{_SCHEDULING}/numa-topology-spec": '{"numaTopologyPolicy": "Restricted"}',
            },
        },
        "spec": {**_POD_SPEC, "priorityClassName": "koord-prod", "runtimeClassName": None},
    },
    {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "be",
            "labels": {"koordinator.sh/qosClass": "BE"},
            "annotations": {
                "balloon.balloons.resource-policy.nri.io": "reserved",
                "prefer-isolated-cpus.resource-policy.nri.io/container.main": "true",
            },
        },
        "spec": {
            "priorityClassName": "koord-batch",
            "containers": [
                {
                    "name": "main",
                    "resources": {
                        "requests": {"kubernetes.io/batch-cpu": "1000"},
                        "limits": {"kubernetes.io/batch-cpu": "1000"},
                    },
                }
            ],
        },
    },
    _CLAIM,
    {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "claiming"},
        "spec": {
            "resourceClaims": [{"name": "cpus", "resourceClaimTemplateName": "cpus"}],
            "containers": [
                {
                    "name": "main",
                    "resources": {**_RESOURCES, "claims": [{"name": "cpus"}]},
                    "env": [{"name": "A", "value": "b"}],
                }
            ],
        },
    },
)
#: Beside the base project's nodes: both managers that keep state files are static.
INTENT = b"""\
apiVersion: cpuplan.io/v1alpha1
kind: Intent
metadata:
  name: main
spec:
  selector:
    matchLabels: {role: worker}
  targets:
  - {platform: kubernetes, version: "1.35", runtime: crio}
  pools:
    reserved: {cores: 1, per: numaNode}
    isolated: rest
  kubelet:
    topologyManagerPolicy: restricted
    memoryManagerPolicy: Static
    kubeReserved: {memory: 500Mi}
    systemReserved: {memory: 500Mi}
    evictionHard:
      {memory.available: 100Mi, nodefs.available: 10%, nodefs.inodesFree: 5%,
       imagefs.available: 15%}
"""
#: What stands in the place of files that cpuplan reads again; `NEW` and `OLD` become the inodes of
#: `out` and a stage.
JOURNALS = (
    b'[NEW, OLD, [["a", ["a file", 1, 1]]], ["a", "kubernetes"], "intents/plan.lock.yaml"]',
    b'[NEW, OLD, [["a", ["a folder", 0, 0]], ["b/c", ["a symbolic link", 2, 3]]], [], ""]',
    b'[NEW, OLD, [], [1, null], "a/b"]',
    b'[OLD, NEW, [["a", ["a file"]]], ["out"], 1]',
    b'[NEW, null, [], ["a"], ""]',
)
DEEP = (b"[" * 5000, b'{"a":' * 5000, b'{"a":{"b":[{"c":null}]}}', b"")
#: Of a KubeletConfiguration that is fuzzed.
KUBELET_HEAD = b"apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
KUBELET = (
    (
        b"cpuManagerPolicy: static\nreservedSystemCPUs: 0-1\n"
        b"cpuManagerPolicyOptions: {full-pcpus-only: 'true'}\n"
    ),
    (
        b"topologyManagerPolicy: restricted\nsystemReserved: {cpu: 500m}\n"
        b"evictionHard: {memory.available: 5%}\n"
    ),
    (
        b"memoryManagerPolicy: Static\nreservedMemory:\n- numaNode: 0\n"
        b"  limits: {memory: 1124Mi}\nfeatureGates: {A: 1}\n"
    ),
    (
        b"maxPods: 250\nshutdownGracePeriod: 60s\n"
        b"logging: {verbosity: 2, flushFrequency: 5s}\nx: &a [1]\ny: *a\n"
    ),
)
#: Documents whose comments and line ends stand in odd places.
LAYOUTS = (
    b"---\n\nkind: Intent\nspec: {}\nmetadata:\n  name: 'x'\n# end\n",
    b"# head\n\n---\n# second\nkind: [a]\nb: |\n  x\n\n\n  # no comment\nc: >-\n  y\n  z # no\n",
    (
        b"metadata: {name: a, labels: {'b': \"c\"}} # side\n\n\nkind: Nodes # kind\n"
        b"spec:\n# o\n  nodes:\n  # n\n  - {}"
    ),
    b"a:\n\n- 1\n\n# c\n- b: 2\n  # d\n\n  c: 3\n...\n---\n? x\n: y\n",
    (
        b"kind: Hardware\nspec:\n  # c\n\n  regular:\n    sockets: 1\n\n    # d\n"
        b"metadata:\n  name: x\n\n---\n\n---\n# e\n"
    ),
)


#: A lock as it was written before entries stood on one line.
OLD_LOCK = b"""\
apiVersion: cpuplan.io/v1alpha1
kind: Plan
classes:
- cluster: lab
  class: main-small
  pools:
    reserved: 0,4
    isolated: 1-3,5-15
  solvedFrom: 0123456789abcdef
"""


def merged(text: bytes, ours: bytes, theirs: bytes) -> tuple[bytes, ...]:
    """A text in the middle of merges, whose other side has other words: marked ones, and both sides
    left in.
    """
    lines = text.splitlines(keepends=True)
    half = min(len(lines) - 1, 4)
    head, tail = b"".join(lines[:half]), b"".join(lines[half:])
    other = tail.replace(ours, theirs)
    marked = b"<<<<<<< HEAD\n%s=======\n%s>>>>>>> other\n"
    three = b"<<<<<<< HEAD\n%s||||||| base\n%s=======\n%s>>>>>>> other\n"
    return (
        *(head + marked % (tail, other), head + three % (tail, b"", other), head + tail + other),
        *(
            marked % (text, b""),
            text.replace(b"\n", b"\r\n"),
            marked % (head, marked % (tail, other)),
        ),
    )


def documents() -> tuple[bytes, ...]:
    """The sample's own inventories and intents."""
    return tuple(
        path.read_bytes()
        for name in ("inventories", "intents")
        for path in sorted((REPOSITORY / name).glob("*.yaml"))
    )


CPU_LISTS = (
    b"0-3,8",
    b"0-110:1/2",
    b"(null)",
    b"00000000,000000ff",
    b"0,2,4-7\n",
    b"0-4294967295",
    b"1000000000",
)
#: What mutations put in: words that the formats give a meaning.
TOKENS = (
    *(
        b"\0",
        b"\xff",
        b"-1",
        b"4294967295",
        b"9" * 5000,
        b"0x" + b"f" * 5000,
        b"0-8191",
        b"../" * 30,
        b"/etc/passwd",
    ),
    *(
        b"&a ",
        b"*a",
        b"<<: ",
        b"!!int ",
        b"- " * 200,
        b"[" * 200,
        b"{" * 200,
        b'<object type="Core">',
        b"&lt;",
        b"<!--",
    ),
    *(
        b"\n\n",
        b"\r",
        b"\xc2\x85",
        b"\xe2\x80\xa8",
        b"\xed\xa0\x80",
        b"null",
        b"1e999",
        b'"',
        b"'",
        b"\\ud800",
        b"\xd9\xa3",
    ),
)
