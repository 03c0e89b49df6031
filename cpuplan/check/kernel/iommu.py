"""IOMMUs in use, and what they do for devices."""

from typing import NamedTuple

from cpuplan.check.subject import Subject
from cpuplan.plan.setting import Setting

_UNITS = "sys/class/iommu"
_GROUPS = "sys/kernel/iommu_groups"
#: Devices that are not trusted, or that virtual machines have, keep domains of their own.
_DIRECT = "identity"


class Observed(NamedTuple):
    """What the folders of IOMMUs say of an argument."""

    path: str
    text: str = ""
    wanted: str = ""
    is_wanted: bool = False
    #: Why nothing shows.
    problem: str = ""


def observed(subject: Subject, setting: Setting) -> Observed:
    """Whether there are IOMMUs, and with `pt` whether devices reach memory past them."""
    units = subject.root.names(_UNITS)
    if not units:
        return Observed(_UNITS, problem="no IOMMU is here")
    if setting.key in ("iommu", "iommu.passthrough"):
        return _direct(subject, setting)
    if setting.value != "on":
        return Observed(_UNITS, problem="nothing shows it")
    return Observed(_UNITS, ", ".join(units[:4]), "IOMMUs in use", True)


def _direct(subject: Subject, setting: Setting) -> Observed:
    """The types of the groups of devices (sysfs-kernel-iommu_groups, since Linux 5.11)."""
    if setting.value not in ("pt", "1"):
        return Observed(_GROUPS, problem="nothing shows it")
    paths = (f"{_GROUPS}/{group}/type" for group in subject.root.names(_GROUPS))
    types = [text.strip() for path in paths if (text := subject.root.read(path))]
    if not types:
        return Observed(_GROUPS, problem="there is no type of a group of devices here")
    found = ", ".join(sorted(set(types)))
    return Observed(_GROUPS, found, _DIRECT, _DIRECT in types)
