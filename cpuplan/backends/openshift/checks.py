"""What pools, profiles and objects of others in one cluster do to each other and to a plan."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from cpuplan.backends.openshift import merged, objects
from cpuplan.backends.openshift.merged import Pool, Source
from cpuplan.base.cpuset import CpuSet
from cpuplan.base.text import joined
from cpuplan.components import chosen, cmdline
from cpuplan.components.checks.kernel import diagnostics, problems
from cpuplan.components.chosen import is_written
from cpuplan.components.host import rps
from cpuplan.components.isolation import switch
from cpuplan.components.openshift import (
    machineconfig,
    ovsdpdk,
    performanceprofile,
    pinning,
    pool,
    tuned,
)
from cpuplan.components.openshift import pool as pools
from cpuplan.components.openshift.machineconfig import WORKER
from cpuplan.diagnostics import Diagnostic, Label, diagnose
from cpuplan.diagnostics.source import Locate, Position
from cpuplan.facts import versions
from cpuplan.facts.settings.kubelet import CPU_MANAGER_POLICY, RECONCILE_PERIOD, SYSTEM_RESERVED
from cpuplan.facts.settings.openshift import KERNEL_TYPE, POOL_SELECTOR
from cpuplan.plan import ConfiguredPlan, NodeClass, NodePlan, boot_arguments
from cpuplan.upstream.crio.traps import is_left_over
from cpuplan.upstream.mco.common import RenderError, has
from cpuplan.upstream.mco.helpers import read_selector
from cpuplan.upstream.mco.kubelet_config_controller import DROP_INS, NODE_SIZING
from cpuplan.upstream.mco.machineconfig import DEFAULT_KERNEL

#: Without a size before it, the number of pages of the default size.
_PAGES, _SIZED_PAGES = "hugepages", "hugepagesz="


class Inherited(NamedTuple):
    """Something that nodes of a class get from an object that is not their own.

    `what` names it; `place` is the key in a Cluster document, with its indexes. `effect` is what it
    does to the plan, where that is more than another value.
    """

    source: Source
    what: str
    place: str
    effect: str = ""


def inherited(pool: Pool) -> Iterator[Inherited]:
    """What contradicts a class's own plan: boot arguments, kernel, files, units, TuneD's profile.

    Of other classes everything counts that is not the same, of objects of a Cluster document only
    what the plan sets too. Of a file or unit with several objects, the last one counts.
    """
    own = [source for source in pool.sources if _is_own(source, pool.plan)]
    if len(own) < len(pool.sources):
        yield from _of_others(pool, own)
    yield from _tuned_profile(pool)


def _of_others(pool: Pool, own: Sequence[Source]) -> Iterator[Inherited]:
    """What comes from sources beside `own`."""
    arguments, undone = _arguments(own), _undone(pool.plan)
    kernel_types = {source.config.kernel_type for source in own}
    written = {name: entry for source in own for _, name, entry in source.entries()}
    last = {name: source for source in pool.sources for _, name in source.writes()}
    for source in pool.sources:
        if source in own:
            continue
        yield from _contradicting_arguments(source, arguments, undone, pool.plan.node_class)
        kernel_type = source.config.kernel_type
        if kernel_type not in ("", DEFAULT_KERNEL, *kernel_types):
            yield _inherited(source, f"{KERNEL_TYPE.key} {kernel_type}", KERNEL_TYPE.key)
        for field, name, entry in source.entries():
            if last[name] is source and _differs(source, entry, written.get(name)):
                yield _inherited(source, name, field)


def _differs(source: Source, entry: Mapping[str, Any], own: Mapping[str, Any] | None) -> bool:
    """Whether a file or unit is not what the plan has at its place.

    Contents are known of the objects that classes write only.
    """
    if source.is_kubelet:
        return True
    return entry != own if source.plan else own is not None


def _inherited(source: Source, what: str, field: str) -> Inherited:
    return Inherited(source, what, source.place if source.is_kubelet else f"{source.place}.{field}")


def _is_own(source: Source, plan: ConfiguredPlan) -> bool:
    """Whether an object is of the same pool, or one that the class writes just as others do."""
    if source.plan is None:
        return False
    if source.plan.node_class.target.pool == plan.node_class.target.pool:
        return True
    return any(config == source.data for config in merged.machine_configs(plan))


def _arguments(sources: Sequence[Source]) -> dict[str, Any]:
    """The values of boot arguments, by key."""
    words = [word for source in sources for word in source.config.kernel_arguments]
    return _keyed(" ".join(words))


def _keyed(text: str) -> dict[str, Any]:
    return {cmdline.canonical(key): value for key, value in cmdline.keyed(text).items()}


def _undone(plan: ConfiguredPlan) -> dict[str, str]:
    """What arguments of the Cluster document's objects take from a plan, by their places."""
    wrong = problems(plan, list(boot_arguments.of_machine_configs(plan.node_class)))
    return {problem.argument.place: problem.effect for problem in wrong if problem.is_error}


