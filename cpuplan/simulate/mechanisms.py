"""What each mechanism promises: data that tables, documents and tests read."""

from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from cpuplan.facts import programs
from cpuplan.facts.programs import Program
from cpuplan.facts.versions import to_text

#: The names of targets' mechanisms, in the order of the tables.
KUBELET, DRA, BALLOONS = "kubelet", "dra", "balloons"
TOPOLOGY_AWARE, KOORDINATOR = "topology-aware", "koordinator"
MECHANISMS = (KUBELET, DRA, BALLOONS, TOPOLOGY_AWARE, KOORDINATOR)


def _newest(program: Program) -> str:
    return f"{program.title} {to_text(programs.latest(program))}"


#: The releases that the answers are for.
RELEASES = MappingProxyType(
    {
        KUBELET: f"{_newest(programs.KUBERNETES)}, static policy",
        DRA: "dra-driver-cpu after 0.2.0",
        BALLOONS: _newest(programs.NRI_PLUGINS),
        TOPOLOGY_AWARE: _newest(programs.NRI_PLUGINS),
        KOORDINATOR: _newest(programs.KOORDINATOR),
    }
)


_WORDS = MappingProxyType(
    {
        KUBELET: "the kubelet's static policy",
        DRA: "the DRA CPU driver",
        BALLOONS: "the NRI balloons policy",
        TOPOLOGY_AWARE: "the topology-aware NRI policy",
        KOORDINATOR: "Koordinator",
    }
)


def mechanism_words(mechanism: str) -> str:
    """How a sentence names a mechanism."""
    return _WORDS[mechanism]


class Answer(StrEnum):
    """How far a mechanism holds a promise."""

    YES = "yes"
    PREFERRED = "preferred"
    NO = "no"


class Held(NamedTuple):
    """The answer, for whom or by what it holds, and the file that says so."""

    answer: Answer
    by: str
    source: str

    @property
    def text(self) -> str:
        """`yes: Guaranteed pods with whole CPUs`."""
        return f"{self.answer}: {self.by}" if self.by else str(self.answer)


class Promise(NamedTuple):
    """What users count on, and what each mechanism makes of it."""

    name: str
    title: str
    held: MappingProxyType[str, Held]


_STATIC = "kubernetes pkg/kubelet/cm/cpumanager/policy_static.go"
_DRIVER = "dra-driver-cpu pkg/driver"
_DEVICES = "dra-driver-cpu pkg/device"
_BALLOON = "nri-plugins cmd/plugins/balloons/policy"
_POOLS = "nri-plugins cmd/plugins/topology-aware/policy"
_KOORD = "koordinator pkg/scheduler/plugins/nodenumaresource"
_KOORDLET = "koordinator pkg/koordlet"
_RESOURCES = "kubernetes staging/src/k8s.io/dynamic-resource-allocation"
_NRI = "containerd/nri pkg/adaptation"


def _yes(by: str, source: str) -> Held:
    return Held(Answer.YES, by, source)


def _preferred(by: str, source: str) -> Held:
    return Held(Answer.PREFERRED, by, source)


def _no(by: str, source: str) -> Held:
    return Held(Answer.NO, by, source)


def _promise(name: str, title: str, *held: Held) -> Promise:
    return Promise(name, title, MappingProxyType(dict(zip(MECHANISMS, held, strict=True))))


