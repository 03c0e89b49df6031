"""What cpuplan sets although no intent says so: the one table of it, with reasons and the ways to
say otherwise.

On Kubernetes this is only what something that was asked for needs. What OpenShift's node tuning
operator sets on its nodes is set on OpenShift, so that a pool can move from one to the other;
elsewhere an intent enables it by name.
"""

from fnmatch import fnmatchcase
from functools import cache

from cpuplan.defaults import nodes, operators
from cpuplan.defaults.default import Default as Default

DEFAULTS: tuple[Default, ...] = (*nodes.DEFAULTS, *operators.DEFAULTS)
#: What `defaults` of an intent switches.
SWITCHES: dict[str, Default] = {each.name: each for each in DEFAULTS if not each.otherwise}
#: Amounts that OpenShift's node tuning operator adds where a KubeletConfiguration lacks the entry,
#: by field.
AMOUNTS: dict[str, dict[str, str]] = {
    "kubeReserved": {"memory": "500Mi"},
    "systemReserved": {"memory": "500Mi"},
    "evictionHard": {
        "imagefs.available": "15%",
        "memory.available": "100Mi",
        "nodefs.available": "10%",
        "nodefs.inodesFree": "5%",
    },
}


@cache
def named(name: str) -> Default:
    """The first row of a name."""
    return next(each for each in DEFAULTS if each.name == name)


@cache
def of_setting(component: str, key: str) -> tuple[Default, ...]:
    """The rows that may be why a setting is what it is."""
    setting = f"{component} {key}"
    return tuple(
        each for each in DEFAULTS if any(fnmatchcase(setting, pattern) for pattern in each.settings)
    )


@cache
def reason(name: str, component: str, key: str) -> str:
    """Why a setting is what it is by the default `name`."""
    return next(each.reason for each in of_setting(component, key) if each.name == name)