def _contradicting_arguments(
    source: Source, own: Mapping[str, Any], undone: Mapping[str, str], node_class: NodeClass
) -> Iterator[Inherited]:
    """Of other classes all that is not the same, of the Cluster document what undoes the plan."""
    is_planned = source.plan is not None
    start = node_class.cluster_place(source.place)
    for index, text in _phrases(source.config.kernel_arguments):
        # A size of huge pages and its count are two.
        numbers = range(index, index + 1 + text.startswith(_SIZED_PAGES))
        places = () if is_planned else [f"{start}.kernelArguments.{at}" for at in numbers]
        effects = [undone[place] for place in places if place in undone]
        if effects or _contradicts(text, own, is_planned=is_planned):
            item = _inherited(source, text, f"kernelArguments.{index}")
            yield item._replace(effect="".join(effects[:1]))


def _phrases(arguments: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Boot arguments with their indexes; a size of pages together with the number after it."""
    size: tuple[int, str] | None = None
    for index, argument in enumerate(arguments):
        if size and argument.startswith(f"{_PAGES}="):
            yield size[0], f"{size[1]} {argument}"
            size = None
            continue
        if size:
            yield size
        size = (index, argument) if argument.startswith(_SIZED_PAGES) else None
        if not size:
            yield index, argument
    if size:
        yield size


def _contradicts(argument: str, own: Mapping[str, Any], *, is_planned: bool) -> bool:
    """Whether a boot argument takes one of `own` back, or `is_planned` of another class."""
    if "--" in argument.split() or argument.count('"') % 2:
        return True  # the kernel reads nothing after it
    for key, value in _keyed(argument).items():
        is_same = key in own and cmdline.same(key, value, own[key])
        if not is_same and (is_planned or _matters(key, own)):
            return True
    return False


def _matters(key: str, own: Mapping[str, Any]) -> bool:
    """Whether the plan sets an argument; lists of CPUs are judged by `problems`."""
    if key == _PAGES:
        return any(name.startswith(_SIZED_PAGES) for name in own)
    return key in own and key not in cmdline.CPU_LISTS


def _tuned_profile(pool: Pool) -> Iterator[Inherited]:
    """The profile of workers, where the node tuning operator gives it the same priority.

    Of two with one priority, the operator may choose either (pkg/operator/profilecalculator.go).
    """
    if pool.plan.node_class.target.pool in pools.BUILT_IN:
        return
    for source in pool.sources:
        plan = source.plan
        if plan is None or source.is_kubelet or not plan.settings.of(tuned.NAME):
            continue
        target = plan.node_class.target
        if (
            target.pool == WORKER
            and merged.is_profile(plan)
            and _profile(plan) != _profile(pool.plan)
        ):
            name = objects.tuned_object(plan)["metadata"]["name"]
            yield Inherited(source, f"the profile {name} of TuneD", "")
            return


def _profile(plan: ConfiguredPlan) -> str:
    """The text of TuneD's profile; that of mode `mco` is never the operator's."""
    without = objects.OWN_WORDS if plan.node_class.target.is_profile else ()
    made = merged.kept_objects(plan, "Tuned") or [objects.tuned_object(plan, without)]
    profile: str = made[0]["spec"]["profile"][0]["data"]
    return profile


#: What a foreign pool has to say so that it does not select the MachineConfig of workers.
_LEAVE_OUT = (
    "add {key: cpuplan.io/pool, operator: NotIn, values: [worker]} to "
    f"{POOL_SELECTOR.key} of the pool, if its nodes are not the same hardware"
)


def check_selection(plans: Sequence[ConfiguredPlan], locate: Locate) -> Iterator[Diagnostic]:
    """CP255, CP256, CP298 and CP299, for the classes of one cluster."""
    in_pools = [plan for plan in plans if merged.has_pool(plan) and not plan.spec.paused]
    own_pools = {_name(plan) for plan in in_pools}
    labelled = _by_label(in_pools)
    for plan in in_pools:
        yield from _check_machine_config(plan, locate)
        yield from _check_kubelet_config(plan, labelled, locate)
        yield from _check_foreign_kubelet_configs(plan, locate)
        yield from _check_foreign_pools(plan, own_pools, locate)


def _name(plan: ConfiguredPlan) -> str:
    return plan.node_class.target.pool or ""


def _labels(plan: ConfiguredPlan, component: str) -> Mapping[str, str]:
    """The labels that an object of the class has."""
    labels = plan.settings.values(component)["metadata.labels"]
    assert isinstance(labels, dict)  # noqa: S101 - the components say so
    return {key: str(value) for key, value in labels.items()}


def _field(node_class: NodeClass, locate: Locate, field: str) -> Position | None:
    return locate(node_class.place(node_class.target_field(field)))


def _check_machine_config(plan: ConfiguredPlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP255: labels that the pool of the class does not select, or one of every cluster does."""
    node_class, labels = plan.node_class, _labels(plan, machineconfig.NAME)
    selector = merged.pool_object(plan)["spec"][POOL_SELECTOR.key]
    selecting = set(pool.BUILT_IN) & {labels.get(machineconfig.ROLE)} - {_name(plan)}
    problems = [f"pool {name} selects" for name in selecting]
    if not read_selector(selector).matches(labels):
        problems.append(f"pool {_name(plan)} does not select")
    for problem in problems:
        yield diagnose(
            "CP255",
            _field(node_class, locate, "machineConfigLabel"),
            problem=problem,
            intent=node_class.intent,
            pool=_name(plan),
        )


def _by_label(plans: Iterable[ConfiguredPlan]) -> dict[tuple[str, str], dict[str, None]]:
    """The names of pools by one of their labels: of classes, and those that every cluster has."""
    labels = {name: pool.built_in_labels(name) for name in pool.BUILT_IN}
    labels |= {_name(plan): pool.all_labels(plan.node_class.target) for plan in plans}
    labelled: dict[tuple[str, str], dict[str, None]] = {}
    for name, own in labels.items():
        for label in own.items():
            labelled.setdefault(label, {})[name] = None
    return labelled


def _check_kubelet_config(
    plan: ConfiguredPlan,
    labelled: Mapping[tuple[str, str], Mapping[str, None]],
    locate: Locate,
) -> Iterator[Diagnostic]:
    """CP256: labels that another pool has too, of another class or of every cluster."""
    node_class, wanted = plan.node_class, _labels(plan, pool.NAME)
    first, *others = (labelled.get(label, {}) for label in wanted.items())
    given = node_class.target.machine_config_pool_selector
    field = "machineConfigPoolSelector" if given else "pool"
    for name in first:
        if name != _name(plan) and all(name in names for names in others):
            yield diagnose(
                "CP256",
                _field(node_class, locate, field),
                intent=node_class.intent,
                pool=_name(plan),
                other=name,
            )


def _check_foreign_kubelet_configs(plan: ConfiguredPlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP298: KubeletConfigs of the Cluster document for the pool of a class."""
    node_class, labels = plan.node_class, pool.all_labels(plan.node_class.target)
    for index, config in enumerate(node_class.cluster_facts.kubelet_configs):
        if config.machine_config_pool_selector.selects(labels):
            yield diagnose(
                "CP298",
                locate(node_class.cluster_place(f"kubeletConfigs.{index}.name")),
                name=config.name,
                pool=node_class.target.pool,
                intent=node_class.intent,
            )


def _check_foreign_pools(
    plan: ConfiguredPlan, own_pools: Collection[str], locate: Locate
) -> Iterator[Diagnostic]:
    """CP299: pools of the Cluster document that get objects of the class."""
    node_class, wanted = plan.node_class, _labels(plan, pool.NAME).items()
    labels = _labels(plan, machineconfig.NAME)
    is_marked = machineconfig.OWNER in labels
    for index, foreign in enumerate(node_class.cluster_facts.machine_config_pools):
        if foreign.name in own_pools:
            continue
        place = locate(node_class.cluster_place(f"machineConfigPools.{index}.name"))
        problems = []
        if foreign.machine_config_selector.selects(labels):
            hint = _LEAVE_OUT if is_marked else f"change {POOL_SELECTOR.key} of the pool"
            problems.append(("also selects the MachineConfig", hint))
        if wanted <= foreign.labels.items():
            problems.append(("also gets the KubeletConfig", "change the labels of the pool"))
        for problem, hint in problems:
            yield diagnose(
                "CP299",
                place,
                pool=foreign.name,
                problem=problem,
                intent=node_class.intent,
                own=_name(plan),
                hint=hint,
            )


#: Switches of `isolation` that every profile has on.
_SWITCHES = ("managedIrq", "nohzFull", "rcuNocbs")


def check_profile(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP548: fields of the intent that no profile has."""
    if not plan.node_class.target.is_profile:
        return
    for name in ("reserved", "isolated"):
        if not plan.pool(name).cpus:
            yield diagnose("CP564", locate(plan.node_class.place(f"pools.{name}")), pool=name)
    spec = plan.spec
    drivers = spec.kubelet.dynamic_resource_allocation
    rows = (
        *_steering(plan),
        ("isolation.interrupts", spec.isolation.interrupts or "reserved", "reserved"),
        *((f"isolation.{key}", switch(spec.isolation, key), True) for key in _SWITCHES),
        (CPU_MANAGER_POLICY.field, spec.kubelet.cpu_manager_policy, "static"),
        (RECONCILE_PERIOD.field, chosen.reconcile_period(plan), "5s"),
        ("runtime.handler", spec.runtime.handler, "high-performance"),
        ("runtime.containersLimit", chosen.sharing_limit(plan), 256),
        ("pools.isolcpus", str(plan.pool("isolcpus").cpus - ovsdpdk.cpus(plan)), ""),
    )
    for field, value, only in (*rows, *_of_partitions(plan), *_profile_labels(plan)):
        if value != only and not (drivers and field.startswith("kubelet.")):
            position = locate(plan.node_class.place(field))
            shown, wanted = (
                str(item).lower() if isinstance(item, bool) else item for item in (value, only)
            )
            yield diagnose("CP548", position, field=field, value=shown, only=wanted)


def _of_partitions(plan: NodePlan) -> Iterator[tuple[str, str, str]]:
    """Partitions that the kernel isolates in their own way; a profile has one way for all."""
    isolated = plan.spec.pools.isolated
    for name, partition in sorted(isolated.partitions.items()) if isolated else ():
        if partition.isolation is not None:
            own = partition.isolation.model_dump(by_alias=True, exclude_none=True)
            shown = joined([f"{key} {str(value).lower()}" for key, value in own.items()])
            only = "left out: one isolation for all isolated CPUs"
            yield f"pools.isolated.partitions.{name}.isolation", shown or "empty", only


def _steering(plan: NodePlan) -> Iterator[tuple[str, bool, bool]]:
    """Receive packet steering, which the operator of an old release does not switch off."""
    field = "net.receivePacketSteering"
    if rps.is_used(plan) and is_written(plan, field):
        yield field, plan.spec.net.receive_packet_steering, True


def _profile_labels(plan: NodePlan) -> Iterator[tuple[str, str, str]]:
    """(field, labels, what a profile has) of labels of which the operator's webhook takes one."""
    target = plan.node_class.target
    for name, labels in (
        ("nodeSelector", target.node_selector),
        ("machineConfigLabel", target.machine_config_label),
    ):
        if len(labels) > 1:
            shown = ", ".join(f"{key}={value}" for key, value in labels.items())
            yield plan.node_class.target_field(name), shown, "one label"


#: The pools of the lists in `profile.lists`.
_LISTED = {
    "reserved": "reserved",
    "isolated": "isolated",
    "shared": "shared",
    "offlined": "offlined",
    "ovsDpdk": "isolcpus",
}


def check_adopted(plan: ConfiguredPlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP5402 and CP5403: lists and annotations of an adopted profile that do not count."""
    node_class = plan.node_class
    adopted = node_class.target.profile
    lists = adopted.lists.model_dump(by_alias=True, exclude_none=True)
    for name, text in lists.items():
        cpus = plan.pool(_LISTED[name]).cpus
        if CpuSet.parse(text) != cpus:
            place = node_class.place(node_class.target_field(f"profile.lists.{name}"))
            pool = _LISTED[name]
            yield diagnose("CP5402", locate(place), name=name, text=text, pool=pool, cpus=str(cpus))
    for name in adopted.annotations:
        if name in performanceprofile.OWN_ANNOTATIONS:
            place = node_class.place(node_class.target_field(f"profile.annotations.{name}"))
            yield diagnose("CP5403", locate(place), name=name)


_FOLDER, _, _OWN = objects.CRIO_DROP_IN.rpartition("/")
_PINNING = pinning.CRIO_PATH.rpartition("/")[2]


def check_files(plan: ConfiguredPlan, locate: Locate) -> Iterator[Diagnostic]:
    """Files of others that are read beside cpuplan's: CP588, CP5400 and CP5401."""
    selector = read_selector(merged.pool_object(plan)["spec"][POOL_SELECTOR.key])
    node_class = plan.node_class
    for number, config in enumerate(node_class.cluster_facts.machine_configs):
        if not selector.matches(config.labels):
            continue
        for index, path in enumerate(config.files):
            if finding := _of_file(plan, path):
                code, problem = finding
                yield diagnose(
                    code,
                    locate(node_class.cluster_place(f"machineConfigs.{number}.files.{index}")),
                    pool=node_class.target.pool,
                    name=config.name,
                    path=path,
                    problem=problem,
                    intent=node_class.intent,
                )


def _of_file(plan: ConfiguredPlan, path: str) -> tuple[str, str] | None:
    """The code of what a file of others does to a plan, and how."""
    folder, _, name = path.rpartition("/")
    if folder == _FOLDER and (problem := _problem(plan, name)):
        return "CP588", problem
    if path.startswith(f"{DROP_INS}/") and name.endswith(".conf") and _reads_drop_ins(plan):
        return "CP5400", ""
    if path == pinning.PATH and not plan.node_class.target.cpu_partitioning:
        return "CP5401", ""
    return None


def _reads_drop_ins(plan: ConfiguredPlan) -> bool:
    """Whether the kubelet's unit names the folder of drop-ins; those of other roles came later."""
    target = plan.node_class.target
    is_worker = target.pool not in pools.BUILT_IN or target.pool == WORKER
    feature = "kubelet.drop_ins" if is_worker else "kubelet.drop_ins_of_every_role"
    return has(versions.from_text(target.version), feature)


def _problem(plan: ConfiguredPlan, name: str) -> str:
    """What CRI-O makes of a file of its folder; empty where nothing is wrong with the name."""
    if is_left_over(name):
        return "whatever its name ends in"
    # What replaces cpuplan's own file of this name is CP238; the installer's has workloads only.
    if name <= _OWN or name == _PINNING:
        return ""
    text = f"after {_OWN}: its keys win, and its tables of handlers"
    if name > _PINNING and plan.settings.of(pinning.NAME):
        text += f" and, after {_PINNING}, of workloads"
    return f"{text} replace cpuplan's"


#: Of what a pool inherits, so much is shown.
_SHOWN = 3
_SIZING_HINT = (
    f"set kubelet.{SYSTEM_RESERVED.head} in the intent: the memory of the workers counts otherwise"
)
_NAME_HINT = (
    "give the pool a name that comes after `worker-generated`, such as `x-workers`, or target 4.15"
)


def check_pools(plans: Sequence[ConfiguredPlan], locate: Locate) -> Iterator[Diagnostic]:
    """All of it, for the classes of one cluster."""
    try:
        for pool in merged.of_cluster(plans):
            items = list(inherited(pool))
            yield from _check_inherited(pool, items, locate)
            yield from _check_arguments(pool.plan, items, locate)
    except RenderError as error:
        yield from _unrenderable(plans[0].node_class, error, locate)
    yield from check_selection(plans, locate)


def _check_arguments(
    plan: ConfiguredPlan, told: Iterable[Inherited], locate: Locate
) -> Iterator[Diagnostic]:
    """Arguments of the Cluster document that leave the plan whole; others are CP238."""
    known = {plan.node_class.cluster_place(item.place) for item in told if item.source.place}
    wrong = problems(plan, list(boot_arguments.of_machine_configs(plan.node_class)))
    costly = (item for item in wrong if not item.is_error and item.argument.place not in known)
    yield from diagnostics(costly, locate)


def _unrenderable(
    node_class: NodeClass, error: RenderError, locate: Locate
) -> Iterator[Diagnostic]:
    """CP249 for an object of the Cluster document; one of cpuplan is CP570 when it is written."""
    names = [config.name for config in node_class.cluster_facts.machine_configs]
    if error.machine_config in names:
        place = f"machineConfigs.{names.index(error.machine_config)}.name"
        yield diagnose(
            "CP249",
            locate(node_class.cluster_place(place)),
            name=error.machine_config,
            problem=error.error,
        )


def _check_inherited(
    pool: Pool, items: Iterable[Inherited], locate: Locate
) -> Iterator[Diagnostic]:
    by_class: dict[tuple[str, bool], list[Inherited]] = {}
    for item in items:
        key = item.source.intent, item.source.is_kubelet
        by_class.setdefault(key, []).append(item)
    for (intent, is_kubelet), of_class in by_class.items():
        if is_kubelet:
            yield _of_kubelet_config(pool, of_class, locate)
        elif intent:
            yield _of_other_class(pool, of_class, locate)
        else:
            yield from _contradictions(pool, of_class, locate)


def _of_kubelet_config(pool: Pool, items: Sequence[Inherited], locate: Locate) -> Diagnostic:
    """CP257: files of the KubeletConfig of workers, of an intent or of the Cluster document."""
    node_class, source = pool.plan.node_class, items[0].source
    other = _pool_place(source.plan, locate)
    if other is None:
        other = locate(node_class.cluster_place(source.place))
    paths = [item.what for item in items]
    role = source.config.role
    hint = _SIZING_HINT if paths == [NODE_SIZING] else _NAME_HINT
    if role != WORKER:
        hint = "remove machineConfigLabel"
    return diagnose(
        "CP257",
        locate(node_class.place(node_class.target_field("pool"))),
        labels=[Label(other, "this KubeletConfig")] if other else [],
        pool=node_class.target.pool,
        cluster=node_class.cluster,
        paths=_shown(paths),
        other=role,
        hint=hint,
    )


def _pool_place(plan: ConfiguredPlan | None, locate: Locate) -> Position | None:
    node_class = plan.node_class if plan else None
    return locate(node_class.place(node_class.target_field("pool"))) if node_class else None


def _of_other_class(pool: Pool, items: Sequence[Inherited], locate: Locate) -> Diagnostic:
    node_class, source = pool.plan.node_class, items[0].source.plan
    assert source is not None  # noqa: S101 - it has an intent
    other = source.node_class
    other_place = _pool_place(source, locate)
    return diagnose(
        "CP237",
        locate(node_class.place(node_class.target_field("pool"))),
        labels=[Label(other_place, f"intent {other.intent}")] if other_place else [],
        pool=node_class.target.pool,
        cluster=node_class.cluster,
        what=_shown([item.what for item in items]),
        other=other.intent,
        hint=_hint(node_class, other),
    )


def _hint(node_class: NodeClass, other: NodeClass) -> str:
    if other.spec.paused:
        return f"resume intent {other.intent} first, so that its files are compiled anew"
    if other.target.cpu_partitioning != node_class.target.cpu_partitioning:
        return "write the same cpuPartitioning in both targets: it is a property of the cluster"
    if other.target.is_profile and other.target.pool == WORKER:
        return (
            f"write `mode: mco` in the target of intent {other.intent}: pools that cpuplan writes "
            f"do not select its MachineConfig then; or give the nodes of intent {other.intent} a "
            "custom pool"
        )
    return f"remove machineConfigLabel from the target of intent {other.intent}"


def _contradictions(pool: Pool, items: Sequence[Inherited], locate: Locate) -> Iterator[Diagnostic]:
    node_class = pool.plan.node_class
    for item in items:
        yield diagnose(
            "CP238",
            locate(node_class.cluster_place(item.place)),
            label=item.effect,
            kind="MachineConfig",
            name=item.source.config.name,
            pool=node_class.target.pool,
            what=item.what,
            intent=node_class.intent,
        )


def _shown(names: Sequence[str]) -> str:
    shown = list(names[:_SHOWN])
    further = len(names) - len(shown)
    return joined([*shown, f"{further} more"] if further else shown)
