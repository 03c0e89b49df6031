"""A line of vectors/nto/releases/render: the objects of one profile in one release, with the gate
MixedCPUsAllocation on and off, and the boot arguments of each platform with two versions of TuneD.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from cpuplan.backends import configure
from cpuplan.backends.openshift import objects as predicted
from cpuplan.components import checks
from cpuplan.diagnostics import Diagnostic, errors
from cpuplan.fleet import synthetic
from cpuplan.language.model.intent import IntentSpec
from cpuplan.pipeline.batch import check_node
from cpuplan.plan import ConfiguredPlan
from cpuplan.profiles import loading
from cpuplan.solve import solver
from tests.conformance import boot_arguments, contents, meaning
from tests.conformance.nto_render import SENSIBLE

Line = dict[str, Any]
Judge = Callable[[Path, Line], Iterator[str]]

VECTORS = Path(__file__).parents[2].parent / "shared" / "vectors" / "nto" / "releases"
#: Architecture, vendor and `model` of /proc/cpuinfo.
PLATFORMS: dict[str, tuple[str, str, int | None]] = {
    "intel-icelake": ("x86_64", "GenuineIntel", 106),
    "intel-skylake": ("x86_64", "GenuineIntel", 85),
    "amd": ("x86_64", "AuthenticAMD", 17),
    "x86-other": ("x86_64", "HygonGenuine", 0),
    "arm": ("aarch64", "ARM", None),
    "arm-other": ("aarch64", "Ampere", None),
}
#: A field of a profile that the release's API server drops, and an annotation that its operator
#: does not know: cpuplan refuses both, and the rest is compared.
LACKING = "CP554"
#: With good reason refused beside what `nto_render` lists: options with which no kubelet starts.
_SENSIBLE = {"CP504"}
#: TuneD cannot load the profile on such CPUs.
NO_PROFILE = "CP572"
_KINDS = ("KubeletConfig", "MachineConfig", "Node", "RuntimeClass", "Tuned")


class Compiled(NamedTuple):
    """The plans of a profile by platform, and what cpuplan refuses in it."""

    plans: dict[str, ConfiguredPlan]
    refused: list[Diagnostic]


def parts(_path: Path, line: Line) -> Iterator[tuple[str, Judge]]:
    """The vectors of a line: the webhook, both states of the gate, two versions of TuneD."""
    name = f"{line['release']} {line['id']}"
    yield f"{name} webhook", judge_webhook
    yield f"{name} gate on", lambda path, line: judge_objects(path, line, gate=True)
    yield f"{name} gate off", lambda path, line: judge_objects(path, line, gate=False)
    for platform in line.get("cmdline", {}).get("platforms", ()):
        if platform in PLATFORMS:
            yield f"{name} {platform} pin", _arguments(platform, "")
            yield f"{name} {platform} TuneD 2.28", _arguments(platform, "2.28")


@cache
def _cases(folder: Path) -> dict[str, Line]:
    lines = (folder / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    return {case["id"]: case for case in map(json.loads, lines)}


def compiled(path: Path, line: Line, *, gate: bool, tuned: str = "") -> Compiled:
    """The profile as far as the release knows its fields, with this TuneD on the nodes."""
    return _of_case(path.parent.parent, line["id"], line["release"], gate, tuned)


@lru_cache(maxsize=64)
def _of_case(folder: Path, name: str, release: str, gate: bool, tuned: str) -> Compiled:
    case = _cases(folder)[name]
    profile, facts = case["profile"], _facts(case, release, gate=gate)
    known = _known(folder, profile, release)
    first = _compile(profile, facts, case, tuned)
    if known != profile and any(each.code == LACKING for each in first.refused):
        return _compile(known, facts, case, tuned)
    return first


def _facts(case: Line, release: str, *, gate: bool) -> list[Line]:
    """The objects beside the profile."""
    status = {"cpuPartitioning": "AllNodes"} if case.get("pinned") else {}
    found: list[Line] = [
        case["pool"],
        _object("ClusterVersion", "version", status={"desired": {"version": f"{release}.0"}}),
        _object("Infrastructure", "cluster", status=status),
    ]
    if gate:
        found.append(_object("FeatureGate", "cluster", spec={"featureSet": "TechPreviewNoUpgrade"}))
    if runtime := case.get("runtime"):
        selector = {"matchLabels": case["pool"]["metadata"]["labels"]}
        spec = {
            "machineConfigPoolSelector": selector,
            "containerRuntimeConfig": {"defaultRuntime": runtime},
        }
        config = _object("ContainerRuntimeConfig", "runtime", spec=spec)
        found.append(config | {"apiVersion": "machineconfiguration.openshift.io/v1"})
    return found


def _object(kind: str, name: str, **fields: Any) -> Line:
    return {
        "apiVersion": "config.openshift.io/v1",
        "kind": kind,
        "metadata": {"name": name},
        **fields,
    }


def _known(folder: Path, profile: Line, release: str) -> Line:
    """The profile without what the CRD and the operator of the release do not know."""
    rows = (folder / "crd-fields.jsonl").read_text(encoding="utf-8").splitlines()
    kept: Line = json.loads(json.dumps(profile))
    known: dict[str, set[str]] = {}
    for row in map(json.loads, rows):
        known.setdefault(row.get("field") or row["annotation"], set()).update(row["releases"])
    for name, releases in known.items():
        if release in releases:
            continue
        annotations = kept["metadata"].get("annotations") or {}
        annotations.pop(name, None)
        *parents, last = name.split(".")
        parent: Any = kept
        for key in parents:
            parent = parent.get(key) if isinstance(parent, dict) else None
        if isinstance(parent, dict):
            parent.pop(last, None)
    return kept


def _compile(profile: Line, facts: list[Line], case: Line, tuned: str) -> Compiled:
    documents, problems = loading.from_texts(_texts(profile, facts))
    if refused := errors(problems):
        return Compiled({}, refused)
    (document,) = documents.of_kind("Intent")
    spec = by_profile(document.spec, tuned)
    plans = {
        platform: configure(
            synthetic.plan(
                document.name,
                spec,
                architecture=architecture,
                vendor=vendor,
                model=model,
                cpus=case["cpus"],
            )
        )
        for platform, (architecture, vendor, model) in PLATFORMS.items()
    }
    plan = plans["arm" if case.get("arch") == "arm" else "intel-icelake"]
    found = [*solver.check_statements(plan.node_class, _nowhere), *check_node(plan, _nowhere)]
    return Compiled(plans, errors(found))


def _texts(profile: Line, facts: list[Line]) -> dict[str, bytes]:
    return {
        f"{index}.yaml": yaml.safe_dump(item).encode()
        for index, item in enumerate([profile, *facts])
    }


def by_profile(spec: IntentSpec, tuned: str) -> IntentSpec:
    """The intent whose objects the operator makes."""
    changes = {"mode": "performanceProfile", "tuned": tuned or None}
    targets = [target.model_copy(update=changes) for target in spec.targets]
    return spec.model_copy(update={"targets": tuple(targets)})


def _nowhere(_origin: str) -> None:
    """The line of a statement, which is not asked for here."""


def judge_webhook(path: Path, line: Line) -> Iterator[str]:
    """What the release's webhook says of the profile, as far as its API server keeps it."""
    case = _cases(path.parent.parent)[line["id"]]
    known = _known(path.parent.parent, case["profile"], line["release"])
    facts = _facts(case, line["release"], gate=True)
    _, problems = loading.from_texts(_texts(known, facts))
    yield from webhook_failures(line["webhook"], errors(problems))


