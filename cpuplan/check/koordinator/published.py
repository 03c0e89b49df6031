"""Labels and annotations of a node and of its NodeResourceTopology."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from cpuplan.check.koordinator.pools import bound, pools
from cpuplan.check.koordinator.subject import Subject
from cpuplan.components.koordinator import node as metadata
from cpuplan.components.published import koordlet
from cpuplan.cpuset import CpuSet
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.koordinator import keys
from cpuplan.koordinator.annotations.topology import read_cpu_topology
from cpuplan.koordinator.cpulists import parse_cpus
from cpuplan.kubelet.errors import KubeletError
from cpuplan.simulate.koordinatorfiles.objects import NRT, Object
from cpuplan.source import Field
from cpuplan.text import counted, joined

_ANNOTATIONS: Field = ("metadata", "annotations")
#: Labels and annotations of nodes that nobody but the compiled patch should set.
_OWN = (
    keys.CPU_BIND_POLICY,
    keys.NUMA_ALLOCATE_STRATEGY,
    keys.NUMA_TOPOLOGY_POLICY,
    keys.ENABLE_NUMA_RESERVATION,
    keys.RESERVATION,
    keys.SYSTEM_QOS_RESOURCE,
)
#: Annotations of the topology that do not change with pods.
_FIXED = (
    keys.CPU_TOPOLOGY,
    keys.CPU_MANAGER_POLICY,
    keys.RESERVATION,
    keys.SYSTEM_QOS_RESOURCE,
)
#: Fields in annotations that are CPU lists, which koordlet writes in a form of its own.
_LISTS = ("cpuset", "reservedCPUs")


def check(subject: Subject) -> list[Diagnostic]:
    """CP880 to CP884."""
    found = list(_missing(subject))
    reported: set[str] = set()
    if subject.found.node:
        for key, finding in _node(subject, subject.found.node):
            reported.add(key)
            found.append(finding)
    if subject.found.topology:
        found += _topology(subject, subject.found.topology, reported)
    pods = list(subject.pods())
    wanted = koordlet.computed(subject.plan, [pod for _, pod in pods])
    if subject.found.topology and not reported:
        found += pools(subject, subject.found.topology, wanted)
    return [*found, *bound(subject, pods, wanted)]


def _missing(subject: Subject) -> Iterator[Diagnostic]:
    for kind, found in (("Node", subject.found.node), (NRT, subject.found.topology)):
        if found is None:
            yield diagnose("CP881", kind=kind, node=subject.name)


def _node(subject: Subject, found: Object) -> Iterator[tuple[str, Diagnostic]]:
    """Keys of the compiled patch that the Node has otherwise, and those that nobody compiled."""
    settings = subject.plan.settings.of(metadata.NAME)
    made = metadata.metadata(settings)
    wanted = {**made.get("labels", {}), **made.get("annotations", {})}
    for key in dict.fromkeys((*wanted, *_OWN)):
        group = "labels" if key in found.labels else "annotations"
        text = found.labels.get(key, found.annotations.get(key))
        if _value(text) != _value(wanted.get(key)):
            place = found.source.value_at((*found.at, "metadata", group, key))
            labels = subject.labels(setting for setting in settings if setting.key == key)
            shown, expected = _shown(text), _shown(wanted.get(key))
            yield (
                key,
                diagnose(
                    "CP880",
                    place,
                    labels=labels,
                    node=subject.name,
                    key=key,
                    found=shown,
                    wanted=expected,
                ),
            )


def _shown(text: str | None, key: str = "") -> str:
    if text is None:
        return "nothing"
    return _machine(_groups(text)) if key == keys.CPU_TOPOLOGY else text


def _groups(text: str) -> dict[int, tuple[int, int, int]]:
    """Of each CPU the first one of its core and of its socket, and its NUMA node.

    The numbers of cores and sockets are only names.
    """
    try:
        cpus = read_cpu_topology({keys.CPU_TOPOLOGY: text})
    except KubeletError:
        return {}
    cores: dict[tuple[int, int], int] = {}
    sockets: dict[int, int] = {}
    made = {}
    for cpu in sorted(cpus):
        core = cores.setdefault((cpu.socket, cpu.core), cpu.id)
        made[cpu.id] = (core, sockets.setdefault(cpu.socket, cpu.id), cpu.node)
    return made


def _machine(groups: Mapping[int, tuple[int, int, int]]) -> str:
    if not groups:
        return "a value that cannot be read"
    cores, sockets, nodes = (len(set(column)) for column in zip(*groups.values(), strict=True))
    parts = (counted(cores, "core"), counted(sockets, "socket"), counted(nodes, "NUMA node"))
    return f"CPUs {CpuSet(groups)} in {joined(parts)}"


def _value(text: str | None, key: str = "") -> Any:
    """A value to compare: JSON with its CPU lists as sets, else the text."""
    if key == keys.CPU_TOPOLOGY:
        return _groups(text or "")
    try:
        return _with_sets(json.loads(text or ""))
    except ValueError:
        return text


def _with_sets(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_sets(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _set_of(item) if key in _LISTS else _with_sets(item) for key, item in value.items()
    }


def _set_of(text: Any) -> Any:
    try:
        return parse_cpus(text)
    except (KubeletError, AttributeError, TypeError):
        return text


def _topology(subject: Subject, found: Object, reported: set[str]) -> Iterator[Diagnostic]:
    """Annotations that koordlet should have written, whatever pods there are."""
    wanted = koordlet.annotations(subject.plan)
    for key in _FIXED:
        text = found.annotations.get(key)
        if key in reported or key not in wanted or _value(text, key) == _value(wanted[key], key):
            continue
        place = found.source.value_at((*found.at, *_ANNOTATIONS, key))
        shown, expected = _shown(text, key), _shown(wanted[key], key)
        yield diagnose("CP882", place, node=subject.name, key=key, found=shown, wanted=expected)
