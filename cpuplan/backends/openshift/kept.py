"""The objects of paused classes: those in the files that stay in `out/`."""

from collections.abc import Mapping
from typing import Any

from cpuplan.base import yaml11
from cpuplan.plan import ConfiguredPlan

_FOLDERS = ("/manifests/", "/expected/operator/")
_PROFILE = "/manifests/10-performanceprofile-"


def is_empty(plan: ConfiguredPlan) -> bool:
    """Whether a class is paused and nothing was compiled of it."""
    return plan.spec.paused and not _files(plan)


def objects(plan: ConfiguredPlan, kind: str) -> list[dict[str, Any]]:
    """The objects of a kind that a paused class has, and those that operators make of its own."""
    found: list[dict[str, Any]] = []
    for path, data in sorted(_files(plan).items()):
        name = path.rpartition("/")[2]
        if kind.lower() in name and any(folder in path for folder in _FOLDERS):
            found += [item for item in yaml11.load(data.decode()) if item["kind"] == kind]
    return found


def is_profile(plan: ConfiguredPlan) -> bool:
    """Whether the node tuning operator makes the objects of a class, paused or not."""
    if not plan.spec.paused:
        return plan.node_class.target.is_profile
    return any(_PROFILE in path for path in _files(plan))


def _files(plan: ConfiguredPlan) -> Mapping[str, bytes]:
    return plan.kept.files if plan.kept else {}
