"""The objects of a cluster as `check` compares them, with the reasons for each."""

from collections.abc import Iterable, Iterator, Sequence

from cpuplan.backends.base import Files, Manifest
from cpuplan.backends.dra import policies
from cpuplan.backends.openshift import predicted
from cpuplan.components import kubelet, mixedcpus, runtimeclass
from cpuplan.components.dra import classes
from cpuplan.components.koordinator import colocation, scheduler, slo
from cpuplan.components.nri import balloons, topologyaware
from cpuplan.components.openshift import performanceprofile, pool, tuned
from cpuplan.diagnostics import Reason
from cpuplan.expected.objects import FOLDER, Compiled, file_of, render
from cpuplan.plan import ConfiguredPlan

#: The kinds that are compared, and the components whose settings say why there is an object.
_COMPONENTS: dict[str, tuple[str, ...]] = {
    "RuntimeClass": (runtimeclass.NAME,),
    "MachineConfigPool": (pool.NAME,),
    "KubeletConfig": (kubelet.NAME,),
    "PerformanceProfile": (performanceprofile.NAME,),
    "Tuned": (tuned.NAME,),
    "BalloonsPolicy": (balloons.NAME,),
    "TopologyAwarePolicy": (topologyaware.NAME,),
    "DeviceClass": (classes.NAME,),
    "ClusterColocationProfile": (colocation.NAME,),
    "ConfigMap": (slo.NAME, scheduler.NAME),
}
#: For pods with shared CPUs, and policies for claims.
_OF_SHARED_CPUS = (
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
    "Namespace",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
)
#: All others are compared otherwise, or not: what becomes of a MachineConfig is in the rendered
#: one, which belongs to a class; Nodes with Koordinator have a check of their own.
COMPARED = frozenset({*_COMPONENTS, *_OF_SHARED_CPUS})
#: What the node tuning operator makes of a profile and is the same for all releases.
_PREDICTED = ("RuntimeClass", "KubeletConfig")


def files(
    cluster: str,
    of_classes: Sequence[tuple[ConfiguredPlan, Iterable[Manifest]]],
    shared: Iterable[Manifest],
    members: Sequence[ConfiguredPlan],
) -> Files:
    """The files of a cluster, by path below `out/`: objects of classes, and `shared` ones.

    `members` are the plans that the shared ones are for.
    """
    folder = f"clusters/{cluster}/{FOLDER}"
    every = _objects(of_classes, shared, members)
    return {f"{folder}/{file_of(name)}": render(each).encode() for name, each in every}


def _objects(
    of_classes: Sequence[tuple[ConfiguredPlan, Iterable[Manifest]]],
    shared: Iterable[Manifest],
    members: Sequence[ConfiguredPlan],
) -> Iterator[tuple[str, Compiled]]:
    seen: set[str] = set()
    for plan, manifests in of_classes:
        for manifest in (*manifests, *_predicted(plan)):
            if manifest.file not in seen:
                seen.add(manifest.file)
                yield from _compiled(manifest, [plan])
    for manifest in shared:
        yield from _compiled(manifest, members)


def _predicted(plan: ConfiguredPlan) -> Iterator[Manifest]:
    """What the node tuning operator makes of a profile."""
    for manifest in predicted.manifests(plan):
        if manifest.data["kind"] in _PREDICTED:
            yield manifest


def _compiled(
    manifest: Manifest, plans: Sequence[ConfiguredPlan]
) -> Iterator[tuple[str, Compiled]]:
    if manifest.data["kind"] in COMPARED:
        because = _because(manifest, plans)
        yield manifest.file, Compiled(manifest.data, because, manifest.is_for_host)


def _because(manifest: Manifest, plans: Sequence[ConfiguredPlan]) -> tuple[Reason, ...]:
    """The reasons of the setting that the object has, by its name or the first, in any plan."""
    kind, name = manifest.data["kind"], manifest.data["metadata"]["name"]
    is_of_claims = name.startswith(policies.NAME)
    components = (classes.NAME,) if is_of_claims else _COMPONENTS.get(kind, ())
    for plan in plans:
        if kind in _OF_SHARED_CPUS and not is_of_claims and mixedcpus.are_used(plan):
            return (mixedcpus.reason(plan),)
        settings = [setting for each in components for setting in plan.settings.of(each)]
        named = [setting for setting in settings if setting.key == name]
        for setting in named or settings:
            return setting.reasons
    return ()
