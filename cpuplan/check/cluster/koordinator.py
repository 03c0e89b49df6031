"""What Koordinator's programs publish of a node, against what was compiled.

Labels and annotations of the Node and of its NodeResourceTopology, and the CPUs that pods are
bound to.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from cpuplan.base.cpuset import CpuSet, cpus_text
from cpuplan.base.foreign import ForeignError, Limits, load, measure
from cpuplan.base.text import counted, joined
from cpuplan.check.cluster.live_objects import Absent, Subject
from cpuplan.components import derived, nrt
from cpuplan.components.koordinator import koordlet
from cpuplan.components.koordinator import node as metadata
from cpuplan.components.nrt import ANNOTATIONS
from cpuplan.diagnostics.source import Field
from cpuplan.language.read.pods import value_of
from cpuplan.plan.expected.evidence import Answer, Verdict
from cpuplan.plan.setting import Setting
from cpuplan.simulate.files.koordinator_pods import pod_problems
from cpuplan.simulate.files.objects import NRT, Object
from cpuplan.upstream.koordinator.extension import constants, qos
from cpuplan.upstream.koordinator.extension.numa_aware import (
    SharedPool,
    kubelet_bound,
    read_cpu_topology,
    read_pod_cpu_allocs,
    read_shared_pools,
)
from cpuplan.upstream.koordinator.koordlet.states_noderesourcetopology import (
    NodeTopology,
    bound_cpus,
    exclusive_system_cpus,
)
from cpuplan.upstream.koordinator.util import parse_cpus
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.pod import Pod, read_pod

_POD_ANNOTATIONS = ("metadata", "annotations")


def pools(subject: Subject, topology: Object, wanted: NodeTopology) -> Iterator[Answer]:
    """CP883 by NUMA node. Without the pods, a pool may be smaller, but never larger."""
    try:
        by_kubelet = kubelet_bound(read_pod_cpu_allocs(topology.annotations) or ())
        kinds = (
            (constants.CPU_SHARED_POOLS, False, wanted.ls_pools),
            (constants.BE_CPU_SHARED_POOLS, True, wanted.be_pools),
        )
        rows = [
            (
                key,
                _sets(read_shared_pools(topology.annotations, best_effort=is_be) or ()),
                _sets(made),
            )
            for key, is_be, made in kinds
            if key in topology.annotations
        ]
    except KubeletError as error:
        observed = f"a value that cannot be read ({error})"
        yield subject.differs(
            "koordlet pools",
            "CP882",
            (topology, _POD_ANNOTATIONS),
            observed=observed,
            expected="what it can read",
            node=subject.node,
            key="a pool or list of pods",
        )
        return
    for key, actual, expected in rows:
        yield from _pool(subject, topology, key, actual, _less(expected, by_kubelet))


def _less(pools: Mapping[int, int], cpus: int) -> dict[int, int]:
    return {node: members & ~cpus for node, members in pools.items()}


def _pool(
    subject: Subject,
    topology: Object,
    key: str,
    actual: Mapping[int, int],
    expected: Mapping[int, int],
) -> Iterator[Answer]:
    has_pods = subject.objects.is_known("Pod")
    for node in sorted({*actual, *expected}):
        there, full = actual.get(node, 0), expected.get(node, 0)
        fact = f"koordlet {key} of NUMA node {node}"
        if there == full or (not has_pods and not there & ~full):
            yield subject.held(fact, topology, _text(there))
            continue
        yield subject.differs(
            fact,
            "CP883",
            (topology, (*_POD_ANNOTATIONS, key)),
            observed=_text(there),
            expected=_text(full),
            key=key,
            numa_node=node,
            pods="the pods of the node" if has_pods else "no pod at all",
        )


def _sets(pools: Iterable[SharedPool]) -> dict[int, int]:
    return {pool.node: parse_cpus(pool.cpuset) for pool in pools}


def _text(bits: int) -> str:
    return cpus_text(CpuSet.from_bits(bits))


def bound(
    subject: Subject, pods: Sequence[tuple[Object, Pod]], wanted: NodeTopology
) -> Iterator[Answer]:
    """CP884 for pods whose CPUs are kept back, are not there, or belong to another pod."""
    expected = subject.expected
    everything = sum(1 << cpu.cpu for cpu in expected.topology.cpus)
    online = everything & ~expected.pool("offlined").cpus.bits
    kept = parse_cpus(wanted.reservation.reserved_cpus)
    system = exclusive_system_cpus(wanted.system_qos) & ~kept
    taken: list[tuple[str, int]] = []
    for listed, pod in pods:
        cpus = bound_cpus(pod)
        rows = [
            (cpus & ~online, "not online"),
            (cpus & kept, "reserved"),
            (cpus & system, f"of pods of the class {qos.SYSTEM}"),
            *((cpus & others, f"also of Pod {name}") for name, others in taken),
        ]
        yield from _wrong(subject, listed, _name(pod), [row for row in rows if row[0]])
        if cpus:
            taken.append((_name(pod), cpus))


def _wrong(
    subject: Subject, listed: Object, pod: str, rows: Sequence[tuple[int, str]]
) -> Iterator[Answer]:
    fact = f"koordlet CPUs of Pod {pod}"
    if not rows:
        yield subject.held(fact, listed)
    for cpus, problem in rows:
        yield subject.differs(
            fact,
            "CP884",
            (listed, (*_POD_ANNOTATIONS, constants.RESOURCE_STATUS)),
            observed=_text(cpus),
            expected="",
            pod=pod,
            cpus=_text(cpus),
            problem=problem,
        )


def _name(pod: Pod) -> str:
    return f"{pod.namespace or 'default'}/{pod.name}"


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
    for listed in subject.objects.of_kind("Pod"):
        is_done = value_of(listed.data, ("status", "phase")) in _DONE
        is_here = value_of(listed.data, ("spec", "nodeName")) == subject.node
        if is_here and not is_done and not pod_problems(listed):
            yield listed, read_pod(listed.data)


def _missing(subject: Subject, about: Setting | str, kind: str, absent: Absent) -> Answer:
    if absent.is_unknown:
        return subject.unverifiable(about, absent.reason)
    return subject.differs(
        about, "CP881", None, observed="nothing", expected="", kind=kind, node=subject.node
    )


def _node(subject: Subject, node: Object | Absent) -> Iterator[tuple[str, Answer]]:
    """Keys of the compiled patch that the Node has otherwise, and those that nobody compiled."""
    settings = subject.expected.settings.of(metadata.NAME)
    if isinstance(node, Absent):
        yield "", _missing(subject, "koordinator Node", "Node", node)
        return
    made = metadata.metadata(settings)
    wanted = {**made.get("labels", {}), **made.get("annotations", {})}
    by_key = {setting.key: setting for setting in settings}
    for key in dict.fromkeys((*wanted, *_OWN)):
        group = "labels" if key in node.labels else "annotations"
        text = node.labels.get(key, node.annotations.get(key))
        about = by_key.get(key, f"{metadata.NAME} {key}")
        if _value(text) == _value(wanted.get(key)):
            yield key, subject.held(about, node, _shown(text))
            continue
        yield (
            key,
            subject.differs(
                about,
                "CP880",
                (node, ("metadata", group, key)),
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
        return [_with_sets(element) for element in value]
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


def _topology(subject: Subject, topology: Object | Absent, reported: set[str]) -> Iterator[Answer]:
    """Annotations that koordlet should have written, whatever pods there are."""
    if isinstance(topology, Absent):
        yield _missing(subject, "koordlet NodeResourceTopology", NRT, topology)
        return
    for setting in subject.expected.settings.of(nrt.NAME):
        key = setting.key.removeprefix(ANNOTATIONS)
        if key not in _FIXED or key in reported:
            continue
        text, wanted = topology.annotations.get(key), str(setting.value)
        shown, expected = _shown(text, key), _shown(wanted, key)
        if _value(text, key) == _value(wanted, key):
            yield subject.held(setting, topology, expected)
            continue
        yield subject.differs(
            setting,
            "CP882",
            (topology, (*_ANNOTATIONS, key)),
            observed=shown,
            expected=expected,
            node=subject.node,
            key=key,
        )
