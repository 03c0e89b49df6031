"""PerformanceProfiles, and the objects that OpenShift's node tuning operator made of them
(vectors/nto/render).

A profile becomes an Intent (`profiles.reader`), its CPU lists the pools of a plan on regular
machines, and the plan what `backends.openshift` writes. That is compared in meaning with what the
operator's controller made, and the boot arguments with those that TuneD computed on each platform.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from copy import copy, deepcopy
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from cpuplan.backends import configure, openshift
from cpuplan.backends.openshift import objects as of_openshift
from cpuplan.base.text import quantity_bytes
from cpuplan.base.topology import NumaNodeFacts, Topology
from cpuplan.components import hugepages
from cpuplan.components.openshift import machineconfig, pool
from cpuplan.diagnostics import Diagnostic, errors
from cpuplan.fleet import openshift as cluster
from cpuplan.fleet import synthetic
from cpuplan.language.model.intent import IntentSpec
from cpuplan.language.read.documents import Document
from cpuplan.pipeline.batch import check_node
from cpuplan.plan import ConfiguredPlan, NodePlan, tuned_profiles
from cpuplan.profiles import loading
from cpuplan.solve import solver
from tests.conformance import boot_arguments, meaning
from tests.conformance.comparing import judged
from tests.conformance.nto_validate import OPERATORS

VECTORS = Path(__file__).parents[2].parent / "shared" / "vectors" / "nto" / "render"
#: The platforms of cmdline.yaml: architecture, vendor and `model` of /proc/cpuinfo.
PLATFORMS: dict[str, tuple[str, str, int | None]] = {
    "intel-icelake": ("x86_64", "GenuineIntel", 106),
    "intel-skylake": ("x86_64", "GenuineIntel", 85),
    "amd": ("x86_64", "AuthenticAMD", 17),
    "arm": ("aarch64", "", None),
}
#: NUMA nodes of the machines for which each case is compiled.
NUMA_NODES = (1, 2, 8)
#: What is the operator's input.
_NOT_COMPARED = ("MachineConfigPool",)


#: `render` has no rules (vectors/nto/README.md). Refused here with good reason is what the
#: operator's own CRD and webhook refuse (OPERATORS), and for each of these codes what stands behind
#: it.
SENSIBLE = (
    OPERATORS
    | {
        "CP103": "a scalar that YAML 1.1 and 1.2 read differently",
        "CP104": "a number that loses digits",
        "CP105": "an anchor or alias",
        "CP201": "a misspelt field, which an API server drops in silence",
        "CP204": "another API version, which the operator passes over in silence",
        "CP206": "two objects of one name",
        "CP207": "a name that an API server refuses",
        "CP271": (
            "a KubeletConfig with an empty selector, which belongs to no pool (facts/nto.md 8.1)"
        ),
        "CP272": "a snippet with which no kubelet starts",
        "CP276": "a value that stands for nothing",
        "CP277": (
            "a value that means something to a boot loader or to TuneD, or that no kubelet knows"
        ),
        "CP278": (
            "the static memory manager without reservation (facts/nto.md 8.1): "
            "the kubelet does not start"
        ),
        "CP503": "a policy option that no kubelet has: it does not start",
        "CP506": "a value that a policy option does not take: the kubelet does not start",
        "CP507": "policy options without a CPU manager: the kubelet does not start",
        "CP509": "policy options that exclude each other: the kubelet does not start",
        "CP512": "more NUMA nodes than the topology manager takes: the kubelet does not start",
        "CP514": "an amount that is none: the kubelet does not start",
        "CP515": "an eviction signal that no kubelet has: it does not start",
        "CP516": (
            "a percentage with the memory manager, "
            "to which no reservedMemory adds up (facts/nto.md 8.1)"
        ),
        "CP517": "reservedMemory that does not add up: the kubelet does not start",
        "CP520": "a boot argument that contradicts the profile (issue 5)",
        "CP522": "huge pages in two places, whose order the kernel minds",
        "CP523": "a boot argument that keeps CPUs of the profile from coming up",
        "CP524": "a kernel that does not exist",
        "CP525": "a command line that the kernel cuts off",
        "CP533": "mixed CPUs and DRA, which the operator's controller refuses",
        "CP540": "a page size that no kernel has",
        "CP545": "a field that the kubelet does not know",
        "CP546": "a field of another type: the kubelet does not start",
        "CP547": "a field that the machine config operator refuses",
        "CP701": "a kubelet that does not start, for what it finds on the machine",
        "CP702": "a feature gate with which the kubelet does not start",
        "CP703": "a configuration that the kubelet's own validation refuses",
    }.keys()
)


class RefusedError(Exception):
    """cpuplan does not take the input, and says why in diagnostics."""

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        super().__init__("; ".join(f"{each.code}: {each.message}" for each in diagnostics))
        self.codes = {each.code for each in diagnostics}


class Compiled(NamedTuple):
    """A profile's name and its plan on each platform.

    Objects are compared for one of them, since only boot arguments depend on the platform.
    """

    name: str
    plans: dict[str, ConfiguredPlan]

    @property
    def plan(self) -> ConfiguredPlan:
        """The platform for the objects: some kernels and huge pages are for Arm only."""
        some = next(iter(self.plans.values()))
        sizes = {page.size for page in some.spec.huge_pages.pages} | {
            some.spec.huge_pages.default_size
        }
        is_arm = some.spec.kernel.page_size == "64k" or sizes - {
            None,
            *hugepages.SIZES["x86_64", "4k"],
        }
        return self.plans["arm"] if is_arm else some


def run(paths: list[Path]) -> Iterator[tuple[str, list[str]]]:
    """(case, failures) of every case below `paths`.

    Cases that try a flag of the operator's own command (`--owner-ref`) say nothing of profiles, and
    pass.
    """
    for path in paths or [VECTORS]:
        for found in sorted(path.rglob("case.yaml")):
            yield found.parent.name, judged(f"{found}:1", partial(_failures, found.parent))


def _failures(case: Path) -> Iterator[str]:
    about = _load(case / "case.yaml")[0]
    if re.search("owner|UID", about.get("error", ""), re.IGNORECASE):
        return
    profile = _profile_path(case)
    try:
        compiled = _compile_all(case)
    except RefusedError as refused:
        if (
            about["exit_code"] == 0
            and about["controller"].get("ok")
            and not refused.codes & SENSIBLE
        ):
            yield f"{profile}:1: refused, and the operator takes it: {refused}"
        return
    if error := about.get("error") or about["controller"].get("error"):
        if not _writes_pool(compiled, error):
            yield f"{profile}:1: taken, and the operator refuses it: {error}"
        return
    for each in compiled:
        yield from _compare_arguments(case, each)
    for numa_nodes in NUMA_NODES:
        # The operator asks no machine, so that its objects are the same for all of them.
        spread = _compile_all(case, numa_nodes)
        found = _manifests(case, spread)
        for failure in _compare_objects(
            case, found, _workers_profiles(spread), _told_elsewhere(spread)
        ):
            yield f"{failure} (on {numa_nodes} NUMA nodes)"


def _writes_pool(compiled: list[Compiled], error: str) -> bool:
    """Whether the operator only misses the pool, which cpuplan writes itself."""
    missing = error.startswith("no MCP found")
    return missing and all(
        each.plan.node_class.target.pool not in pool.BUILT_IN for each in compiled
    )


def _profile_path(case: Path) -> Path:
    files = sorted(path for path in (case / "input").rglob("*") if path.is_file())
    return next(
        (path for path in files if "PerformanceProfile" in path.read_text(encoding="utf-8")),
        files[0],
    )


def _load(path: Path) -> list[Any]:
    return [
        each
        for each in yaml.load_all(path.read_text(encoding="utf-8"), yaml.CSafeLoader)
        if each is not None
    ]


def _compile_all(case: Path, numa_nodes: int = 1) -> list[Compiled]:
    """The plans of all profiles, on machines of at least so many NUMA nodes with CPUs.

    Raises RefusedError with the diagnostics of cpuplan where it refuses the input.
    """
    files = [path for path in sorted((case / "input").rglob("*")) if path.is_file()]
    documents, found = loading.read(case / "input", files)
    _stop_at(found)
    intents = documents.of_kind("Intent")
    active = [document for document in intents if not document.spec.paused]
    return [_compile(document, numa_nodes) for document in active]


def _stop_at(diagnostics: list[Diagnostic]) -> None:
    if refused := errors(diagnostics):
        raise RefusedError(refused)


def _compile(document: Document, numa_nodes: int) -> Compiled:
    """A profile's plan on each platform."""
    plans = {
        platform: configure(_spread(_assumed(document, *facts), numa_nodes))
        for platform, facts in PLATFORMS.items()
    }
    compiled = Compiled(document.name, plans)
    _stop_at(
        [
            *solver.check_statements(compiled.plan.node_class, _nowhere),
            *check_node(compiled.plan, _nowhere),
        ]
    )
    return compiled


