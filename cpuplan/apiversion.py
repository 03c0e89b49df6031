"""The versions of what cpuplan reads and writes, and whether a file is of a later one."""

import re

from cpuplan import API_VERSION

GROUP = API_VERSION.partition("/")[0]
_VERSION = re.compile(r"v([1-9][0-9]{0,5})(?:(alpha|beta)([1-9][0-9]{0,5}))?")
_STAGES = ("alpha", "beta", None)


def is_later(found: object) -> bool:
    """Whether an apiVersion is of cpuplan's group and later than ours, in Kubernetes' order:
    v1alpha1, v1beta1, v1.
    """
    if not isinstance(found, str):
        return False
    group, _, version = found.partition("/")
    own, other = _order(API_VERSION.partition("/")[2]), _order(version)
    return group == GROUP and own is not None and other is not None and other > own


def _order(version: str) -> tuple[int, int, int] | None:
    match = _VERSION.fullmatch(version)
    return (int(match[1]), _STAGES.index(match[2]), int(match[3] or 0)) if match else None


def is_later_number(found: object, own: int) -> bool:
    """The same of files that count their versions."""
    return isinstance(found, int) and not isinstance(found, bool) and found > own
