"""Settings and pools to files: one module for each platform, and the frame that Git delivers."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby
from typing import TYPE_CHECKING, NamedTuple

from cpuplan.backends import rollouts
from cpuplan.backends.base import (
    Backend,
    Facts,
    Files,
    Key,
    Managed,
    Manifest,
    object_of,
    of_objects,
    to_file,
)
from cpuplan.backends.registry import BACKENDS, components
from cpuplan.base.progress import follow, stage
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate
from cpuplan.fleet import targets
from cpuplan.language.model.base import has_key
from cpuplan.language.model.operations import DeliverySpec
from cpuplan.plan import Classes, ConfiguredPlan, NodeClass, NodePlan, Plan
from cpuplan.plan.setting import Settings, Value

if TYPE_CHECKING:
    from cpuplan.backends.parts import Every, Wanted


def of(node_class: NodeClass) -> Backend:
    """The backend of a class."""
    return BACKENDS[node_class.platform.name]


def configure(plan: NodePlan) -> ConfiguredPlan:
    """The plan with the settings of the components that its backend writes, in their order."""
    made = (component.settings(plan) for component in components(plan))
    configured = ConfiguredPlan(plan, Settings(chain.from_iterable(made)))
    if plan.node_class.cluster_facts.tuneds and plan.node_class.platform.has_pools:
        from cpuplan.backends.openshift import in_force

        return ConfiguredPlan(plan, in_force.settings(configured), configured.written)
    return configured


def check(plan: ConfiguredPlan, locate: Locate) -> list[Diagnostic]:
    """What the plan's backend cannot say."""
    backend = of(plan.node_class)
    problems = list(backend.check(plan, locate))
    problems += rollouts.check(plan, locate)
    if plan.spec.verify:
        from cpuplan.backends import state, verify

        problems += verify.checks.check_size(plan, state.text(plan, backend), locate)
    return problems


def check_pools(plan: Plan, locate: Locate) -> list[Diagnostic]:
    """Classes of one MachineConfigPool whose objects differ: the pool can have one of them only."""
    pools: dict[tuple[str, str], list[ConfiguredPlan]] = {}
    for node in plan.nodes:
        pool = node.node_class.machine_config_pool
        if pool and not node.spec.paused:
            pools.setdefault((node.node_class.cluster, pool), []).append(node)
    problems = (_unlike(members, locate) for _, members in sorted(pools.items()))
    diagnostics = [problem for problem in problems if problem]
    for _, group in groupby(plan.nodes, key=lambda node: node.node_class.cluster):
        members = list(group)
        diagnostics += _check_cluster(members, locate)
        for backend, classes in _by_platform(members):
            diagnostics += backend.check_cluster(classes, locate)
    return diagnostics


def _check_cluster(members: Sequence[ConfiguredPlan], locate: Locate) -> Iterator[Diagnostic]:
    """What the mechanisms that classes of a cluster name do to each other."""
    if has_key(members[0].node_class.cluster_facts, "nodeResourceTopology"):
        from cpuplan.components.checks import nrt

        yield from nrt.check_cluster(members, locate)
    if any(plan.spec.verify for plan in members):
        from cpuplan.backends.verify import checks

        yield from checks.check_cluster(members, locate)


def _unlike(members: Sequence[ConfiguredPlan], locate: Locate) -> Diagnostic | None:
    """What is wrong with the classes of a pool; None where their objects are the same."""
    if len(members) == 1:
        return None
    first = _objects(members[0])
    other = next((node for node in members[1:] if _objects(node) != first), None)
    if other is None or other.node_class.target.mixed_hardware == "split":  # that is CP288
        return None
    intents = {node.node_class.intent for node in members}
    if len(intents) == 1 and other.node_class.target.mixed_hardware == "common":
        return _unlike_files(members[0], other, locate)
    return targets.unlike([node.node_class for node in members], locate)


def _by_platform(
    plans: Iterable[ConfiguredPlan],
) -> Iterator[tuple[Backend, list[ConfiguredPlan]]]:
    """The classes of each platform among those of a cluster; two platforms may share a backend."""
    by_name: dict[str, list[ConfiguredPlan]] = {}
    for plan in plans:
        by_name.setdefault(plan.node_class.platform.name, []).append(plan)
    for name, members in by_name.items():
        yield BACKENDS[name], members


