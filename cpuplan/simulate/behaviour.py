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
    # Odd remainders find a place in an uncore cache too (#131850, opened after 1.33.0); before, whole cores only.
    "cpu.odd_uncore_remainders": (1, 34),
    # Memory of a group of nodes must not touch a node that is in use with others (#123443); before, it could, and the
    # groups overlapped from then on.
    "memory.group_check": (1, 32),
}
#: What OpenShift's kubelet had earlier.
OPENSHIFT_SINCE: dict[str, Version] = {"cpu.odd_uncore_remainders": (1, 33)}


def has(gates: Gates, name: str, *, is_openshift: bool = False) -> bool:
    """Whether the kubelet with these gates, of their version, behaves so."""
    since = OPENSHIFT_SINCE.get(name, SINCE[name]) if is_openshift else SINCE[name]
    return gates.version >= since
