"""PerformanceProfiles, and the objects that OpenShift's node tuning operator made of them (vectors/nto/render).

A profile becomes an Intent (`importers.performanceprofile`), its CPU lists the pools of a plan on a regular machine,
and the plan what `backends.openshift` writes. That is compared in meaning with what the operator's controller made,
and the boot arguments with those that TuneD computed on each platform; the Tuned object itself has no counterpart.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pydantic
import yaml

from cpuplan import components
from cpuplan.backends import openshift
from cpuplan.cpuset import CpuSet, union
from cpuplan.diagnostics import CpuplanError, errors
from cpuplan.document import NAME_PATTERN
from cpuplan.importers import performanceprofile
from cpuplan.intent import POOLS, IntentSpec
from cpuplan.plan import NodeClass, NodePlan, Pool
from cpuplan.solve import statements
from cpuplan.topology import Cpu, NumaNodeFacts, Topology
from tests.conformance import meaning

VECTORS = Path(__file__).parents[2].parent / "shared" / "vectors" / "nto" / "render"
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
#: Objects that only one side writes: boot arguments are compared instead of Tuned, and pools are the operator's input.
_NOT_COMPARED = ("Tuned", "MachineConfigPool")


class RefusedError(Exception):
    """cpuplan does not take the input."""


class Compiled(NamedTuple):
    """A profile's name, its fields that have no place in an Intent, and its plan on each platform.

    Objects are compared for one of them, since only boot arguments depend on the platform.
    """

    name: str
    left: list[str]
    plans: dict[str, NodePlan]

    @property
    def plan(self) -> NodePlan:
        """The platform for the objects: kernels with pages of 64k are for Arm only."""
        some = next(iter(self.plans.values()))
        return self.plans["arm"] if some.spec.kernel.page_size == "64k" else some


def run(paths: list[Path]) -> Iterator[tuple[str, list[str]]]:
    """(case, failures) of every case below `paths`; of a path that is itself a case whatever its group."""
    for path in paths or [VECTORS]:
        if (path / "case.yaml").exists():
            yield path.name, _judged(path)
            continue
        for found in sorted(path.rglob("case.yaml")):
            if found.parent.name.startswith(GROUPS):
                yield found.parent.name, _judged(found.parent)


def _judged(case: Path) -> list[str]:
    try:
        return list(_failures(case))
    except Exception as error:  # a bug that one case shows must not hide the results of the others
        return [f"{case / 'case.yaml'}:1: cpuplan or its comparison failed: {error!r}"]


def _failures(case: Path) -> Iterator[str]:
    about = _load(case / "case.yaml")[0]
    profile = _profile_path(case)
    try:
        compiled = _compile_all(case)
    except RefusedError as refused:
        # What the operator made of an input that its own webhook refuses is no result to repeat.
        if about["exit_code"] == 0 and "webhook" not in about.get("note", ""):
            yield f"{profile}:1: refused, and the operator takes it: {refused}"
        return
    if about["exit_code"] != 0:
        yield f"{profile}:1: taken, and the operator refuses it: {about.get('error', '')}"
        return
    for each in compiled:
        for field in each.left:
            line = meaning.line_of(profile, (re.split(r"[./]", field)[-1],))
            yield f"{profile}:{line}: {field} has no place in an Intent yet"
        yield from _compare_arguments(case, each)
    yield from _compare_objects(case, compiled)


def _profile_path(case: Path) -> Path:
    files = sorted(path for path in (case / "input").rglob("*") if path.is_file())
    return next((path for path in files if "PerformanceProfile" in path.read_text(encoding="utf-8")), files[0])


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


def _compile_all(case: Path) -> list[Compiled]:
    profiles, pools = _inputs(case)
    if not profiles:
        raise RefusedError("there is no PerformanceProfile")
    return [_compile(profile, pools) for profile in profiles]


def _compile(profile: dict[str, Any], pools: list[dict[str, Any]]) -> Compiled:
    """The plans of a profile; RefusedError when the importer, the Intent's model or a check refuses it."""
    try:
        data, left = performanceprofile.intent(profile)
        if not re.match(NAME_PATTERN, data["metadata"]["name"]):
            raise RefusedError(f"metadata.name: {data['metadata']['name']} is no RFC 1123 label")
        _join_pool(data["spec"], pools)
        spec = IntentSpec.model_validate(data["spec"])
    except pydantic.ValidationError as error:
        problems = (f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
        raise RefusedError("; ".join(problems)) from None
    except ValueError as error:
        raise RefusedError(str(error)) from None
    name = data["metadata"]["name"]
    plans = {platform: _plan(name, spec, *facts) for platform, facts in PLATFORMS.items()}
    compiled = Compiled(name, left, plans)
    found = [
        *statements.check(compiled.plan.node_class, lambda _: None),
        *components.check(compiled.plan, lambda _: None),
    ]
    if refused := errors(found):
        raise RefusedError(str(CpuplanError(refused)))
    return compiled


def _join_pool(spec: dict[str, Any], pools: list[dict[str, Any]]) -> None:
    """What the operator takes from the MachineConfigPool: a KubeletConfig selects it by all of its labels."""
    target = spec["targets"][0]
    for pool in pools:
        selector = ((pool.get("spec") or {}).get("nodeSelector") or {}).get("matchLabels")
        if selector == target["nodeSelector"] and (pool.get("metadata") or {}).get("labels"):
            target.setdefault("machineConfigPoolSelector", pool["metadata"]["labels"])
            return


def _plan(name: str, spec: IntentSpec, architecture: str, vendor: str, model: int | None) -> NodePlan:
    """The profile's pools on a machine of one socket, without siblings, up to the highest CPU that is listed."""
    lists = {pool: getattr(spec.pools, pool) for pool in POOLS}
    cpus = {pool: value.cpus for pool, value in lists.items() if value is not None}
    node_class = NodeClass(
        name=name,
        intent=name,
        spec=spec,
        target=spec.targets[0],
        cluster="cluster",
        hardware="regular",
        topology=_topology(union(cpus.values()), spec),
        nodes=("node",),
        cpu_vendor=vendor,
        architecture=architecture,
        cpu_model_number=model,
    )
    reasons = {pool: (node_class.reason("listed", f"pools.{pool}.cpus"),) for pool in cpus}
    return NodePlan(node_class, tuple(Pool(pool, cpus[pool], reasons[pool]) for pool in cpus))


def _topology(listed: CpuSet, spec: IntentSpec) -> Topology:
    """NUMA node 0 has all CPUs; further ones have the memory of huge pages that are asked for there."""
    nodes = max((page.numa_node or 0 for page in spec.huge_pages.pages), default=0) + 1
    facts = [NumaNodeFacts(node, _MEMORY) for node in range(nodes)]
    return Topology([Cpu(cpu, cpu, 0, 0, 0, 0, cpu) for cpu in range(listed.last + 1)], facts)


def _expected_folder(case: Path) -> Path:
    controller = case / "expected-controller"
    return controller if controller.exists() else case / "expected"


def _compare_objects(case: Path, compiled: list[Compiled]) -> Iterator[str]:
    folder = _expected_folder(case)
    expected = {
        (item["kind"], item["metadata"]["name"]): (path, item)
        for path in sorted(folder.glob("*.yaml"))
        for item in _load(path)
        if item["kind"] not in _NOT_COMPARED
    }
    found = {
        (manifest.data["kind"], manifest.data["metadata"]["name"]): manifest.data
        for each in compiled
        for manifest in openshift.manifests(each.plan)
        if manifest.data["kind"] not in _NOT_COMPARED
    }
    for kind, name in sorted(found.keys() - expected.keys()):
        yield f"{folder}:1: {kind} {name} is written, and the operator does not write it"
    for (kind, name), (path, item) in sorted(expected.items()):
        if (kind, name) not in found:
            yield f"{path}:1: {kind} {name} is not written"
            continue
        data = found[kind, name]
        for where, what in meaning.differences(meaning.canonical(item), meaning.canonical(data)):
            yield f"{path}:{meaning.line_of(path, where)}: {kind} {'.'.join(where)} {what}"
        if kind == "MachineConfig":
            yield from (f"{path}:1: {script} is started and not shipped" for script in meaning.missing_scripts(data))


def _compare_arguments(case: Path, compiled: Compiled) -> Iterator[str]:
    path = case / "cmdline.yaml"
    if not path.exists():
        return
    output = f"{_expected_folder(case).name}/{compiled.name}_tuned.yaml"
    recorded = _load(path)[0]["by_output"].get(output, {})
    for platform in (platform for platform in PLATFORMS if platform in recorded):
        found = openshift.machine_config(compiled.plans[platform])["spec"]["kernelArguments"]
        for where, what in meaning.argument_differences(recorded[platform]["kernelArguments"], found):
            line = meaning.line_of(path, (output, f"{platform}:", "kernelArguments", *where))
            yield f"{path}:{line}: {platform}: boot argument {'.'.join(where)} {what}"
