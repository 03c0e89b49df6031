"""Whether a file is of a later version of the language than this cpuplan's."""

import re

from cpuplan import API_VERSION

GROUP = API_VERSION.partition("/")[0]
_VERSION = re.compile(r"v([1-9][0-9]{0,5})(?:(alpha|beta)([1-9][0-9]{0,5}))?")
_STAGES = ("alpha", "beta", None)


def is_later(api_version: object) -> bool:
    """Whether an apiVersion of cpuplan's group is later than ours: v1alpha1, v1beta1, v1."""
    if not isinstance(api_version, str):
        return False
    group, _, version = api_version.partition("/")
    own, other = _order(API_VERSION.partition("/")[2]), _order(version)
    return group == GROUP and own is not None and other is not None and other > own


def _order(version: str) -> tuple[int, int, int] | None:
    match = _VERSION.fullmatch(version)
    return (int(match[1]), _STAGES.index(match[2]), int(match[3] or 0)) if match else None