def _unlike_files(first: ConfiguredPlan, second: ConfiguredPlan, locate: Locate) -> Diagnostic:
    """CP290: settings that follow the hardware and not the layout."""
    of_first, of_second = _values(first), _values(second)
    keys = sorted(of_first.keys() | of_second.keys())
    differing = [key for key in keys if of_first.get(key) != of_second.get(key)]
    node_class = first.node_class
    return diagnose(
        "CP290",
        locate(node_class.place(node_class.target_field("mixedHardware"))),
        pool=node_class.target.pool,
        cluster=node_class.cluster,
        first=node_class.hardware,
        second=second.node_class.hardware,
        keys=", ".join(f"{key} of {component}" for component, key in differing) or "names",
    )


def _values(plan: ConfiguredPlan) -> dict[tuple[str, str], Value]:
    return {(setting.component, setting.key): setting.value for setting in plan.settings}


def _objects(plan: ConfiguredPlan) -> Files:
    manifests = of(plan.node_class).manifests(plan)
    return {manifest.file: to_file(manifest.data) for manifest in manifests}


class Output(NamedTuple):
    """All files of `out/`, by path, and the classes that each is of, if any."""

    files: Files
    classes: Classes


def tree(plan: Plan, delivery: DeliverySpec | None = None, every: "Every | None" = None) -> Files:
    """The files of `output`."""
    return output(plan, delivery, every).files


@stage("making files")
def output(
    plan: Plan, delivery: DeliverySpec | None = None, every: "Every | None" = None
) -> Output:
    """All files of `out/`; of paused classes those that stay.

    `every` gives the parts of classes, however it comes by them; by itself it makes them.
    """
    from cpuplan.backends import deliveries, parts
    from cpuplan.backends import delivery as by_git

    files: Files = by_git.git_files()
    files |= deliveries.common_files(plan.nodes)
    objects: list[Managed] = []
    classes: Classes = {}
    clusters = groupby(plan.nodes, key=lambda node: node.node_class.cluster)
    groups = [(cluster, list(members)) for cluster, members in clusters]
    for cluster, members in follow("clusters", len(groups), groups, lambda group: group[0]):
        of_cluster, made = _cluster(cluster, members, every or parts.every)
        files |= of_cluster.files
        classes = {**classes, **of_cluster.classes}
        objects += made
    if delivery:
        files |= by_git.files(plan.nodes, delivery, objects)
    return Output(files, classes)


def _cluster(
    cluster: str, plans: list[ConfiguredPlan], every: "Every"
) -> tuple[Output, Iterable[Managed]]:
    """The files of a cluster, and what the objects among them are."""
    from cpuplan.backends import admission, parts, state
    from cpuplan.backends import delivery as by_git
    from cpuplan.backends.parts import Wanted

    stays = _kept_files(plans)
    going = [node for node in plans if not node.spec.paused]
    facts = _facts_of_cluster(plans)
    wanted = [
        Wanted(node, of(node.node_class), facts.get(node.node_class.key, {})) for node in going
    ]
    of_classes = list(every(wanted))
    # The policies of a cluster are for all of its pods, those on nodes of a paused intent too.
    with_files = [node for node in plans if not node.spec.paused or _has_files(node)]
    shared = [
        *admission.manifests(with_files),
        *_of_mechanisms(with_files),
    ]
    of_cluster = parts.files(
        cluster, (made_parts.compiled for made_parts in of_classes), shared, with_files
    )
    shared += _of_verify(with_files, of_cluster)
    made = [
        *chain.from_iterable(made_parts.objects for made_parts in of_classes),
        *map(object_of, shared),
        *chain.from_iterable(made_parts.verifying for made_parts in of_classes),
    ]
    by_name = {manifest.file: manifest for manifest in made}
    objects = of_objects(cluster, by_git.host_of(plans), by_name.values(), stays)
    further = [*_expected_of_cluster(cluster, plans), *_of_dra(cluster, going, plans)]
    files = {
        **stays,
        **{state.plan_path(node): state.render_plan(node) for node in plans if node.spec.paused},
        **by_git.cluster_files(cluster, plans, by_name.values(), stays),
        **dict(chain.from_iterable(made_parts.files.items() for made_parts in of_classes)),
        **of_cluster,
        **dict(chain.from_iterable(of_class.items() for _, of_class in further)),
        **_of_koordinator(cluster, with_files),
    }
    owned: list[tuple[str, Iterable[str]]] = [(key[1], paths) for key, paths in further]
    owned += [(node.node_class.name, node.kept.files) for node in plans if node.kept]
    for node, parts_of in zip(going, of_classes, strict=True):
        owned.append((node.node_class.name, parts_of.paths(cluster)))
    return Output(files, _classes(owned)), objects


