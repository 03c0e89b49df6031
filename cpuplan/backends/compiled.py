"""The objects of a cluster as `check` compares them, with the reasons for each."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from cpuplan.backends.base import Files, Manifest
from cpuplan.backends.dra import policies
from cpuplan.backends.openshift import predicted
from cpuplan.components import kubelet, mixedcpus, runtimeclass
from cpuplan.components.dra import classes
from cpuplan.components.koordinator import colocation, scheduler, slo
from cpuplan.components.nri import balloons, topologyaware
from cpuplan.components.openshift import performanceprofile, pool, tuned
from cpuplan.diagnostics import Reason
from cpuplan.fleet import verification
from cpuplan.plan import ConfiguredPlan
from cpuplan.plan.expected.objects import FOLDER, Compiled, file_of, render

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
#: For pods with shared CPUs, and policies for claims and for the tokens of agents.
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


def of_class(plan: ConfiguredPlan, manifests: Iterable[Manifest]) -> dict[str, bytes]:
    """The objects of a class, and what operators make of them, by the file of their manifest.

    Empty are those that are not compared.
    """
    made: dict[str, bytes] = {}
    for manifest in (*manifests, *_predicted(plan)):
        if manifest.file not in made:
            made[manifest.file] = _rendered(manifest, [plan])
    return made


def files(
    cluster: str,
    of_classes: Iterable[Mapping[str, bytes]],
    shared: Iterable[Manifest],
    members: Sequence[ConfiguredPlan],
) -> Files:
    """The files of a cluster, by path below `out/`: objects of classes, and `shared` ones.

    Of classes with the same object the first gives the reasons. `members` are the plans that the
    shared ones are for.
    """
    made: dict[str, bytes] = {}
    for name, data in chain.from_iterable(each.items() for each in of_classes):
        made.setdefault(name, data)
    made |= {manifest.file: _rendered(manifest, members) for manifest in shared}
    folder = f"clusters/{cluster}/{FOLDER}"
    return {f"{folder}/{file_of(name)}": data for name, data in made.items() if data}


def _predicted(plan: ConfiguredPlan) -> Iterator[Manifest]:
    """What the node tuning operator makes of a profile."""
    for manifest in predicted.manifests(plan):
        if manifest.data["kind"] in _PREDICTED:
            yield manifest


def _rendered(manifest: Manifest, plans: Sequence[ConfiguredPlan]) -> bytes:
    """The file of an object; empty of one that is not compared."""
    if manifest.data["kind"] not in COMPARED:
        return b""
    because = _because(manifest, plans)
    return render(Compiled(manifest.data, because, manifest.is_for_host)).encode()


def _because(manifest: Manifest, plans: Sequence[ConfiguredPlan]) -> tuple[Reason, ...]:
    """The reasons of the setting that the object has, by its name or the first, in any plan."""
    kind, name = manifest.data["kind"], manifest.data["metadata"]["name"]
    if name.startswith(verification.AGENT):
        return ()
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
