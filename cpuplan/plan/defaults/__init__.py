"""The settings that cpuplan adds to those of an intent, with the reasons and how to change them.

On Kubernetes these are only settings that the intent's own settings need. On OpenShift they include
those of the node tuning operator, so that a pool can move from one to the other; elsewhere an
intent enables them by name.
"""

from fnmatch import fnmatchcase
from functools import cache

from cpuplan.plan.defaults import nodes, operators
from cpuplan.plan.defaults.default import Default as Default

DEFAULTS: tuple[Default, ...] = (*nodes.DEFAULTS, *operators.DEFAULTS)
#: What `defaults` of an intent switches.
SWITCHES: dict[str, Default] = {row.name: row for row in DEFAULTS if not row.off_by}
#: Amounts that the node tuning operator adds to a KubeletConfiguration without the entry, by field.
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
    return next(row for row in DEFAULTS if row.name == name)


@cache
def candidates(component: str, key: str) -> tuple[Default, ...]:
    """The rows that may be the reason for a setting."""
    return tuple(row for row in DEFAULTS if _has(row, f"{component} {key}"))


def _has(row: Default, setting: str) -> bool:
    return any(fnmatchcase(setting, pattern) for pattern in row.settings)


@cache
def reason(name: str, component: str, key: str) -> str:
    """The reason for a setting by the default `name`."""
    return next(row.reason for row in candidates(component, key) if row.name == name)