def webhook_failures(verdict: Line, refused: list[Diagnostic]) -> Iterator[str]:
    """What differs between a verdict and the diagnostics of the same profile."""
    from tests.conformance.nto_validate import OPERATORS, names

    codes = ", ".join(f"{each.code} ({each.message})" for each in refused)
    if verdict.get("allowed"):
        if wrong := [each for each in refused if each.code in OPERATORS]:
            yield f"refused by {wrong[0].code}, and the operator takes it: {wrong[0].message}"
        return
    if not refused:
        yield "taken, and the operator refuses it"
    for field in sorted({field for _, field in verdict.get("causes") or ()}):
        if not any(names(field, each) for each in refused):
            yield f"no refusal names {field}: {codes}"


def judge_objects(path: Path, line: Line, *, gate: bool) -> Iterator[str]:
    """All objects but boot arguments."""
    made = compiled(path, line, gate=gate)
    off = {} if gate else line.get("gate_off") or {}
    if "controller" in line and not off:
        if not made.refused:
            yield f"taken, and the operator refuses it: {line.get('controller')}"
        return
    if made.refused and not _is_sensible(line, made.refused):
        yield f"refused, and the operator takes it: {_codes(made.refused)}"
    expected = {**(line.get("expected") or {}), **off}
    if _ignores_cgroups(path, line):
        expected.pop("Node", None)
    if made.plans and expected:
        yield from _object_failures(path, line, made, expected)


