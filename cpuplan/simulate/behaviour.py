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
    # Memory of a group of nodes must not touch a node that is in use with others (#123443); before, it could, and the
    # groups overlapped from then on.
    "memory.group_check": (1, 32),
}


def has(gates: Gates, name: str) -> bool:
    """Whether the kubelet with these gates, of their version, behaves so."""
    return gates.version >= SINCE[name]
