"""Nodes and their NodeResourceTopologies: labels, annotations, and what others write there."""

from collections.abc import Iterator, Mapping

from cpuplan.base.text import did_you_mean
from cpuplan.diagnostics import Diagnostic
from cpuplan.diagnostics.source import Field
from cpuplan.platforms.versions import Version
from cpuplan.simulate.koordinatorfiles.metadata import (
    said,
    unread_fields,
    unread_names,
    unreadable,
)
from cpuplan.simulate.koordinatorfiles.objects import Object
from cpuplan.simulate.koordinatorfiles.pods import NUMA_POLICIES
from cpuplan.upstream.koordinator.extension import constants, numa_aware
from cpuplan.upstream.koordinator.extension import node as annotations
from cpuplan.upstream.koordinator.extension.releases import NODE_NAMES
from cpuplan.upstream.koordinator.util import parse_cpus
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.pod import CPU

_LABELS: Field = ("metadata", "labels")
_ANNOTATIONS: Field = ("metadata", "annotations")
_BIND = (numa_aware.NODE_NONE, numa_aware.FULL_PCPUS_ONLY, numa_aware.NODE_SPREAD_BY_PCPUS)
_STRATEGIES = ("MostAllocated", "LeastAllocated")
_APPLY = (annotations.APPLY_DEFAULT, annotations.RESERVED_CPUS_ONLY)
_RATIOS = {
    constants.AMPLIFICATION_RATIO: "resource-amplification-config",
    constants.NORMALIZATION_RATIO: "cpu-normalization-config",
}
#: What koordlet writes into the NodeResourceTopology; on a Node nobody reads it.
_OF_KOORDLET = (
    constants.CPU_BASIC_INFO,
    constants.CPU_TOPOLOGY,
    constants.CPU_SHARED_POOLS,
    constants.BE_CPU_SHARED_POOLS,
    constants.POD_CPU_ALLOCS,
    constants.CPU_MANAGER_POLICY,
)


def check_node(found: Object, release: Version) -> Iterator[Diagnostic]:
    """Everything about a Node."""
    yield from unread_names(found, NODE_NAMES, release, ("metadata",))
    yield from _labels(found, release)
    texts = found.annotations
    if constants.RESERVATION in texts:
        yield from _reservation(found, texts, release)
    if constants.SYSTEM_QOS_RESOURCE in texts and NODE_NAMES[constants.SYSTEM_QOS_RESOURCE].has(
        release
    ):
        yield from _system_qos(found, texts, release)
    if not found.is_live:
        yield from _written_by_others(found, texts)


def _labels(found: Object, release: Version) -> Iterator[Diagnostic]:
    labels = found.labels
    policy = labels.get(constants.NUMA_TOPOLOGY_POLICY, "")
    is_read = NODE_NAMES[constants.NUMA_TOPOLOGY_POLICY].has(release)
    if is_read and policy and policy not in NUMA_POLICIES:
        yield found.finding(
            "CP643",
            (*_LABELS, constants.NUMA_TOPOLOGY_POLICY),
            key=constants.NUMA_TOPOLOGY_POLICY,
            value=policy,
            program="koord-scheduler",
            hint=f"for no policy leave the label out; {did_you_mean(policy, NUMA_POLICIES)}",
        )
    bind = labels.get(constants.CPU_BIND_POLICY, "")
    if bind and bind not in _BIND:
        problem = "this is no policy, and pods are bound as they ask"
        yield _label(found, constants.CPU_BIND_POLICY, bind, problem, did_you_mean(bind, _BIND))
    strategy = labels.get(constants.NUMA_ALLOCATE_STRATEGY, "")
    if strategy and strategy not in _STRATEGIES:
        problem = "it is treated as LeastAllocated"
        hint = did_you_mean(strategy, _STRATEGIES)
        yield _label(found, constants.NUMA_ALLOCATE_STRATEGY, strategy, problem, hint)
    reserves = labels.get(constants.ENABLE_NUMA_RESERVATION)
    if reserves not in (None, "true", "false"):
        problem = 'only "true" switches it on'
        yield _label(found, constants.ENABLE_NUMA_RESERVATION, reserves, problem, 'write "true"')


def _label(found: Object, key: str, value: object, problem: str, hint: str) -> Diagnostic:
    field = (*_LABELS, key)
    return found.finding("CP645", field, name=key, value=value, problem=problem, hint=hint)


def _reservation(found: Object, texts: Mapping[str, str], release: Version) -> Iterator[Diagnostic]:
    field = (*_ANNOTATIONS, constants.RESERVATION)
    try:
        given = annotations.read_reservation(texts)
        parse_cpus(given.reserved_cpus if given else "")
    except KubeletError as error:
        yield unreadable(found, field, error, '{"reservedCPUs": "0-1"}')
        return
    if given is None:
        return
    yield from unread_fields(found, field, said(texts[constants.RESERVATION]), release)
    if given.apply_policy and given.apply_policy not in _APPLY:
        hint = did_you_mean(given.apply_policy, _APPLY)
        problem = "this is no policy, and it is applied as Default"
        values = {"name": "applyPolicy", "value": given.apply_policy, "problem": problem}
        yield found.finding("CP645", field, **values, hint=hint)
    if given.reserved_cpus and CPU in given.resources:
        problem = "reservedCPUs names the CPUs, and the number is not looked at"
        values = {"name": "resources.cpu", "value": str(given.resources[CPU]), "problem": problem}
        yield found.finding("CP645", field, **values, hint="leave one of the two out")


def _system_qos(found: Object, texts: Mapping[str, str], release: Version) -> Iterator[Diagnostic]:
    field = (*_ANNOTATIONS, constants.SYSTEM_QOS_RESOURCE)
    try:
        parse_cpus(annotations.read_system_qos(texts).cpuset)
    except KubeletError as error:
        yield unreadable(found, field, error, '{"cpuset": "2-3"}')
        return
    given = said(texts[constants.SYSTEM_QOS_RESOURCE])
    yield from unread_fields(found, field, given, release)


def _written_by_others(found: Object, texts: Mapping[str, str]) -> Iterator[Diagnostic]:
    for key, config in _RATIOS.items():
        if key in texts:
            problem = f"it removes a ratio that {config} does not ask for"
            hint = f"set the ratio in {config} of slo-controller-config"
            yield _owned(found, key, "koord-manager", problem, hint)
    if constants.RAW_ALLOCATABLE in texts:
        problem = "its webhook keeps there what the kubelet reported"
        yield _owned(found, constants.RAW_ALLOCATABLE, "koord-manager", problem, "leave it out")
    for key in _OF_KOORDLET:
        if key in texts:
            problem = "it writes it into the NodeResourceTopology, and nobody reads it on the Node"
            yield _owned(found, key, "koordlet", problem, "leave it out")


def _owned(found: Object, key: str, owner: str, problem: str, hint: str) -> Diagnostic:
    field = (*_ANNOTATIONS, key)
    return found.finding("CP646", field, name=key, owner=owner, problem=problem, hint=hint)


def check_topology(found: Object) -> Iterator[Diagnostic]:
    """A NodeResourceTopology of Koordinator that is not read from a cluster."""
    if found.is_live:
        return
    owned = [key for key in (*_OF_KOORDLET, constants.RESERVATION) if key in found.annotations]
    if owned:
        problem = "it makes annotations and zones anew every few seconds"
        hint = "keep the object out of what is synced; set reservations on the Node"
        field = (*_ANNOTATIONS, owned[0])
        yield found.finding(
            "CP646", field, name=owned[0], owner="koordlet", problem=problem, hint=hint
        )
