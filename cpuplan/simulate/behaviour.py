"""What the kubelet's managers do since which release: the one table "behaviour, first version".

The rules of this package are those of 1.36. Where an earlier or later kubelet does something else, the rule asks here.
Options and gates have tables of their own (`components.versions`, `features`).
"""

from cpuplan.components.versions import Version
from cpuplan.simulate.features import Gates

#: First versions, with the pull request to kubernetes/kubernetes. Backports to patch releases do not count: a minor
#: version has releases without them.
SINCE: dict[str, Version] = {
    # full-pcpus-only counts the CPUs of whole cores that are left (#114114); before, it gave out halves of them.
    "cpu.physical_cpus_check": (1, 27),
    # The refusal names the CPUs that are left even where these are none (#127959).
    "cpu.physical_cpus_text": (1, 32),
    # Odd remainders find a place in an uncore cache too (#131850, opened after 1.33.0); before, whole cores only.
    "cpu.odd_uncore_remainders": (1, 34),
    # Memory of a group of nodes must not touch a node that is in use with others (#123443); before, it could, and the
    # groups overlapped from then on.
    "memory.group_check": (1, 32),
    # Sidecars keep their CPUs and memory (#119447, #120715); before, they passed them on as any init container.
    "pods.sidecars": (1, 29),
    # The managers leave pods with resources of their own alone (#133279); before, they looked at the containers.
    "pods.no_pod_level_alignment": (1, 34),
}
#: What OpenShift's kubelet had earlier.
OPENSHIFT_SINCE: dict[str, Version] = {"cpu.odd_uncore_remainders": (1, 33)}


def has(gates: Gates, name: str, *, is_openshift: bool = False) -> bool:
    """Whether the kubelet with these gates, of their version, behaves so."""
    since = OPENSHIFT_SINCE.get(name, SINCE[name]) if is_openshift else SINCE[name]
    return gates.version >= since


def ignores_own_resources(gates: Gates) -> bool:
    """Whether the CPU and memory managers leave pods with resources of their own alone."""
    return not gates.pod_level_managers and has(gates, "pods.no_pod_level_alignment")
