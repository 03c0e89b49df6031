"""What a kubelet would refuse, silently not do, or see differently than the kernel."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from cpuplan.base.cpuset import CpuSet, cpus_text
from cpuplan.base.text import counted, did_you_mean, joined, quantity_text
from cpuplan.base.topology import Topology
from cpuplan.components import chosen, hugepages, kubelet, memory, mixedcpus
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import At, Locate, Position
from cpuplan.facts import versions
from cpuplan.facts.settings.kubelet import (
    CPU_MANAGER_OPTIONS,
    ENFORCED,
    EVICTION_HARD,
    FEATURE_GATES,
    KUBE_RESERVED,
    MEMORY_MANAGER_POLICY,
    RESERVED_CPUS,
    RESERVED_MEMORY,
    SYSTEM_RESERVED,
    TOPOLOGY_MANAGER_OPTIONS,
    TOPOLOGY_MANAGER_POLICY,
)
from cpuplan.language.model.base import attributes
from cpuplan.language.model.tuning import Kubelet
from cpuplan.language.model.vocabulary import node_selector
from cpuplan.language.read.keys import remedy
from cpuplan.plan import NodePlan
from cpuplan.upstream.kubelet import eviction, policy_options
from cpuplan.upstream.kubelet.config import types
from cpuplan.upstream.kubelet.eviction import HARD, MEMORY_AVAILABLE
from cpuplan.upstream.kubelet.node_container_manager import parse_reservation
from cpuplan.upstream.kubelet.policy_options import (
    ALIGN_BY_SOCKET,
    PREFER_CLOSEST,
    PREFER_UNCORE_CACHE,
    STRICT_RESERVATION,
    Cause,
)
from cpuplan.upstream.kubelet.sysinfo import Deviation, Kind, deviations, unseen_cpus
from cpuplan.upstream.kubelet.topologymanager.policy import NONE, SINGLE, has_distances
from cpuplan.upstream.kubernetes.bits import MOST_NODES
from cpuplan.upstream.kubernetes.errors import ENDLESS, ENDLESS_COMBINATIONS, KubeletError
from cpuplan.upstream.kubernetes.kube_features import LATEST, Gates
from cpuplan.upstream.mco.common import McoError

#: Combinations of hints that take the kubelet minutes.
_LONG_COMBINATIONS = 1 << 30
#: Fields that an intent gives as `configuration`.
_FURTHER = (eviction.SOFT, eviction.GRACE_PERIOD, eviction.MINIMUM_RECLAIM)


def _check_thresholds(plan: NodePlan, at: At) -> Iterator[Diagnostic]:
    """Signals, amounts and grace periods of hard and soft thresholds."""
    configuration = plan.spec.kubelet.configuration
    fields = {name: _texts(configuration.get(name)) for name in _FURTHER}
    fields = {eviction.HARD: chosen.amounts(plan, EVICTION_HARD), **fields}
    for field, signal, cause in eviction.problems(fields):
        prefix = "" if field == eviction.HARD else "configuration."
        place = f"{prefix}{field}.{signal}"
        if cause is eviction.Cause.SIGNAL:
            hint = did_you_mean(signal, eviction.SIGNALS)
            yield diagnose("CP515", at(f"{place}:"), field=field, signal=signal, hint=hint)
        elif cause is eviction.Cause.VALUE:
            value, name = fields[field][signal], f"{field}.{signal}"
            yield diagnose("CP514", at(place), field=name, value=value)
        else:
            yield diagnose("CP558", at(place), signal=signal)


def _texts(given: Any) -> Mapping[str, str]:
    """The entries of a map as text; what is not a map, `_check_further` refuses."""
    if not isinstance(given, dict):
        return {}
    return {key: str(value) for key, value in sorted(given.items())}


#: The code of each kind, the name that its wording has for the kernel's groups, and the field of a
#: Hardware document.
DEVIATION_CODES = {
    Kind.CORE: ("CP360", "cores", "cores"),
    Kind.NUMA_NODE: ("CP363", "nodes", "kubelet"),
    Kind.CACHE: ("CP361", "caches", "caches"),
}


def check_view(plan: NodePlan, locate: Locate) -> list[Diagnostic]:
    """Warnings at the Hardware document; those about caches where an option goes by them."""
    if plan.node_class.cpu_manager_policy != "static":
        return []
    hardware = plan.node_class.hardware

    def position(field: str) -> Position | None:
        return locate(plan.node_class.hardware_place(f"topology.{field}", of_key=True))

    problems = []
    if unseen := unseen_cpus(plan.topology):
        cause = _cause(unseen, plan.topology)
        cpus = cpus_text(unseen)
        at = position("kubelet")
        problems.append(diagnose("CP362", at, hardware=hardware, cpus=cpus, cause=cause))
    for deviation in deviations(plan.topology):
        code, noun, field = DEVIATION_CODES[deviation.kind]
        if deviation.kind is Kind.CACHE and PREFER_UNCORE_CACHE not in kubelet.true_cpu_options(
            plan
        ):
            continue
        values: dict[str, Any] = {
            noun: counted(deviation.kernel, deviation.kind.value),
            "found": deviation.kubelet,
            "example": deviation_text(deviation),
        }
        problems.append(diagnose(code, position(field), hardware=hardware, **values))
    return problems


def deviation_text(deviation: Deviation) -> str:
    """The example in words."""
    example, noun = deviation.example, deviation.kind.value
    cpus = cpus_text(example.cpus)
    if example.is_merged:
        return f"it treats {cpus} as one {noun}, but there are {example.pieces}"
    return f"it treats {cpus} as {counted(example.pieces, noun)}, but there is one"


def _cause(unseen: CpuSet, topology: Topology) -> str:
    if unseen <= topology.kubelet.unlabelled:
        return "does not give the ids of their cores and sockets"
    if unseen.isdisjoint(topology.kubelet.unlabelled):
        return "assigns them to no NUMA node"
    return "assigns some to no NUMA node, and does not give the ids of others"


def check(plan: NodePlan, locate: Locate) -> list[Diagnostic]:
    """Everything about KubeletConfiguration, by the version of the target."""

    at = _at(plan, locate)
    return [
        *_check_drop_in(plan, locate),
        *_check_folder_flag(plan, locate),
        *_check_further(plan, at),
        *check_kubelet_config(plan, at),
        *_check_options(plan, at, CPU_MANAGER_OPTIONS.head),
        *_check_options(plan, at, TOPOLOGY_MANAGER_OPTIONS.head),
        *_check_static(plan, at),
        *_check_topology(plan, at),
        *check_sets(plan, locate),
        *_check_quantities(plan, at),
        *_check_thresholds(plan, at),
        *_check_memory(plan, at),
        *_check_uneven_pages(plan, locate),
        *_check_shared(plan, locate),
    ]


def _at(plan: NodePlan, locate: Locate) -> At:
    """Places of the intent's fields below `kubelet`."""

    def at(field: str) -> Position | None:
        return locate(plan.node_class.place(f"kubelet.{field}"))

    return at