def _of_mechanisms(plans: Sequence[ConfiguredPlan]) -> Iterator[Manifest]:
    """What classes share of mechanisms, and policies for the agents that verify nodes."""
    if any(plan.node_class.target.has_dra for plan in plans):
        from cpuplan.backends import dra

        yield from dra.cluster_manifests(plans)
    if any(plan.node_class.target.has_koordinator for plan in plans):
        from cpuplan.backends import koordinator

        yield from koordinator.cluster_manifests(plans)
    if any(plan.spec.verify for plan in plans):
        from cpuplan.backends import verify

        yield from verify.policies(plans)


def _of_verify(plans: Sequence[ConfiguredPlan], compiled: Files) -> Iterator[Manifest]:
    """What classes share that verify their nodes; `compiled` are files that it reads."""
    if any(plan.spec.verify for plan in plans):
        from cpuplan.backends import verify

        yield from verify.cluster_manifests(plans, compiled)


def _wanted(plans: Iterable[ConfiguredPlan], facts: Mapping[Key, Facts]) -> "list[Wanted]":
    from cpuplan.backends.parts import Wanted

    return [Wanted(plan, of(plan.node_class), facts.get(plan.node_class.key, {})) for plan in plans]


def _facts_of_cluster(plans: list[ConfiguredPlan]) -> dict[Key, Facts]:
    facts: dict[Key, Facts] = {}
    for backend, members in _by_platform(plans):
        facts |= backend.facts_of_cluster(members)
    return facts


def _of_koordinator(cluster: str, plans: list[ConfiguredPlan]) -> Files:
    if not any(plan.node_class.target.has_koordinator for plan in plans):
        return {}
    from cpuplan.backends import koordinator

    files = koordinator.files(plans)
    return {f"clusters/{cluster}/koordinator/{path}": data for path, data in files.items()}


def _of_dra(
    cluster: str, going: list[ConfiguredPlan], plans: list[ConfiguredPlan]
) -> Iterator[tuple[Key, Files]]:
    if not any(plan.node_class.target.has_dra for plan in plans):
        return
    from cpuplan.backends import dra

    for key, files in dra.files(plans, going).items():
        yield key, _below(f"clusters/{cluster}/{dra.FOLDER}", files)


def _below(folder: str, files: Files) -> Files:
    return {f"{folder}/{path}": data for path, data in files.items()}


def _classes(names: Iterable[tuple[str, Iterable[str]]]) -> Classes:
    """The names of the classes that each path is of, ascending; `names` has paths by class."""
    classes: dict[str, set[str]] = {}
    for name, paths in names:
        for path in paths:
            classes.setdefault(path, set()).add(name)
    return {path: tuple(sorted(members)) for path, members in classes.items()}


def _kept_files(plans: Iterable[ConfiguredPlan]) -> Files:
    """The files of the paused classes of a cluster."""
    files: Files = {}
    for plan in plans:
        if plan.kept:
            files |= plan.kept.files
    return files


def _has_files(node: ConfiguredPlan) -> bool:
    """Whether something was compiled of a paused class."""
    return bool(node.kept and node.kept.files)


def _expected_of_cluster(cluster: str, plans: list[ConfiguredPlan]) -> Iterator[tuple[Key, Files]]:
    """The same of what classes do to each other, paused ones too."""
    for backend, members in _by_platform(plans):
        for key, files in backend.expected_of_cluster(members).items():
            yield key, _below(f"clusters/{cluster}/expected", files)