def _object_failures(path: Path, line: Line, made: Compiled, expected: Line) -> Iterator[str]:
    plan = made.plans["arm" if _is_arm(path, line) else "intel-icelake"]
    found = _predicted(plan)
    for kind in sorted(set(_KINDS) & (expected.keys() | found.keys())):
        if kind not in expected or kind not in found:
            yield (
                f"{kind} is {'' if kind in found else 'not '}predicted, and should be the opposite"
            )
            continue
        wanted, given = (
            meaning.canonical(data, real_time=plan.spec.kernel.real_time)
            for data in (_manifest(kind, expected[kind]), found[kind])
        )
        for where, what in meaning.differences(wanted, given):
            yield f"{kind} {'.'.join(where)} {what}"
        if kind == "Tuned":
            yield from _sysctl_failures(line, found[kind])


def _ignores_cgroups(path: Path, line: Line) -> bool:
    """Whether the controller leaves the Node alone, which its builders make all the same."""
    metadata = _cases(path.parent.parent)[line["id"]]["profile"]["metadata"]
    annotations = metadata.get("annotations") or {}
    return annotations.get("performance.openshift.io/ignore-cgroups-version") == "true"


def _is_sensible(line: Line, refused: list[Diagnostic]) -> bool:
    """Whether a refusal stands for a rule: of the webhook, or of SENSIBLE."""
    if not line["webhook"].get("allowed"):
        return True
    from tests.conformance.nto_validate import OPERATORS

    return bool({each.code for each in refused} & (SENSIBLE - OPERATORS | _SENSIBLE))


def _codes(refused: list[Diagnostic]) -> str:
    return "; ".join(f"{each.code}: {each.message}" for each in refused)


def _is_arm(path: Path, line: Line) -> bool:
    return _cases(path.parent.parent)[line["id"]].get("arch") == "arm"


def _predicted(plan: ConfiguredPlan) -> dict[str, Line]:
    """The predicted objects by kind, without boot arguments."""
    pool = f"50-nto-{plan.node_class.target.pool}"
    objects = [manifest.data for manifest in predicted.predicted_manifests(plan)]
    return {data["kind"]: data for data in objects if data["metadata"]["name"] != pool}


def _manifest(kind: str, item: Line) -> Line:
    """A recorded object as a manifest."""
    metadata = {key: item[key] for key in ("name", "namespace", "labels") if key in item}
    manifest: Line = {"apiVersion": item["apiVersion"], "kind": kind, "metadata": metadata}
    return manifest | _BODIES[kind](item)


def _node(item: Line) -> Line:
    return {"spec": item["spec"]}


def _machine_config(item: Line) -> Line:
    files = [
        {
            "path": path,
            "mode": file["mode"],
            "contents": {"source": _data(file.get("text") or "#!")},
        }
        for path, file in item.get("files", {}).items()
    ]
    units = [{"name": name, **_unit(unit)} for name, unit in item.get("units", {}).items()]
    config = {
        "ignition": {"version": item["ignition"]},
        "storage": {"files": files},
        "systemd": {"units": units},
    }
    own = ("name", "namespace", "labels", "apiVersion", "files", "units", "ignition")
    rest = {key: value for key, value in item.items() if key not in own}
    return {"spec": {"config": config, **rest}}


