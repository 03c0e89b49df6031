"""All objects of some files, for one release of Koordinator."""

from collections.abc import Iterable, Iterator, Sequence

from cpuplan.components.koordinator import names
from cpuplan.diagnostics import Diagnostic
from cpuplan.diagnostics.source import Source
from cpuplan.language.model.intent import Target
from cpuplan.plan import NodePlan
from cpuplan.platforms.versions import Version
from cpuplan.simulate.koordinatorfiles import configs, nodes, pods
from cpuplan.simulate.koordinatorfiles.objects import (
    NRT,
    PROFILE,
    SCHEDULER_CONFIG,
    SLO_CONFIG,
    Object,
    objects,
    template,
)
from cpuplan.simulate.manifests import Item
from cpuplan.upstream.koordinator.extension.releases import LATEST


def check(sources: Iterable[Source], release: Version) -> list[Diagnostic]:
    """CP640 to CP649, and CP720 for pods that Kubernetes does not take.

    Where a ClusterColocationProfile is among the objects, classes of pods are not judged: the
    profile may set them.
    """
    found = list(objects(sources))
    has_profiles = any(each.kind == PROFILE for each in found)
    return [
        finding for each in found for finding in _check(each, release, has_profiles=has_profiles)
    ]


def _check(found: Object, release: Version, *, has_profiles: bool) -> Iterator[Diagnostic]:
    made = template(found)
    if made is not None:
        yield from pods.check_pod(made, release, has_profiles=has_profiles)
    elif found.kind == "Node":
        yield from nodes.check_node(found, release)
    elif found.kind == NRT:
        yield from nodes.check_topology(found)
    elif found.kind == PROFILE:
        yield from pods.check_profile(found, release)
    elif found.kind == "ConfigMap" and found.name == SLO_CONFIG:
        yield from configs.check_slo_config(found, release)
    elif found.kind == "ConfigMap" and found.name == SCHEDULER_CONFIG:
        yield from configs.check_scheduler_config(found)


def are_koordinators(sources: Sequence[Source]) -> bool:
    """Whether a file has only objects of which Koordinator reads something, and at least one."""
    from cpuplan.simulate.koordinatorfiles.objects import is_koordinators

    found = list(objects(sources))
    return bool(found) and all(is_koordinators(each.data) for each in found)


def of_pods(items: Iterable[Item], plans: Sequence[NodePlan]) -> list[Diagnostic]:
    """The same for pods that are simulated on planned nodes, once for each document.

    Classes of pods are not judged where the plans have profiles that may give them.
    """
    sources = {id(item.source): item.source for item in items if item.source}
    has_profiles = any(plan.spec.koordinator.workloads for plan in plans)
    release = release_of(plan.node_class.target for plan in plans)
    return [
        finding
        for found in objects(sources.values())
        for finding in _check(found, release, has_profiles=has_profiles)
    ]


def release_of(targets: Iterable[Target]) -> Version:
    """The one that all targets with Koordinator share, or the newest."""
    named = {names.release(target) for target in targets if target.has_koordinator}
    return (named.pop() if len(named) == 1 else None) or LATEST