PROMISES = (
    _promise(
        "exclusive",
        "CPUs of its own",
        _yes("Guaranteed pods with whole CPUs", _STATIC),
        _yes("pods with a claim, of any QoS class", _DRIVER),
        _preferred("a balloon for each container; when no CPU is free, they share one", _BALLOON),
        _yes("Guaranteed pods with whole CPUs", _POOLS),
        _yes("LSE pods; LSR pods share with BE pods", _KOORD),
    ),
    _promise(
        "whole-cores",
        "whole cores",
        _yes("full-pcpus-only", _STATIC),
        _no("claims of single CPUs can ask for one core: matchAttribute dra.cpu/coreID", _DRIVER),
        _no("only balloons of a fixed size, with devices that stand for cores", _BALLOON),
        _preferred("idle cores first", _POOLS),
        _yes("required FullPCPUs, of the pod or the node", _KOORD),
    ),
    _promise(
        "cache",
        "one last-level cache",
        _preferred("prefer-align-cpus-by-uncorecache", _STATIC),
        _preferred("claims of single CPUs hold it: matchAttribute dra.cpu/cacheL3ID", _DRIVER),
        _preferred("idle cache groups first, or devices", _BALLOON),
        _preferred("a pool for each cache", _POOLS),
        _no("", _KOORD),
    ),
    _promise(
        "devices",
        "the NUMA node of its devices",
        _yes("Topology Manager: single-numa-node, restricted", "kubernetes pkg/kubelet/cm"),
        _yes("matchAttribute numaNode, in one claim with the device", _RESOURCES),
        _preferred("preferCloseToDevices, the pod resources API", _BALLOON),
        _preferred("topology hints; strict ones hold", _POOLS),
        _yes("SingleNUMANode", _KOORD),
    ),
    _promise(
        "memory",
        "memory of its NUMA node",
        _yes("Memory Manager, policy Static", "kubernetes pkg/kubelet/cm/memorymanager"),
        _no("", _DRIVER),
        _preferred("cpuset.mems, which grow with the balloon", _BALLOON),
        _preferred("cpuset.mems, which widen when memory is short", _POOLS),
        _no("", _KOORD),
    ),
    _promise(
        "mixed",
        "shared and exclusive CPUs in one container",
        _no("OpenShift's mixed CPUs add them at the start", _STATIC),
        _no("", _DRIVER),
        _no("idle CPUs that it shares are not reserved", _BALLOON),
        _yes("Guaranteed pods with fractions, by prefer-shared-cpus: false", _POOLS),
        _no("", _KOORD),
    ),
    _promise(
        "qos",
        "CPU sets of QoS classes",
        _no("", _STATIC),
        _no("", _DRIVER),
        _yes("a balloon for each class", _BALLOON),
        _no("", _POOLS),
        _yes("BE pods, by load", f"{_KOORDLET}/qosmanager"),
    ),
    _promise(
        "partitions",
        "named partitions",
        _no("", _STATIC),
        _yes("a DeviceClass for each, with single CPUs as devices", _DEVICES),
        _yes("a balloon for each", _BALLOON),
        _no("", _POOLS),
        _no("", _KOORD),
    ),
    _promise(
        "numbers",
        "CPU numbers as planned",
        _preferred("reserved CPUs only", _STATIC),
        _preferred("reserved CPUs; partitions of single CPUs", _DEVICES),
        _preferred("reserved and available CPUs; devices that stand for cores", _BALLOON),
        _preferred("reserved and available CPUs", _POOLS),
        _preferred("reserved CPUs only", _KOORD),
    ),
    _promise(
        "scheduler",
        "known before a pod is bound",
        _preferred("how many CPUs, and not which", _STATIC),
        _yes("devices and their capacity", _RESOURCES),
        _no("", _BALLOON),
        _no("", _POOLS),
        _yes("which CPUs", _KOORD),
    ),
    _promise(
        "refusal",
        "refusal where there is no room",
        _yes("by the kubelet: the pod fails", _STATIC),
        _yes("by the scheduler, else by the driver: the pod waits", _DRIVER),
        _preferred("the container is not created, and tried again", _BALLOON),
        _yes("the container is not created, and tried again", _POOLS),
        _yes("by the scheduler: the pod waits", _KOORD),
    ),
    _promise(
        "restart",
        "same CPUs after a restart",
        _yes("cpu_manager_state", "kubernetes pkg/kubelet/cm/cpumanager/state"),
        _preferred("running containers; claims that are only prepared are forgotten", _DRIVER),
        _preferred("allocated again in the order of creation", _BALLOON),
        _no("allocated again in any order", _POOLS),
        _yes("an annotation of the pod", _KOORD),
    ),
    _promise(
        "agent",
        "pinned while the agent is away",
        _yes("the kubelet is the agent", _STATIC),
        _no("new containers run on all CPUs, unless the runtime requires the plugin", _NRI),
        _no("new containers run on all CPUs, unless the runtime requires the plugin", _NRI),
        _no("new containers run on all CPUs, unless the runtime requires the plugin", _NRI),
        _no("new containers get the kubelet's default", _KOORDLET),
    ),
    _promise(
        "isolcpus",
        "kernel-isolated CPUs are told apart",
        _no("", _STATIC),
        _no("", _DRIVER),
        _preferred("preferIsolCpus", _BALLOON),
        _yes("require-isolated-cpus", _POOLS),
        _no("", _KOORD),
    ),
    _promise(
        "live",
        "changed without a drain",
        _no("drain, and delete the state file", _STATIC),
        _no("restart, and drain", _DRIVER),
        _yes("containers are moved", _BALLOON),
        _preferred("containers stay where they fit", _POOLS),
        _yes("for new pods", _KOORD),
    ),
)
