"""Which folders of a node a container has: an agent gets single ones, and not the whole root."""

import re
from collections.abc import Iterable
from pathlib import Path

_MOUNTS = Path("/proc/self/mountinfo")
_ESCAPE = re.compile(r"\\([0-7]{3})")
#: In a line of mountinfo (proc(5)).
_MOUNT_POINT = 4


def parts(root: Path, mounts: Path = _MOUNTS) -> frozenset[str] | None:
    """The mounts below a folder that is none itself, as paths below it; None for a whole root.

    What the runtime makes to mount something on it, such as `/host`, has nothing of the node.
    """
    try:
        points = set(_points(mounts.read_text(encoding="utf-8", errors="surrogateescape")))
    except OSError:
        return None
    if str(root) in {*points, "/"}:
        return None
    start = f"{root}/"
    return frozenset(each.removeprefix(start) for each in points if each.startswith(start))


def _points(text: str) -> Iterable[str]:
    for line in text.splitlines():
        fields = line.split(" ")
        if len(fields) > _MOUNT_POINT:
            yield _ESCAPE.sub(lambda code: chr(int(code[1], 8)), fields[_MOUNT_POINT])


def covers(found: Iterable[str], path: str) -> bool:
    """Whether a path is one of the mounts, or below one."""
    return any(f"{path}/".startswith(f"{part}/") for part in found)
