"""What a kubelet would refuse at its start, or silently not do: said before a node has to find
out.
"""

import re
from collections.abc import Iterator, Mapping

from cpuplan import versions
from cpuplan.components import chosen, eviction, hugepages, kubelet, memory
from cpuplan.cpuset import cpus_text, union
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.kubelet.config import fields as kubelet_fields
from cpuplan.kubelet.releases.policyoptions import (
    CLOSEST,
    DEFAULT_MAX_NUMA_NODES,
    EXCLUSIVE,
    MAX_NUMA_NODES,
)
from cpuplan.model.base import fields_of
from cpuplan.model.tuning import Kubelet
from cpuplan.plan import NodePlan
from cpuplan.quantity import to_text
from cpuplan.read.names import did_you_mean
from cpuplan.source import At, Locate, Position

#: What Go's ParseBool takes.
BOOLEANS = {
    "true": ("1", "t", "T", "TRUE", "true", "True"),
    "false": ("0", "f", "F", "FALSE", "false", "False"),
}
_COUNT, _CPU_AMOUNT = re.compile("[0-9]+"), re.compile(r"[0-9]+(\.[0-9]+)?|[0-9]+m")


def check(plan: NodePlan, locate: Locate) -> list[Diagnostic]:
    """Everything about KubeletConfiguration, by the version of the target."""

    def at(field: str) -> Position | None:
        return locate(plan.node_class.place(f"kubelet.{field}"))

    return [
        *_check_drop_in(plan, locate),
        *_check_further(plan, at),
        *_check_options(plan, at, "cpuManagerPolicyOptions", versions.CPU_OPTIONS),
        *_check_options(plan, at, "topologyManagerPolicyOptions", versions.TOPOLOGY_OPTIONS),
        *_check_static(plan, at),
        *_check_topology(plan, at),
        *_check_quantities(plan, at),
        *eviction.check(plan, at),
        *_check_memory(plan, at),
    ]


