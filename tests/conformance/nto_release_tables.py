"""Lines of vectors/nto/releases without profiles: admission, CRD fields, feature gates."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml

from cpuplan.components import mixedcpus
from cpuplan.diagnostics import errors
from cpuplan.facts import versions
from cpuplan.profiles import loading, model
from cpuplan.profiles.model import PerformanceProfileSpec
from tests.conformance.nto_release_objects import webhook_failures

Line = dict[str, Any]
Judge = Callable[[Path, Line], Iterator[str]]
Parts = Callable[[Path, Line], Iterator[tuple[str, Judge]]]
#: Values for the fields of a profile that not every release has.
_VALUES: dict[str, Any] = {
    "spec.cpu.shared": "1",
    "spec.cpu.ovsDpdk": "1",
    "spec.hardwareTuning": {"isolatedCpuFreq": 1, "reservedCpuFreq": 1},
    "spec.kernelPageSize": "4k",
    "spec.workloadHints.mixedCpus": False,
}
_OF_WHOLE = ("spec.hardwareTuning.",)


def _verdicts(_path: Path, line: Line) -> Iterator[tuple[str, Judge]]:
    for verdict in line["verdicts"]:
        for release in verdict["releases"]:
            yield f"{release} {line['id']}", _webhook(release, verdict)


def _webhook(release: str, verdict: Line) -> Judge:
    """The same profile, nodes and other profiles on a cluster of the release."""

    def judge(path: Path, line: Line) -> Iterator[str]:
        folder = path.parents[2] / line["input"]
        expected = yaml.safe_load((folder / "expected.yaml").read_text(encoding="utf-8"))
        others = sorted(set(folder.glob("*.yaml")) - {folder / "expected.yaml"})
        _, found = loading.read(folder, others, lambda: release)
        refused = [
            each
            for each in errors(found)
            if each.position is None or each.position.path == "profile.yaml"
        ]
        by_schema = not expected["schema"]["valid"]
        if by_schema or verdict.get("panic"):
            # Before 4.16, what crashes the webhook is refused (failurePolicy Fail).
            is_let_in = verdict.get("panic") and release not in ("4.14", "4.15")
            if not refused and (by_schema or not is_let_in):
                yield "taken, and the API server refuses it"
            return
        yield from webhook_failures(verdict, refused)

    return judge


def _fields(_path: Path, line: Line) -> Iterator[tuple[str, Judge]]:
    name = line.get("field") or line["annotation"]
    yield f"{name} {line['releases'][0]}", _annotation if "annotation" in line else _field


def _field(_path: Path, line: Line) -> Iterator[str]:
    """A field of the CRD: known to cpuplan's model, and refused where a release lacks it."""
    name, releases = line["field"], line["releases"]
    if not _is_in_model(name):
        yield f"{name} is not in cpuplan's model of a profile"
    if name == "spec.workloadHints.realTime" or name.startswith(_OF_WHOLE):
        return  # only its default changed; refused with the field above it
    for release in _releases():
        refused = any(".".join(("spec", *field)) == name for field in _lacking(name, release))
        if refused == (release in releases):
            yield f"{name} is {'' if refused else 'not '}refused in {release}"


def _is_in_model(name: str) -> bool:
    model: Any = PerformanceProfileSpec.model_json_schema(by_alias=True)
    at: Any = model
    for key in name.split(".")[1:]:
        at = _resolved(model, at).get("properties", {}).get(key.removesuffix("[]"))
        if at is None:
            return False
        if key.endswith("[]"):
            at = _resolved(model, at)["items"]
    return True


def _resolved(model: Any, at: Any) -> Any:
    options = [each for each in at.get("anyOf", [at]) if each.get("type") != "null"]
    (at,) = options
    reference = at.get("$ref", "")
    return model["$defs"][reference.rpartition("/")[2]] if reference else at


def _lacking(name: str, release: str) -> list[tuple[str, ...]]:
    """What the release lacks of a profile with the field."""
    spec: Line = {"cpu": {"reserved": "0", "isolated": "2"}, "nodeSelector": {}}
    if name in _VALUES:
        *parents, last = name.split(".")[1:]
        at = spec
        for key in parents:
            at = at.setdefault(key, {})
        at[last] = _VALUES[name]
    return list(model.unsupported_fields(PerformanceProfileSpec.model_validate(spec), release))


def _releases() -> list[str]:
    from cpuplan.facts.platforms import OPENSHIFT

    return list(OPENSHIFT.releases)


#: Annotations that not every release knows: by what the operator does with them.
_ANNOTATIONS: dict[str, Any] = {
    "performance.openshift.io/cpu-load-balancing-ovs-dpdk": "ovs.dpdk",
    "performance.openshift.io/dra-resource-management": "profile.dynamic_resource_allocation",
    "performance.openshift.io/exec-cpu-affinity": "profile.exec_affinity",
    "performance.openshift.io/ignore-cgroups-version": "cluster.cgroups_v1",
}


def _annotation(_path: Path, line: Line) -> Iterator[str]:
    feature = _ANNOTATIONS.get(line["annotation"])
    for release in _releases():
        known = feature is None or versions.operator_has(release, feature)
        if known != (release in line["releases"]):
            yield f"{line['annotation']} is {'' if known else 'not '}known in {release}"


def _gates(_path: Path, line: Line) -> Iterator[tuple[str, Judge]]:
    """The operator asks for one gate only."""
    if line["gate"] == "MixedCPUsAllocation":
        yield f"{line['release']} {line['gate']}", _gate


def _gate(_path: Path, line: Line) -> Iterator[str]:
    sets = line.get("self_managed") or {}
    for name in ("Default", "TechPreviewNoUpgrade", "DevPreviewNoUpgrade", "OKD"):
        if mixedcpus.has_gate(line["release"], name) != sets.get(name, False):
            yield f"{line['gate']} in {name} of {line['release']} should be {sets.get(name, False)}"


TABLES: dict[str, Parts] = {
    "webhook.jsonl": _verdicts,
    "crd-fields.jsonl": _fields,
    "feature-gates.jsonl": _gates,
}
