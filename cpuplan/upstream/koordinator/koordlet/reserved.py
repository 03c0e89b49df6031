"""The CPUs that are kept back: by the kubelet, and by annotations of the node."""

from cpuplan.upstream.koordinator.annotations.node import (
    NodeReservation,
    SystemQos,
    read_reservation,
    read_system_qos,
)
from cpuplan.upstream.koordinator.annotations.node import reserved_cpus as reserved_of
from cpuplan.upstream.koordinator.annotations.values import Annotations
from cpuplan.upstream.koordinator.cpulists import parse_cpus
from cpuplan.upstream.koordinator.koordlet.node import Kubelet
from cpuplan.upstream.kubelet.bits import to_text
from cpuplan.upstream.kubelet.cpu.cpu_assignment import take_by_topology_numa_packed
from cpuplan.upstream.kubelet.cpu.topology import CPUTopology
from cpuplan.upstream.kubelet.errors import KubeletError
from cpuplan.upstream.kubelet.nodeallocatable import parse_reserved, reserve_cpus
from cpuplan.upstream.kubelet.pods.pod import CPU
from cpuplan.upstream.kubelet.quantity import ZERO


def kubelet_reserved(kubelet: Kubelet, topology: CPUTopology) -> int:
    """The CPUs that the kubelet's static policy keeps (GetStaticCPUManagerPolicyReservedCPUs).

    None at all where koordlet cannot work them out, whatever the kubelet does then.
    """
    system, kube = dict(kubelet.system_reserved), dict(kubelet.kube_reserved)
    try:
        named = reserve_cpus(kubelet.reserved_system_cpus, topology.all, system, kube)
        of_system, of_kube = (parse_reserved(given).get(CPU, ZERO) for given in (system, kube))
        milli = of_system.plus(of_kube).milli
        if not milli:
            return 0
        count = -(-milli // 1000)
        reserved = named or take_by_topology_numa_packed(topology, topology.all, count)
    except KubeletError:
        return 0
    return reserved if reserved.bit_count() == count else 0


def node_reserved(topology: CPUTopology, annotations: Annotations) -> NodeReservation:
    """The node's reservation, with the CPUs that are picked where it only says how many.

    A reservation or a list that cannot be read keeps nothing back.
    """
    try:
        reservation = read_reservation(annotations) or NodeReservation({})
    except KubeletError:
        reservation = NodeReservation({})
    listed, count = reserved_of(annotations)
    cpus = 0
    try:
        if listed:
            cpus = parse_cpus(listed)
        elif count > 0:
            cpus = take_by_topology_numa_packed(topology, topology.all, count)
    except KubeletError:
        cpus = 0
    if listed or count > 0:
        reservation = reservation._replace(reserved_cpus=to_text(cpus))
    return reservation


def node_system_qos(annotations: Annotations | None) -> SystemQos | None:
    """GetSystemQOSResource: None for a node without annotations; KubeletError with its text."""
    return None if annotations is None else read_system_qos(annotations)


def exclusive_system_cpus(system: SystemQos | None) -> int:
    """The CPUs that belong to pods of the class SYSTEM alone; none where the list is bad."""
    if system is None or not system.is_exclusive:
        return 0
    try:
        return parse_cpus(system.cpuset)
    except KubeletError:
        return 0