def _check_drop_in(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    target = plan.node_class.target
    owns_all = plan.node_class.platform.owns_kubelet_configuration
    if not owns_all and not versions.has(target, "kubelet.config_dir"):
        position = locate(plan.node_class.place(plan.node_class.target_field("version")))
        yield diagnose("CP502", position, version=target.version, path=kubelet.drop_in(target))


def _check_folder_flag(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP5506: no drop-in of a unit can give the flag with the folder."""
    node_class = plan.node_class
    platform = node_class.platform
    if platform.folder_flag.by_hand:
        folder = platform.kubelet_folder
        position = locate(node_class.place(node_class.target_field("platform")))
        remedy = platform.folder_flag.by_hand.format(folder=folder)
        yield diagnose("CP5506", position, platform=platform.title, folder=folder, remedy=remedy)


#: Fields that follow from something else than the field of the same name in an intent.
_FROM_ELSEWHERE = {RESERVED_CPUS.key: "pools", "apiVersion": "the target", "kind": "the target"}


def _check_further(plan: NodePlan, at: At) -> Iterator[Diagnostic]:
    """Fields of `configuration`: known, of the right type, allowed, with no other field."""
    spec = plan.spec.kubelet
    own = attributes(Kubelet).keys() & {*types.NAMES}
    version = versions.kubernetes_version(plan.node_class.target) or LATEST
    for name, value in sorted(spec.configuration.items()):
        position = at(f"configuration.{name}:")
        drivers = spec.dynamic_resource_allocation and name == RESERVED_CPUS.key
        if (name in own or name in _FROM_ELSEWHERE) and not drivers:
            yield diagnose(
                "CP544", position, field=name, place=_FROM_ELSEWHERE.get(name, f"kubelet.{name}")
            )
        elif name not in types.NAMES:
            yield diagnose("CP545", position, field=name, hint=remedy(name, types.NAMES))
        elif version < types.SINCE.get(name, version):
            since = f"Kubernetes {versions.to_text(types.SINCE[name])}"
            hint = f"remove it, or target {since} or later"
            yield diagnose("CP545", position, field=f"{name} before {since}", hint=hint)
        elif not types.fits(name, value):
            place, expected = at(f"configuration.{name}"), types.expected(name)
            yield diagnose("CP546", place, field=name, value=value, expected=expected)
        else:
            for path in types.unknown({name: value}, types.KIND, ""):
                yield diagnose("CP545", at(f"configuration.{name}"), field=path, hint="remove it")


def _given(plan: NodePlan, field: str) -> dict[str, str]:
    spec = plan.spec.kubelet
    cpu = field == CPU_MANAGER_OPTIONS.head
    return spec.cpu_manager_policy_options if cpu else spec.topology_manager_policy_options


def _check_options(plan: NodePlan, at: At, field: str) -> Iterator[Diagnostic]:
    """Options that the version lacks or only has behind a gate, and values that it cannot read."""
    manager, given = policy_options.MANAGERS[field], _given(plan, field)
    version = versions.kubernetes_version(plan.node_class.target) or (0, 0)
    release = versions.to_text(version)
    for error in policy_options.option_errors(given, manager, Gates({}, version)):
        option, position = error.option, at(f"{field}.{error.option}:")
        match error.cause:
            case Cause.UNKNOWN:
                hint = did_you_mean(option, manager.options)
                yield diagnose("CP503", position, field=field, option=option, hint=hint)
            case Cause.TOO_NEW:
                since = versions.to_text(min(manager.options[option].values()))
                yield diagnose("CP504", position, option=option, since=since, version=release)
            case Cause.GATE:
                gate = manager.gate("alpha")
                yield diagnose("CP505", position, option=option, version=release, gate=gate)
            case Cause.VALUE:
                position, wanted = at(f"{field}.{option}"), _wanted(option)
                value = given[option]
                yield diagnose("CP506", position, option=option, value=value, wanted=wanted)


def _wanted(option: str) -> str:
    if option == policy_options.MAX_NUMA_NODES:
        return f"a number from {policy_options.DEFAULT_MAX_NUMA_NODES} up"
    if option == policy_options.NUMA_STRATEGY:
        return " or ".join(policy_options.NUMA_STRATEGIES)
    if option == policy_options.NUMA_WEIGHTS:
        return "resources with weights from 0 to 100, such as cpu=3,memory=1"
    return '"true" or "false"'


def _check_static(plan: NodePlan, at: At) -> Iterator[Diagnostic]:
    """Rules of the CPU manager's policies; beside DRA drivers it has none."""
    spec, field = plan.spec.kubelet, CPU_MANAGER_OPTIONS.head
    if spec.dynamic_resource_allocation or plan.node_class.cpu_manager_policy == "none":
        if given := spec.cpu_manager_policy_options:
            has_other = plan.node_class.target.has_other_mechanism
            instead = "mechanism: kubelet" if has_other else "the policy static"
            yield diagnose("CP507", at(field), options=", ".join(sorted(given)), instead=instead)
        return
    options = kubelet.true_cpu_options(plan)
    for first, second in policy_options.exclusive_pairs(options):
        yield diagnose("CP509", at(f"{field}.{second}"), first=first, second=second)
    if ALIGN_BY_SOCKET in options:
        yield from _check_align_by_socket(plan, at(f"{field}.{ALIGN_BY_SOCKET}"))
    target = plan.node_class.target
    is_fork = plan.node_class.platform.forks_kubelet
    if STRICT_RESERVATION in options and is_fork and not target.cpu_partitioning:
        yield diagnose("CP511", at(f"{field}.{STRICT_RESERVATION}"))


def _check_shared(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP5645: a shared pool that is no more than a name to the kubelet, which knows reserved CPUs.

    Of CPUs beside exclusive ones it would be, with mixed CPUs.
    """
    shared, target = plan.pool("shared").cpus, plan.node_class.target
    if not shared or mixedcpus.are_wanted(plan) or target.has_other_mechanism:
        return
    if kubelet.is_static(plan):
        reserved = plan.pool("reserved").cpus
        with_reserved = reserved <= kubelet.default_cpus(plan)
        where = "all CPUs that are left, those of reserved too" if with_reserved else "all others"
        place = locate(plan.node_class.place("pools.shared"))
        yield diagnose("CP5645", place, name=plan.node_class.name, where=where)


def _check_align_by_socket(plan: NodePlan, position: Position | None) -> Iterator[Diagnostic]:
    sockets, nodes = len(plan.topology.sockets), len(plan.topology.numa_nodes)
    policy = plan.spec.kubelet.topology_manager_policy
    if policy == policy_options.NOT_BY_SOCKET:
        yield diagnose("CP509", position, first=ALIGN_BY_SOCKET, second=policy)
    elif not policy_options.can_align_by_socket(sockets, nodes):
        yield diagnose("CP510", position, sockets=sockets, nodes=nodes)


def _check_topology(plan: NodePlan, at: At) -> Iterator[Diagnostic]:
    """Machines that the topology manager refuses, or on which it panics.

    With the policy none it looks at nothing.
    """
    if chosen.topology_policy(plan) == NONE:
        return
    options, hardware = plan.spec.kubelet.topology_manager_policy_options, plan.node_class.hardware
    nodes = list(plan.topology.numa_facts)
    limit = _limit(plan)
    if len(nodes) > limit:
        position, count, remedy = at(TOPOLOGY_MANAGER_POLICY.key), len(nodes), _fewer_sets(plan)
        yield diagnose(
            "CP512", position, count=count, limit=limit, hardware=hardware, remedy=remedy
        )
    is_closest = PREFER_CLOSEST in policy_options.switched_on(options)
    if is_closest and not has_distances(nodes):
        position, listed = (
            at(f"{TOPOLOGY_MANAGER_OPTIONS.head}.{PREFER_CLOSEST}"),
            ", ".join(map(str, nodes)),
        )
        yield diagnose("CP513", position, nodes=listed, hardware=hardware)


def _limit(plan: NodePlan) -> int:
    return policy_options.max_numa_nodes(plan.spec.kubelet.topology_manager_policy_options)


def _fewer_sets(plan: NodePlan) -> str:
    """What to set so that the topology manager starts, and pods are admitted in time."""
    count, with_cpus = len(plan.topology.numa_facts), len(plan.topology.numa_nodes)
    higher = f"{TOPOLOGY_MANAGER_OPTIONS.head} max-allowable-numa-nodes to {count} or more"
    none = f"{TOPOLOGY_MANAGER_POLICY.key} to none"
    if count <= MOST_NODES:
        return f"{higher}, or {none}"
    if plan.spec.kubelet.memory_manager_policy:
        none += f" and {MEMORY_MANAGER_POLICY.key} to None"
    if with_cpus > MOST_NODES:
        return none
    without_memory = (
        f" and {MEMORY_MANAGER_POLICY.key} to None" if memory.uses_memory_manager(plan) else ""
    )
    if versions.has(plan.node_class.target, "kubelet.few_device_hints"):
        return f"{higher}{without_memory}, or {none}"
    since = versions.to_text(versions.FEATURES["kubelet.few_device_hints"])
    return (
        f"{none}; or use Kubernetes {since} and set {higher}{without_memory}: before, the kubelet "
        "stalls at the first pod with a device"
    )


class _Looking(NamedTuple):
    """A manager that looks at all sets of NUMA nodes for pods; `remedy` turns it off."""

    manager: str
    nodes: int
    asks: str
    field: str
    remedy: str


def check_sets(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP705, CP5151: managers that look at all sets of many NUMA nodes.

    Where the topology manager does not start, its remedy is enough for them (CP512).
    """
    policy = chosen.topology_policy(plan)
    if policy != NONE and len(plan.topology.numa_facts) > _limit(plan):
        return
    managers, at = _looking(plan), _at(plan, locate)
    is_compared = policy not in (NONE, SINGLE) and len(managers) > 1
    if is_compared and all(1 << looking.nodes < ENDLESS for looking in managers):
        compared = list(_check_combinations(plan, at, managers))
        yield from compared
        if any(finding.code == "CP705" for finding in compared):
            return
    for looking in managers:
        sets = 1 << looking.nodes
        what = (
            f"the {looking.manager} looks at all 2^{looking.nodes} sets of the {looking.nodes} "
            "NUMA nodes"
        )
        is_long = looking.nodes > MOST_NODES
        yield from _sets(plan, at, looking, what, is_long=is_long, is_endless=sets >= ENDLESS)


def _check_combinations(
    plan: NodePlan, at: At, managers: Sequence[_Looking]
) -> Iterator[Diagnostic]:
    """Each hint of one manager with each of the other: all are hints of a small pod."""
    combined = sum(looking.nodes for looking in managers)
    names = joined([looking.manager for looking in managers])
    what = f"the topology manager compares 2^{combined} combinations of the hints of {names}"
    remedy = f"{managers[0].remedy}, or {TOPOLOGY_MANAGER_POLICY.key} to none or {SINGLE}"
    both = managers[-1]._replace(asks=f"{managers[-1].asks} and is small", remedy=remedy)
    is_endless = 1 << combined >= ENDLESS_COMBINATIONS
    is_long = 1 << combined >= _LONG_COMBINATIONS
    yield from _sets(plan, at, both, what, is_long=is_long, is_endless=is_endless)


def _looking(plan: NodePlan) -> list[_Looking]:
    managers = []
    if memory.uses_memory_manager(plan):
        asks, field = "has memory guaranteed", MEMORY_MANAGER_POLICY.key
        count = len(plan.topology.numa_facts)
        managers.append(_Looking("memory manager", count, asks, field, f"{field} to None"))
    if chosen.topology_policy(plan) != NONE and kubelet.is_static(plan):
        asks, field = "has exclusive CPUs", TOPOLOGY_MANAGER_POLICY.key
        count = len(plan.topology.numa_nodes)
        managers.append(_Looking("CPU manager", count, asks, field, f"{field} to none"))
    return managers


def _sets(
    plan: NodePlan, at: At, looking: _Looking, what: str, *, is_long: bool, is_endless: bool
) -> Iterator[Diagnostic]:
    hardware, remedy = plan.node_class.hardware, f"set {looking.remedy}"
    if is_endless:
        busy = f"each pod that {looking.asks} keeps the kubelet busy forever"
        what = f"{busy}: on hardware {hardware}, {what}"
        yield diagnose(
            "CP705", at(looking.field), name=plan.node_class.name, what=what, remedy=remedy
        )
    elif is_long:
        yield diagnose(
            "CP5151",
            at(looking.field),
            hardware=hardware,
            asks=looking.asks,
            what=what,
            remedy=remedy,
        )


def _check_quantities(plan: NodePlan, at: At) -> Iterator[Diagnostic]:
    reserved = {
        KUBE_RESERVED.head: chosen.amounts(plan, KUBE_RESERVED),
        SYSTEM_RESERVED.head: chosen.amounts(plan, SYSTEM_RESERVED),
    }
    for field, amounts in reserved.items():
        for resource, value in amounts.items():
            try:
                parse_reservation(resource, value)
            except KubeletError:
                name = f"{field}.{resource}"
                yield diagnose("CP514", at(name), field=name, value=value)


def _check_memory(plan: NodePlan, at: At) -> Iterator[Diagnostic]:
    """The memory manager's arithmetic (pkg/kubelet/cm/memorymanager, validateReservedMemory)."""
    spec = plan.spec.kubelet
    if not memory.uses_memory_manager(plan):
        if spec.reserved_memory:
            yield diagnose("CP519", at(RESERVED_MEMORY.key))
        return
    threshold = memory.threshold(plan)
    if threshold.endswith("%"):
        yield diagnose("CP516", at(f"{HARD}.{MEMORY_AVAILABLE}"), value=threshold)
        return
    wanted = memory.reservation(plan)
    if spec.reserved_memory:
        yield from _check_given(plan, at, wanted)
    elif missing := memory.placed(plan)[1]:
        hardware = plan.node_class.hardware
        yield diagnose(
            "CP518",
            at(SYSTEM_RESERVED.head),
            missing=quantity_text(missing),
            wanted=quantity_text(wanted),
            hardware=hardware,
        )
    yield from _check_moved(plan, at)


def _check_moved(plan: NodePlan, at: At) -> Iterator[Diagnostic]:
    """CP573: memory of a PerformanceProfile that the operator would reserve on NUMA node 0."""
    node_class, reserved = plan.node_class, memory.reserved(plan)
    is_profile = node_class.target.is_profile or node_class.written_as
    if plan.spec.kubelet.reserved_memory or not is_profile or reserved.keys() <= {0}:
        return
    amounts = [f"{quantity_text(size)} on NUMA node {node}" for node, size in reserved.items()]
    yield diagnose("CP573", at(TOPOLOGY_MANAGER_POLICY.key), amounts=joined(amounts))


def _check_given(plan: NodePlan, at: At, wanted: int) -> Iterator[Diagnostic]:
    given = memory.reserved(plan)
    if sum(given.values()) != wanted:
        yield diagnose(
            "CP517",
            at(RESERVED_MEMORY.key),
            found=quantity_text(sum(given.values())),
            wanted=quantity_text(wanted),
        )
    nodes = hugepages.memory_nodes(plan.topology)
    for index, entry in enumerate(plan.spec.kubelet.reserved_memory):
        if entry.numa_node not in nodes:
            position = at(f"{RESERVED_MEMORY.key}.{index}.numaNode")
            yield hugepages.unknown_node(plan, entry.numa_node, position)
    yield from _check_room(plan, at, given)


def _check_room(plan: NodePlan, at: At, given: Mapping[int, int]) -> Iterator[Diagnostic]:
    """A reservation that does not fit beside the huge pages of its NUMA node (pages: CP543)."""
    rooms = hugepages.room(plan, at_worst=False)
    listed = [entry.numa_node for entry in plan.spec.kubelet.reserved_memory]
    for node, asked in given.items():
        room = rooms.get(node)
        if room is not None and 0 <= room < asked:
            yield diagnose(
                "CP559",
                at(f"{RESERVED_MEMORY.key}.{listed.index(node)}.memory"),
                asked=quantity_text(asked),
                node=node,
                room=quantity_text(room // hugepages.MIB * hugepages.MIB),
                hardware=plan.node_class.hardware,
            )


def _check_uneven_pages(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """Huge pages on NUMA nodes that the kernel chooses, where the memory manager aligns them."""
    if not memory.uses_memory_manager(plan):
        return
    for pages in hugepages.uneven(plan):
        numbers = ", ".join(map(str, pages.nodes))
        yield diagnose(
            "CP549",
            locate(pages.place),
            size=pages.size,
            count=pages.number,
            pages=counted(pages.number, "huge page"),
            left=pages.left,
            nodes=numbers,
            node=pages.nodes[0],
        )


#: What `systemReservedCgroup` and `systemCgroups` are compared with, from 4.22 on.
_SLICE = "/system.slice"
_ENFORCED = ["pods", "system-reserved-compressible"]
_DEFAULTS: dict[str, dict[str, Any]] = {
    "master": {"systemCgroups": _SLICE},
    "worker": {
        "systemCgroups": _SLICE,
        "systemReservedCgroup": _SLICE,
        ENFORCED.key: _ENFORCED,
    },
}
_HINTS = {
    FEATURE_GATES.head: "remove the field; feature gates are set by the FeatureGate object of the "
    "cluster",
    "systemReservedCgroup": "write the same cgroup in both, or remove the fields",
}


def check_kubelet_config(plan: NodePlan, at: At) -> Iterator[Diagnostic]:
    """CP547 for each refused field; of fields whose type is wrong, nothing is known (CP546)."""
    given = plan.spec.kubelet.configuration
    if not given or not plan.node_class.platform.has_pools:
        return
    config = kubelet.configuration(list(kubelet.settings(plan)))
    config |= given
    for name in list(config):
        if name not in types.NAMES or not types.fits(name, config[name]):
            del config[name]
    while error := _refusal(plan, config):
        name = str(error.facts.get("field", "")).partition(".")[0]
        if name not in config and "systemCgroups" in config:
            name = "systemCgroups"  # compared with the default of the other field
        if name not in config:
            return
        shown = error.facts.get("shown", error.facts["field"])
        place = at(f"configuration.{name if name in given else 'systemCgroups'}:")
        hint = _HINTS.get(name, "remove the field")
        yield diagnose("CP547", place, field=shown, hint=hint)
        del config[name]


def _refusal(plan: NodePlan, config: dict[str, Any]) -> McoError | None:
    """Why the operator of the release refuses a KubeletConfig for the pool; None if it does not."""
    from cpuplan.upstream.mco.kubelet_config_controller import KubeletConfigs

    target = plan.node_class.target
    selector = {"matchLabels": node_selector(target)}
    pool = {"metadata": {"name": target.pool or ""}, "spec": {"nodeSelector": selector}}
    controller = KubeletConfigs([pool], _DEFAULTS, versions.from_text(target.version))
    spec = {"kubeletConfig": config}
    try:
        controller.validate(spec)
        controller.validate_for_pool(spec, pool)
        controller.files(spec, pool)
    except McoError as error:
        return error
    return None
