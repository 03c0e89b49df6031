"""Labels and annotations of a node and of its NodeResourceTopology."""

from collections.abc import Iterator, Mapping
from typing import Any

from cpuplan.base.cpuset import CpuSet
from cpuplan.base.served.json import ForeignError, Limits, load, measure
from cpuplan.base.text import counted, joined
from cpuplan.check.cluster.koordinator.pools import bound, pools
from cpuplan.check.cluster.objects import Absent
from cpuplan.check.cluster.subject import Subject
from cpuplan.components import derived
from cpuplan.components.koordinator import node as metadata
from cpuplan.components.published import koordlet, nrt
from cpuplan.components.published.document import ANNOTATIONS
from cpuplan.diagnostics.source import Field
from cpuplan.language.read.pods import value_of
from cpuplan.plan.expected.answer import Answer, Verdict
from cpuplan.plan.setting import Setting
from cpuplan.simulate.koordinatorfiles.objects import NRT, Object
from cpuplan.simulate.koordinatorfiles.pods import pod_problems
from cpuplan.upstream.koordinator.extension import constants
from cpuplan.upstream.koordinator.extension.numa_aware import read_cpu_topology
from cpuplan.upstream.koordinator.util import parse_cpus
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.pod import Pod, read_pod

_DONE = ("Succeeded", "Failed")
_ANNOTATIONS: Field = ("metadata", "annotations")
#: Labels and annotations of nodes that nobody but the compiled patch should set.
_OWN = (
    constants.CPU_BIND_POLICY,
    constants.NUMA_ALLOCATE_STRATEGY,
    constants.NUMA_TOPOLOGY_POLICY,
    constants.ENABLE_NUMA_RESERVATION,
    constants.RESERVATION,
    constants.SYSTEM_QOS_RESOURCE,
)
#: Annotations of the topology that do not change with pods.
_FIXED = (
    constants.CPU_TOPOLOGY,
    constants.CPU_MANAGER_POLICY,
    constants.RESERVATION,
    constants.SYSTEM_QOS_RESOURCE,
)
#: Fields in annotations that are CPU lists, which koordlet writes in a form of its own.
_LISTS = ("cpuset", "reservedCPUs")
#: All annotations of an object have at most 256 KiB.
_LIMITS = Limits(bytes=256 * 1024, values=100_000, depth=50)


def check(subject: Subject) -> Iterator[Answer]:
    """CP880 to CP884, where the target has Koordinator."""
    if not subject.expected.facts.get(derived.KOORDLET):
        return
    node = subject.objects.find("Node", subject.node)
    topology = subject.objects.find(NRT, subject.node)
    reported: set[str] = set()
    for key, answer in _node(subject, node):
        if answer.verdict is Verdict.DIFFERS:
            reported.add(key)
        yield answer
    yield from _topology(subject, topology, reported)
    pods = list(_pods(subject))
    try:
        wanted = koordlet.computed(subject.expected, [pod for _, pod in pods])
    except KubeletError as error:
        yield subject.unverifiable("koordlet CPUs of pods", f"koordlet reports nothing: {error}")
        return
    if isinstance(topology, Object) and not reported:
        yield from pools(subject, topology, wanted)
    if not subject.objects.is_known("Pod"):
        yield subject.unverifiable("koordlet CPUs of pods", _reason(subject, "Pod"))
    yield from bound(subject, pods, wanted)


def _reason(subject: Subject, kind: str) -> str:
    absent = subject.objects.find(kind, "")
    return absent.reason if isinstance(absent, Absent) else ""


def _pods(subject: Subject) -> Iterator[tuple[Object, Pod]]:
    """The running pods of the node that can be read."""
    for found in subject.objects.of_kind("Pod"):
        is_done = value_of(found.data, ("status", "phase")) in _DONE
        is_here = value_of(found.data, ("spec", "nodeName")) == subject.node
        if is_here and not is_done and not pod_problems(found):
            yield found, read_pod(found.data)


def _missing(subject: Subject, about: Setting | str, kind: str, absent: Absent) -> Answer:
    if absent.is_unknown:
        return subject.unverifiable(about, absent.reason)
    return subject.differs(
        about, "CP881", None, observed="nothing", expected="", kind=kind, node=subject.node
    )


def _node(subject: Subject, found: Object | Absent) -> Iterator[tuple[str, Answer]]:
    """Keys of the compiled patch that the Node has otherwise, and those that nobody compiled."""
    settings = subject.expected.settings.of(metadata.NAME)
    if isinstance(found, Absent):
        yield "", _missing(subject, "koordinator Node", "Node", found)
        return
    made = metadata.metadata(settings)
    wanted = {**made.get("labels", {}), **made.get("annotations", {})}
    by_key = {setting.key: setting for setting in settings}
    for key in dict.fromkeys((*wanted, *_OWN)):
        group = "labels" if key in found.labels else "annotations"
        text = found.labels.get(key, found.annotations.get(key))
        about = by_key.get(key, f"{metadata.NAME} {key}")
        if _value(text) == _value(wanted.get(key)):
            yield key, subject.held(about, found, _shown(text))
            continue
        yield (
            key,
            subject.differs(
                about,
                "CP880",
                (found, ("metadata", group, key)),
                observed=_shown(text),
                expected=_shown(wanted.get(key)),
                because=by_key[key].reasons if key in by_key else (),
                node=subject.node,
                key=key,
            ),
        )


def _shown(text: str | None, key: str = "") -> str:
    if text is None:
        return "nothing"
    return _machine(_groups(text)) if key == constants.CPU_TOPOLOGY else text


def _groups(text: str) -> dict[int, tuple[int, int, int]]:
    """Of each CPU the first one of its core and of its socket, and its NUMA node.

    The numbers of cores and sockets are only names.
    """
    try:
        cpus = read_cpu_topology({constants.CPU_TOPOLOGY: text})
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
    if key == constants.CPU_TOPOLOGY:
        return _groups(text or "")
    try:
        data = load(text or "", _LIMITS)
        measure(data, _LIMITS)
    except ForeignError:
        return text
    return _with_sets(data)


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


def _topology(subject: Subject, found: Object | Absent, reported: set[str]) -> Iterator[Answer]:
    """Annotations that koordlet should have written, whatever pods there are."""
    if isinstance(found, Absent):
        yield _missing(subject, "koordlet NodeResourceTopology", NRT, found)
        return
    for setting in subject.expected.settings.of(nrt.NAME):
        key = setting.key.removeprefix(ANNOTATIONS)
        if key not in _FIXED or key in reported:
            continue
        text, wanted = found.annotations.get(key), str(setting.value)
        shown, expected = _shown(text, key), _shown(wanted, key)
        if _value(text, key) == _value(wanted, key):
            yield subject.held(setting, found, expected)
            continue
        yield subject.differs(
            setting,
            "CP882",
            (found, (*_ANNOTATIONS, key)),
            observed=shown,
            expected=expected,
            node=subject.node,
            key=key,
        )
