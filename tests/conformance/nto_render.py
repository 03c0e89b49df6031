"""PerformanceProfiles, and the objects that OpenShift's node tuning operator made of them (vectors/nto/render).

A profile becomes an Intent (`importers.performanceprofile`), its CPU lists the pools of a plan on a regular machine,
and the plan what `backends.openshift` writes. That is compared in meaning with what the operator's controller made,
and the boot arguments with those that TuneD computed on each platform; the Tuned object itself has no counterpart.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pydantic
import yaml

from cpuplan import components
from cpuplan.backends import openshift
from cpuplan.cpuset import CpuSet, union
from cpuplan.diagnostics import CpuplanError, errors
from cpuplan.importers import performanceprofile
from cpuplan.intent import POOLS, IntentSpec
from cpuplan.plan import NodeClass, NodePlan, Pool
from cpuplan.solve import statements
from cpuplan.topology import Cpu, NumaNodeFacts, Topology
from tests.conformance import meaning

#: The operator's groups of cases for which cpuplan has all settings. Others run when their path is given.
GROUPS = ("cpu-", "numa-")
#: The platforms of cmdline.yaml: architecture, vendor and `model` of /proc/cpuinfo.
PLATFORMS: dict[str, tuple[str, str, int | None]] = {
    "intel-icelake": ("x86_64", "GenuineIntel", 106),
    "intel-skylake": ("x86_64", "GenuineIntel", 85),
    "amd": ("x86_64", "AuthenticAMD", 17),
    "arm": ("aarch64", "", None),
}
_MEMORY = 1024**4
#: Objects that only one side writes: boot arguments are compared instead of Tuned, and pools are an input of the operator.
_NOT_COMPARED = ("Tuned", "MachineConfigPool")

Manifests = dict[tuple[str, str], dict[str, Any]]


class RefusedError(Exception):
    """cpuplan does not take the input."""


def run(paths: list[Path]) -> Iterator[tuple[str, list[str]]]:
    """(case, failures) of every case below `paths`; of a path that is itself a case whatever its group."""
    for path in paths:
        if (path / "case.yaml").exists():
            yield path.name, list(_failures(path))
            continue
        for found in sorted(path.rglob("case.yaml")):
            if found.parent.name.startswith(GROUPS):
                yield found.parent.name, list(_failures(found.parent))


def _failures(case: Path) -> Iterator[str]:
    about = _load(case / "case.yaml")[0]
    try:
        profiles, pools = _inputs(case)
        compiled = [_compile(profile, pools, case) for profile in profiles]
    except RefusedError as refused:
        # What the operator made of an input that its own webhook refuses is no result to repeat.
        if about["exit_code"] == 0 and "webhook" not in about.get("note", ""):
            yield f"{_profile_path(case)}:1: refused, and the operator takes it: {refused}"
        return
    if about["exit_code"] != 0:
        yield f"{_profile_path(case)}:1: taken, and the operator refuses it: {about.get('error', '')}"
        return
    for name, unsupported, plans in compiled:
        words = (unsupported.rpartition(".")[2],)
        if unsupported:
            line = meaning.line_of(_profile_path(case), words)
            yield f"{_profile_path(case)}:{line}: {name}: no place in an Intent yet: {unsupported}"
        yield from _compare_objects(case, plans["intel-icelake"])
        yield from _compare_arguments(case, name, plans)


def _profile_path(case: Path) -> Path:
    files = sorted((case / "input").iterdir())
    return next((path for path in files if "kind: PerformanceProfile" in path.read_text(encoding="utf-8")), files[0])


def _load(path: Path) -> list[Any]:
    try:
        documents = list(yaml.load_all(path.read_text(encoding="utf-8"), yaml.CSafeLoader))
    except yaml.YAMLError as error:
        raise RefusedError(f"{path.name} is no YAML: {error}") from None
    return [document for document in documents if document is not None]


def _inputs(case: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The profiles and pools among the input files."""
    found = [item for path in sorted((case / "input").rglob("*")) if path.is_file() for item in _load(path)]
    objects = [item for item in found if isinstance(item, dict)]
    profiles = [item for item in objects if item.get("kind") == "PerformanceProfile"]
    return profiles, [item for item in objects if item.get("kind") == "MachineConfigPool"]