def _unit(unit: Line) -> Line:
    dropins = unit.get("dropins") or {}
    named = [{"name": name, "contents": text} for name, text in dropins.items()]
    return {**unit, "dropins": named}


def _data(text: str) -> str:
    from urllib.parse import quote

    return "data:," + quote(text)


def _kubelet_config(item: Line) -> Line:
    return {"spec": {key: item[key] for key in ("machineConfigPoolSelector", "kubeletConfig")}}


def _runtime_class(item: Line) -> Line:
    return {key: item[key] for key in ("handler", "scheduling", "overhead") if key in item}


def _tuned(item: Line) -> Line:
    profiles = [
        {"name": name, "data": _ini(sections)} for name, sections in item["profiles"].items()
    ]
    return {"spec": {"profile": profiles, "recommend": item["recommend"]}}


def _ini(sections: Mapping[str, Mapping[str, str]]) -> str:
    texts = []
    for section, options in sections.items():
        lines = "".join(f"{key}={_one_line(value)}\n" for key, value in options.items())
        texts.append(f"[{section}]\n{lines}")
    return "\n".join(texts)


def _one_line(value: str) -> str:
    return re.sub(r"\s*\n\s*", "", value)


_BODIES: dict[str, Callable[[Line], Line]] = {
    "MachineConfig": _machine_config,
    "KubeletConfig": _kubelet_config,
    "RuntimeClass": _runtime_class,
    "Tuned": _tuned,
    "Node": _node,
}


def _sysctl_failures(line: Line, found: Line) -> Iterator[str]:
    """What holds after inheritance, as recorded for the kernel of the profile."""
    (profile,) = found["spec"]["profile"]
    for key, value in contents.tuned_sections(profile["data"]).get("sysctl", {}).items():
        if key != "drop" and line["sysctl"].get(key) != value:
            yield f"Tuned sysctl.{key} is {value}; it should be {line['sysctl'].get(key)}"


def _arguments(platform: str, tuned: str) -> Judge:
    """Compare the boot arguments of one platform, by the release's TuneD or a later one."""

    def judge(path: Path, line: Line) -> Iterator[str]:
        version = ".".join((tuned or line["cmdline"]["tuned"]).split(".")[:2])
        made = compiled(path, line, gate=True, tuned=version)
        if made.refused and not _is_sensible(line, made.refused):
            yield f"refused, and the operator takes it: {_codes(made.refused)}"
        if not made.plans:
            return
        recorded, plan = line["cmdline"]["platforms"][platform], made.plans[platform]
        fails = any(each.code == NO_PROFILE for each in checks.check(plan, _nowhere))
        if fails != ("error" in recorded):
            yield f"TuneD can {'not ' if 'error' in recorded else ''}load the profile"
        found = _predicted_arguments(plan)
        if "error" in recorded and found:
            yield f"boot arguments are predicted: {found}"
        if "error" not in recorded:
            wanted = _words(recorded, tuned)
            for where, what in boot_arguments.argument_differences(wanted, found):
                yield f"boot argument {'.'.join(where)} {what}"

    return judge


def _words(recorded: Line, tuned: str) -> list[str]:
    """The recorded words, with those of the later TuneD."""
    own: list[str] = recorded["cmdline"].split()
    if not tuned or recorded.get("tuned_2.28") == "same":
        return own
    if "tuned_2.28" in recorded:
        later: list[str] = recorded["tuned_2.28"].split()
        return later
    return [*own, "rcutree.nohz_full_patience_delay=1000"]


def _predicted_arguments(plan: ConfiguredPlan) -> list[str]:
    name = f"50-nto-{plan.node_class.target.pool}"
    for manifest in predicted.predicted_manifests(plan):
        if manifest.data["metadata"]["name"] == name:
            words: list[str] = manifest.data["spec"]["kernelArguments"]
            return words
    return []
