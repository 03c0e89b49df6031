"""Check PerformanceProfiles against their CRD, as an API server does before the webhook."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from cpuplan.base.cpuset import CpuSet, CpuSetError
from cpuplan.components.openshift.performanceprofile import API_VERSION
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Position, Source
from cpuplan.language.model.document import list_pattern
from cpuplan.language.read.documents import name_problems, validate, written
from cpuplan.profiles import crd_fields
from cpuplan.profiles.model import PerformanceProfileSpec
from cpuplan.profiles.profile import CPU_SETS, Profile

_LIST = re.compile(list_pattern(r"[0-9]{1,19}(-[0-9]{1,19})?"))


#: The operator's webhook converts these, and adds the field.
_OLD_VERSIONS = ("performance.openshift.io/v1", "performance.openshift.io/v1alpha1")
_CONVERTED = (
    ", and globallyDisableIrqLoadBalancing: true under spec, as the operator does "
    "when it converts the profile"
)


class Read(NamedTuple):
    """A profile that its CRD accepts; not `whole` if some of its CPU lists cannot be read."""

    profile: Profile
    source: Source
    whole: bool
    hosted: bool = False  # in a ConfigMap of the cluster that hosts its own


def profile(source: Source, release: str) -> tuple[Read | None, list[Diagnostic]]:
    """The profile by its CRD. Lists of fields that the release lacks may be anything."""
    data: Any = source.data
    version = data.get("apiVersion")
    if version != API_VERSION:
        expected = API_VERSION + (_CONVERTED if version in _OLD_VERSIONS else "")
        place = source.value_at(("apiVersion",))
        return None, [diagnose("CP204", place, found=written(version), expected=expected)]
    metadata = data.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    problems = list(_text_problems(source))
    if name is None:
        problems.append(diagnose("CP202", source.value_at(("metadata",)), field="metadata.name"))
    else:
        problems += name_problems(source, name)
    if "spec" not in data:
        return None, [*problems, diagnose("CP202", source.value_at(()), field="spec")]
    spec, findings = validate(PerformanceProfileSpec, source, ("spec",))
    if findings and all(problem.code == "CP208" for problem in findings):
        spec = _without_bad_lists(source)
        dropped = crd_fields.lacking(spec, release) if spec else ()
        places = {source.value_at(("spec", *field)) for field in dropped}
        kept = [problem for problem in findings if problem.position not in places]
        findings = [_by_operator(problem, source) for problem in kept]
    if spec is None or problems:
        return None, [*problems, *findings]

    def at(*field: str | int) -> Position:
        return source.value_at(("spec", *field))

    return Read(Profile(str(name), spec, at), source, not findings), findings


def _text_problems(source: Source) -> Iterator[Diagnostic]:
    """Labels and annotations, which no CRD describes; null is no value."""
    data: Any = source.data
    metadata = data.get("metadata")
    for key in ("labels", "annotations"):
        texts = metadata.get(key) if isinstance(metadata, dict) else None
        for name, value in texts.items() if isinstance(texts, dict) else ():
            if not isinstance(value, str | None):
                field = f"metadata.{key}.{name}"
                yield diagnose(
                    "CP279", source.value_at(("metadata", key, name)), field=field, value=value
                )
        if not isinstance(texts, dict | None):
            field = f"metadata.{key}"
            yield diagnose("CP279", source.value_at(("metadata", key)), field=field, value=texts)


def _without_bad_lists(source: Source) -> PerformanceProfileSpec | None:
    """The spec with a CPU in each list that cannot be read, so that the rest can be checked."""
    data: Any = source.data
    spec = data["spec"]
    cpu = {
        name: "0" if name in CPU_SETS and not _is_list(value) else value
        for name, value in spec["cpu"].items()
    }
    return PerformanceProfileSpec.model_validate({**spec, "cpu": cpu})


def _by_operator(problem: Diagnostic, source: Source) -> Diagnostic:
    """The problem of a CPU list; CP277 if only its numbers are too high for cpuplan."""
    data: Any = source.data
    cpu = data["spec"]["cpu"]
    places = {source.value_at(("spec", "cpu", name)): cpu[name] for name in CPU_SETS if name in cpu}
    if problem.position in places and _is_list_in_go(str(places[problem.position])):
        return diagnose(
            "CP277", problem.position, problem=problem.message, remedy="number CPUs from 0 to 8191"
        )
    return problem


def _is_list_in_go(text: str) -> bool:
    """k8s.io/utils/cpuset, Parse: numbers of 64 bits."""
    ranges = [item.partition("-") for item in text.split(",")] if _LIST.fullmatch(text) else []
    return bool(ranges) and all(
        int(first) <= int(last or first) < 2**63 for first, _, last in ranges
    )


def _is_list(value: object) -> bool:
    try:
        return isinstance(CpuSet.parse_kubelet(str(value)), CpuSet)
    except CpuSetError:
        return False
