"""The control group of a process: its unit of systemd, and whether a kubelet made it for a pod."""

import re

from cpuplan.base import nodetext

#: `kubepods` (cgroupfs), `kubepods.slice`, and with --cgroup-root x `x-kubepods.slice`.
_PODS = re.compile(r"(?:\A|/)(?:[^/]*-)?kubepods(?:-[^/]*)?(?:\.slice)?(?:/|\Z)")
_UNIT = re.compile(r"[^/]+\.(?:service|scope|socket|mount|swap|slice)(?=/|\Z)")
#: Controllers of version 1 in the order in which they are believed, and version 2, which has none.
_CONTROLLERS = ("cpuset", "name=systemd", "")


def path_of(text: str) -> str:
    """The path in /proc/<pid>/cgroup: of the CPUs on version 1, or the only one; else empty."""
    paths: dict[str, str] = {}
    for line in nodetext.lines(text):
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        paths |= dict.fromkeys(controllers.split(","), path)
    found = [paths[name] for name in _CONTROLLERS if paths.get(name, "/") != "/"]
    return found[0] if found else ""


def is_pod(path: str) -> bool:
    """Whether a kubelet made the control group, or one above it, for pods."""
    return _PODS.search(path) is not None


def unit_of(path: str) -> str:
    """The innermost unit that systemd has for a control group; its path where there is none."""
    units = _UNIT.findall(path)
    return units[-1] if units else path