def _assumed(document: Document, architecture: str, vendor: str, model: int | None) -> NodePlan:
    spec: IntentSpec = document.spec
    return synthetic.plan(
        document.name, spec, architecture=architecture, vendor=vendor, model=model
    )


def _spread(plan: NodePlan, numa_nodes: int) -> NodePlan:
    """The same layout on a machine whose CPUs are in so many sockets of a NUMA node each."""
    if numa_nodes == 1:
        return plan
    node_class, old = copy(plan.node_class), plan.topology
    share = -(-len(old.cpus) // numa_nodes) or 1
    cpus = [
        cpu._replace(socket=cpu.cpu // share, numa_node=cpu.cpu // share, uncore_cache=cpu.cpu)
        for cpu in old.cpus
    ]
    memory = max(facts.memory or 0 for facts in old.numa_facts.values())
    named = {*old.numa_facts, *range(numa_nodes)}
    node_class.topology = Topology(cpus, [NumaNodeFacts(node, memory) for node in sorted(named)])
    node_class.written_as = "PerformanceProfile"
    return NodePlan(node_class, plan.pools, plan.sets)


def _nowhere(_origin: str) -> None:
    """The line of a statement, which is not asked for here."""


def _expected_folder(case: Path) -> Path:
    """What a cluster gets: of the controller where that is not what `render` writes; nothing at all
    if it has none.
    """
    controller = _load(case / "case.yaml")[0]["controller"]
    differs = not controller.get("same_as_render", True)
    return case / ("expected-controller" if differs else "expected")


def _manifests(case: Path, compiled: list[Compiled]) -> dict[tuple[str, str], dict[str, Any]]:
    """What cpuplan writes, by kind and name; a cluster without profiles is pinned all the same."""
    written = [manifest.data for each in compiled for manifest in openshift.manifests(each.plan)]
    objects = [
        each for path in (case / "input").rglob("*") if path.is_file() for each in _load(path)
    ]
    facts = cluster.facts(objects)
    if not compiled and facts.partitioned:
        arbiter = ["arbiter"] if facts.control_plane_topology == "HighlyAvailableArbiter" else []
        pools = {*arbiter, *(pool.name for pool in cluster.pools(objects))}
        written += [of_openshift.pinning_machine_config(pool) for pool in sorted(pools)]
    return {
        (data["kind"], data["metadata"]["name"]): data
        for data in written
        if data["kind"] not in _NOT_COMPARED
    }


def _workers_profiles(compiled: Iterable[Compiled]) -> set[str]:
    """The names of the profiles of the pool worker."""
    return {
        each.name for each in compiled if each.plan.node_class.target.pool == machineconfig.WORKER
    }


def _told_elsewhere(compiled: Iterable[Compiled]) -> set[str]:
    """The KubeletConfigs of profiles whose memory is reserved elsewhere, and that say so."""
    return {
        f"performance-{each.name}"
        for each in compiled
        if any(told.code == "CP573" for told in check_node(each.plan, _nowhere))
    }


def _without_nodes(item: dict[str, Any]) -> dict[str, Any]:
    """A KubeletConfig with the sum of its reservedMemory, wherever that is."""
    item = deepcopy(item)
    configuration = item["spec"]["kubeletConfig"]
    amounts = [entry["limits"]["memory"] for entry in configuration["reservedMemory"]]
    configuration["reservedMemory"] = sum(map(quantity_bytes, amounts))
    return item


def _compare_objects(
    case: Path,
    found: dict[tuple[str, str], dict[str, Any]],
    of_workers: Collection[str],
    elsewhere: Collection[str] = (),
) -> Iterator[str]:
    folder = _expected_folder(case)
    expected = {
        (item["kind"], item["metadata"]["name"]): (path, item)
        for path in sorted(folder.glob("*.yaml"))
        for item in _load(path)
        if item["kind"] not in _NOT_COMPARED
    }
    real_time = _real_time(item for _, item in expected.values())
    for kind, name in sorted(found.keys() - expected.keys()):
        yield f"{folder}:1: {kind} {name} is written, and the operator does not write it"
    for (kind, name), (path, item) in sorted(expected.items()):
        if (kind, name) not in found:
            yield f"{path}:1: {kind} {name} is not written"
            continue
        data = found[kind, name]
        compared = (_of_workers(item, of_workers), data)
        if kind == "KubeletConfig" and name in elsewhere:
            compared = (_without_nodes(item), _without_nodes(data))
        wanted, given = (
            meaning.canonical(manifest, real_time=name in real_time) for manifest in compared
        )
        for where, what in meaning.differences(wanted, given):
            yield f"{path}:{meaning.line_of(path, where)}: {kind} {'.'.join(where)} {what}"
        if kind == "MachineConfig":
            yield from (
                f"{path}:1: {script} is started and not shipped"
                for script in meaning.missing_scripts(data)
            )


def _of_workers(item: dict[str, Any], profiles: Collection[str]) -> dict[str, Any]:
    """The operator's object with what cpuplan adds for the pool worker (docs/openshift.md).

    A mark by which custom pools leave the MachineConfig out, and a priority after theirs.
    """
    item = deepcopy(item)
    kind, name = item["kind"], item["metadata"]["name"]
    if kind == "MachineConfig" and name.removeprefix("50-performance-") in profiles:
        item["metadata"]["labels"][machineconfig.OWNER] = machineconfig.WORKER
    if kind == "Tuned" and name.removeprefix("openshift-node-performance-") in profiles:
        second = tuned_profiles.WORKER_PRIORITY - tuned_profiles.PRIORITY
        for recommended in item["spec"]["recommend"]:
            recommended["priority"] += second
    return item


def _real_time(objects: Iterable[dict[str, Any]]) -> set[str]:
    """The names of the TuneD profiles for nodes with a real-time kernel."""
    kernels = {
        item["metadata"]["name"]: item["spec"].get("kernelType")
        for item in objects
        if item["kind"] == "MachineConfig"
    }
    return {
        name.replace("50-performance-", "openshift-node-performance-")
        for name, kernel in kernels.items()
        if kernel == "realtime"
    }


def _compare_arguments(case: Path, compiled: Compiled) -> Iterator[str]:
    path = case / "cmdline.yaml"
    if not path.exists():
        return
    output = f"{_expected_folder(case).name}/{compiled.name}_tuned.yaml"
    recorded = _load(path)[0]["by_output"].get(output, {})
    for platform in (platform for platform in PLATFORMS if platform in recorded):
        found = of_openshift.machine_config(compiled.plans[platform])["spec"]["kernelArguments"]
        for where, what in boot_arguments.argument_differences(
            recorded[platform]["kernelArguments"], found
        ):
            line = meaning.line_of(path, (output, f"{platform}:", "kernelArguments", *where))
            yield f"{path}:{line}: {platform}: boot argument {'.'.join(where)} {what}"