def _check_drop_in(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    target = plan.node_class.target
    if target.platform == "kubernetes" and not versions.has(target, "kubelet.config_dir"):
        position = locate(plan.node_class.place(plan.node_class.target_field("version")))
        yield diagnose("CP502", position, version=target.version, path=f"/{kubelet.DROP_IN}")


#: Fields with which the machine config operator takes no KubeletConfig (its
#: pkg/controller/kubelet-config).
FORBIDDEN_ON_OPENSHIFT = (
    "cgroupDriver",
    "clusterDNS",
    "clusterDomain",
    "featureGates",
    "staticPodPath",
)
#: Fields that follow from something else than the field of the same name in an intent.
_FROM_ELSEWHERE = {kubelet.RESERVED_CPUS: "pools", "apiVersion": "the target", "kind": "the target"}


def _check_further(plan: NodePlan, at: At) -> Iterator[Diagnostic]:
    """Fields of `configuration`: known, of the right type, with no place of their own, and
    allowed.
    """
    spec = plan.spec.kubelet
    own = fields_of(Kubelet).keys() & {*kubelet_fields.NAMES}
    for name, value in sorted(spec.configuration.items()):
        position = at(f"configuration.{name}:")
        drivers = spec.dynamic_resource_allocation and name == kubelet.RESERVED_CPUS
        if (name in own or name in _FROM_ELSEWHERE) and not drivers:
            yield diagnose(
                "CP544", position, field=name, place=_FROM_ELSEWHERE.get(name, f"kubelet.{name}")
            )
        elif name not in kubelet_fields.NAMES:
            yield diagnose(
                "CP545", position, field=name, hint=did_you_mean(name, kubelet_fields.NAMES)
            )
        elif not kubelet_fields.fits(name, value):
            place, expected = at(f"configuration.{name}"), kubelet_fields.expected(name)
            yield diagnose("CP546", place, field=name, value=value, expected=expected)
        elif plan.node_class.target.platform == "openshift" and name in FORBIDDEN_ON_OPENSHIFT:
            yield diagnose("CP547", position, field=name)
        else:
            for path in kubelet_fields.unknown({name: value}, kubelet_fields.KIND, ""):
                yield diagnose("CP545", at(f"configuration.{name}"), field=path, hint="take it out")


def _given(plan: NodePlan, field: str) -> dict[str, str]:
    spec = plan.spec.kubelet
    cpu = field == "cpuManagerPolicyOptions"
    return spec.cpu_manager_policy_options if cpu else spec.topology_manager_policy_options


def _check_options(
    plan: NodePlan, at: At, field: str, table: dict[str, dict[str, versions.Version]]
) -> Iterator[Diagnostic]:
    """Options that the version lacks or only has behind a gate, and values that it cannot read."""
    version = versions.kubernetes_version(plan.node_class.target) or (0, 0)
    for option, value in sorted(_given(plan, field).items()):
        position = at(f"{field}.{option}:")
        levels = table.get(option)
        if levels is None:
            yield diagnose(
                "CP503", position, field=field, option=option, hint=did_you_mean(option, table)
            )
            continue
        level = versions.maturity(levels, version)
        if level is None:
            since = versions.to_text(next(iter(levels.values())))
            yield diagnose(
                "CP504", position, option=option, since=since, version=versions.to_text(version)
            )
        elif level == "alpha":
            gate = (
                "CPUManagerPolicyAlphaOptions"
                if field.startswith("cpu")
                else "TopologyManagerPolicyAlphaOptions"
            )
            yield diagnose(
                "CP505", position, option=option, version=versions.to_text(version), gate=gate
            )
        yield from _check_value(at(f"{field}.{option}"), option, value)


def _check_value(position: Position | None, option: str, value: str) -> Iterator[Diagnostic]:
    if option == MAX_NUMA_NODES:
        if not value.isdecimal() or int(value) < DEFAULT_MAX_NUMA_NODES:
            wanted = f"a number from {DEFAULT_MAX_NUMA_NODES} up"
            yield diagnose("CP506", position, option=option, value=value, wanted=wanted)
    elif not any(value in words for words in BOOLEANS.values()):
        yield diagnose("CP506", position, option=option, value=value, wanted='"true" or "false"')


def _is_on(options: dict[str, str], option: str) -> bool:
    return options.get(option) in BOOLEANS["true"]


def _check_static(plan: NodePlan, at: At) -> Iterator[Diagnostic]:
    """Rules of the CPU manager's policies; beside DRA drivers it has none."""
    spec, field = plan.spec.kubelet, "cpuManagerPolicyOptions"
    if spec.dynamic_resource_allocation or spec.cpu_manager_policy == "none":
        if given := spec.cpu_manager_policy_options:
            yield diagnose("CP507", at(field), options=", ".join(sorted(given)))
        return
    options = {option: value for option, (value, _) in kubelet.cpu_options(plan).items()}
    for first, second in EXCLUSIVE:
        if _is_on(options, first) and _is_on(options, second):
            yield diagnose("CP509", at(f"{field}.{second}"), first=first, second=second)
    if _is_on(options, "align-by-socket"):
        topology = plan.topology
        if spec.topology_manager_policy == "single-numa-node":
            yield diagnose(
                "CP509",
                at(f"{field}.align-by-socket"),
                first="align-by-socket",
                second="single-numa-node",
            )
        elif len(topology.sockets) > len(topology.numa_nodes):
            sockets, nodes = len(topology.sockets), len(topology.numa_nodes)
            yield diagnose("CP510", at(f"{field}.align-by-socket"), sockets=sockets, nodes=nodes)
    hidden = union(kubelet.hidden_cpus(plan).values())
    if hidden and not _is_on(options, "strict-cpu-reservation"):
        are = "is" if len(hidden) == 1 else "are"
        yield diagnose("CP526", at(field), cpus=cpus_text(hidden), are=are)
    target = plan.node_class.target
    if (
        _is_on(options, "strict-cpu-reservation")
        and target.platform == "openshift"
        and not target.cpu_partitioning
    ):
        yield diagnose("CP511", at(f"{field}.strict-cpu-reservation"))


def _check_topology(plan: NodePlan, at: At) -> Iterator[Diagnostic]:
    """Machines that the topology manager refuses, or panics on; the policy none looks at
    nothing.
    """
    if chosen.topology_policy(plan) == "none":
        return
    options = plan.spec.kubelet.topology_manager_policy_options
    nodes = list(plan.topology.numa_facts)
    given = options.get(MAX_NUMA_NODES, "")
    limit = int(given) if given.isdecimal() else DEFAULT_MAX_NUMA_NODES
    if len(nodes) > limit:
        hardware = plan.node_class.hardware
        yield diagnose(
            "CP512", at("topologyManagerPolicy"), count=len(nodes), limit=limit, hardware=hardware
        )
    if _is_on(options, CLOSEST) and nodes != list(range(len(nodes))):
        position = at(f"topologyManagerPolicyOptions.{CLOSEST}")
        yield diagnose(
            "CP513", position, nodes=", ".join(map(str, nodes)), hardware=plan.node_class.hardware
        )


def _check_quantities(plan: NodePlan, at: At) -> Iterator[Diagnostic]:
    amounts = (
        ("kubeReserved", chosen.kube_reserved(plan)),
        ("systemReserved", chosen.system_reserved(plan)),
    )
    for field, given in amounts:
        for key, value in given.items():
            count = {"pid": _COUNT, "cpu": _CPU_AMOUNT}.get(key)
            right = count.fullmatch(value) if count else memory.size_of(value) is not None
            if not right:
                yield diagnose("CP514", at(f"{field}.{key}"), field=f"{field}.{key}", value=value)


def _check_memory(plan: NodePlan, at: At) -> Iterator[Diagnostic]:
    """The memory manager's arithmetic (pkg/kubelet/cm/memorymanager, validateReservedMemory)."""
    spec = plan.spec.kubelet
    if not memory.uses_memory_manager(plan):
        if spec.reserved_memory:
            yield diagnose("CP519", at("reservedMemory"))
        return
    threshold = memory.threshold(plan)
    if threshold.endswith("%"):
        yield diagnose("CP516", at("evictionHard.memory.available"), value=threshold)
        return
    wanted = memory.reservation(plan)
    if spec.reserved_memory:
        yield from _check_given(plan, at, wanted)
    elif missing := memory.placed(plan)[1]:
        hardware = plan.node_class.hardware
        yield diagnose(
            "CP518",
            at("systemReserved"),
            missing=to_text(missing),
            wanted=to_text(wanted),
            hardware=hardware,
        )


def _check_given(plan: NodePlan, at: At, wanted: int) -> Iterator[Diagnostic]:
    given = memory.reserved(plan)
    if sum(given.values()) != wanted:
        yield diagnose(
            "CP517",
            at("reservedMemory"),
            found=to_text(sum(given.values())),
            wanted=to_text(wanted),
        )
    nodes = hugepages.memory_nodes(plan.topology)
    for index, entry in enumerate(plan.spec.kubelet.reserved_memory):
        if entry.numa_node not in nodes:
            known = ", ".join(map(str, nodes)) or "none"
            position = at(f"reservedMemory.{index}.numaNode")
            yield diagnose(
                "CP542",
                position,
                node=entry.numa_node,
                hardware=plan.node_class.hardware,
                nodes=known,
            )
    yield from _check_room(plan, at, given)


def _check_room(plan: NodePlan, at: At, given: Mapping[int, int]) -> Iterator[Diagnostic]:
    """A reservation that does not fit beside the huge pages of its NUMA node; pages that do not fit
    are CP543.
    """
    rooms = hugepages.room(plan)
    listed = [entry.numa_node for entry in plan.spec.kubelet.reserved_memory]
    for node, asked in given.items():
        room = rooms.get(node)
        if room is not None and 0 <= room < asked:
            yield diagnose(
                "CP559",
                at(f"reservedMemory.{listed.index(node)}.memory"),
                asked=to_text(asked),
                node=node,
                room=to_text(room // hugepages.MIB * hugepages.MIB),
                hardware=plan.node_class.hardware,
            )
