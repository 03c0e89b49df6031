"""The performance profile creator's must-gathers and answers (vectors/nto/ppc, ppc-4.18).

Each call is made of `cpuplan propose`; the Intent that it proposes is compiled, and the
PerformanceProfile compared with the creator's. Where the creator's answer is right by the rules
(`creator.broken_rules`) the sets must be the same; where it is wrong or it crashed, a right layout
must come instead. What is refused there is refused here, but for what follows from the machine or
only from the creator (`creator.limit`).
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import click
import yaml

from cpuplan import importers, pipeline
from cpuplan.backends.registry import BACKENDS
from cpuplan.base.cpuset import CpuSet, union
from cpuplan.base.emit import to_yaml
from cpuplan.cli.commands import propose as command
from cpuplan.diagnostics import CpuplanError, errors
from cpuplan.fleet import classes as fleet
from cpuplan.importers import documents as imported_documents
from cpuplan.importers.base import Machine
from cpuplan.language.read import documents
from cpuplan.language.read.yaml import parse
from cpuplan.profiles.propose import cluster
from cpuplan.profiles.propose.cluster import Dump, members
from cpuplan.profiles.propose.proposal import propose
from tests.conformance import creator
from tests.conformance.comparing import judged
from tests.conformance.meaning import line_of

FOLDER = Path(__file__).parents[2].parent / "shared" / "vectors" / "nto"
ANSWERS = ("ppc", "ppc-4.18")


class Answer(NamedTuple):
    """What cpuplan answers: an object and the nodes that get it, or why there is none."""

    manifest: dict[str, Any] | None
    nodes: tuple[str, ...] = ()
    refusal: str = ""


#: An Intent's text to what it is compiled to; raises CpuplanError.
Compile: TypeAlias = Callable[[str], Answer]


def run(paths: list[Path]) -> Iterator[tuple[str, list[str]]]:
    """(case, failures) of every call, and of every listing, below `paths`."""
    for path in paths or [FOLDER / name for name in ANSWERS]:
        for answers in sorted(path.rglob("cases.yaml")):
            yield from _run_folder(answers)


def _run_folder(answers: Path) -> Iterator[tuple[str, list[str]]]:
    """The calls of a must-gather, and its listing."""
    name = answers.parent.name
    try:
        dump = Dump(_must_gather(answers.parent))
        cases = yaml.load(answers.read_text(encoding="utf-8"), yaml.CSafeLoader)
    except (OSError, yaml.YAMLError, CpuplanError) as error:
        yield name, [f"{answers}:1: the file or its must-gather cannot be read: {error}"]
        return
    compile_intent = cache(_Inventory(dump.path).compile)
    for case in cases:
        place = f"{answers}:{line_of(answers, ('id: ' + case['id'],))}: {' '.join(case['args'])}"
        problems = judged(place, partial(_failures, case, dump, compile_intent))
        yield case["id"], [_placed(place, problem) for problem in problems]
    info = answers.with_name("info.yaml")
    if info.exists():
        problems = judged(f"{info}:1", partial(_judge_list, info, dump))
        yield f"{name}-info", [_placed(f"{info}:1", problem) for problem in problems]


def _placed(place: str, problem: str) -> str:
    return problem if problem.startswith(place) else f"{place}: {problem}"


def _must_gather(answers: Path) -> Path:
    """The must-gather of a folder of answers: beside the folder of folders, or in the open
    vectors.
    """
    own = answers.parents[1] / "must-gather" / answers.name
    return own if own.is_dir() else FOLDER / "must-gather" / answers.name


def _failures(case: dict[str, Any], dump: Dump, compile_intent: Compile) -> Iterator[str]:
    call = creator.asked(case["args"])
    answer = _answer(case["args"], dump, compile_intent)
    machines = _machines(dump, call)
    if case["exit_code"] == 1 and not (machines and creator.limit(case.get("error") or "")):
        if answer.manifest:
            yield f"taken, and the creator refuses it: {case.get('error')}"
        return
    if not machines or call.contradicts_itself() or not creator.is_possible(machines[0], call):
        if answer.manifest:
            yield "taken, and there is no layout of that number, or the words contradict each other"
        return
    if not creator.are_alike(machines):
        if answer.manifest:
            yield "taken, and the nodes of the pool are unlike"
        return
    if answer.manifest is None:
        if creator.is_sound(dump.path):
            yield f"refused: {answer.refusal}; the creator: {case.get('error') or 'takes it'}"
        return
    machine = machines[0]
    layout = creator.layout_of(answer.manifest)
    yield from creator.broken_rules(layout, machine, call)
    if case["exit_code"] == 0:
        yield from _compare(case, call, answer, layout, machine)
        if _writes_selector(dump, call) and not _spec(case["profile"]).get("nodeSelector"):
            yield "the creator's has no node selector"


def _compare(
    case: dict[str, Any],
    call: creator.Asked,
    answer: Answer,
    layout: creator.Layout,
    machine: Machine,
) -> Iterator[str]:
    """What differs from an answer that the creator gave: its sets count if they are right."""
    assert answer.manifest is not None
    theirs = creator.layout_of(case["profile"])
    is_wrong = creator.forgets_the_mode(call) or any(creator.broken_rules(theirs, machine, call))
    if layout != theirs and not is_wrong:
        yield f"has {layout}; the creator's is {theirs}"
    mine, expected = (
        creator.meant(creator.profile_of(each), call) for each in (answer.manifest, case["profile"])
    )
    if "nodeSelector" not in expected:
        mine.pop("nodeSelector", None)
    if mine != expected:
        yield f"has {mine}; the creator's is {expected}"
    # On a hosted cluster the object is a ConfigMap with the profile in it.
    yield from _compare_names(answer.manifest, case["profile"])
    yield from _compare_names(
        creator.profile_of(answer.manifest), creator.profile_of(case["profile"])
    )
    annotations = creator.profile_of(answer.manifest)["metadata"].get("annotations") or {}
    needed = ["kubeletconfig.experimental"] if creator.needs_snippet(machine) else []
    if own := [
        name for name in annotations if not name.startswith("argocd.") and name not in needed
    ]:
        yield f"has the annotations {own}"
    targeted = next(
        (line for line in case.get("alerts") or () if line.startswith("Nodes names targeted")), ":"
    )
    if sorted(targeted.partition(":")[2].split()) != list(answer.nodes):
        yield f"is for {answer.nodes}; {targeted}"


def _spec(manifest: dict[str, Any]) -> dict[str, Any]:
    spec: dict[str, Any] = creator.profile_of(manifest)["spec"]
    return spec


def _writes_selector(dump: Dump, call: creator.Asked) -> bool:
    """Whether the creator selects nodes by labels: the pool's, if it is not all expressions."""
    return dump.hosted or any(pool.match_labels for pool in dump.pools if pool.name == call.pool)


def _compare_names(manifest: Mapping[str, Any], expected: Mapping[str, Any]) -> Iterator[str]:
    for key in ("apiVersion", "kind", "namespace", "name"):
        own, creators = _named(manifest, key), _named(expected, key)
        is_wrong = key == "name" and not creator.is_name(creators) and creator.is_name(own)
        if own != creators and not is_wrong:
            yield f"{key} is {own}; the creator's is {creators}"


def _named(manifest: Mapping[str, Any], key: str) -> Any:
    return manifest.get(key) or manifest["metadata"].get(key)


def _answer(arguments: list[str], dump: Dump, compile_intent: Compile) -> Answer:
    """What the command does with the call: options by its own parser, then the public functions."""
    translated = creator.translate(arguments, hosted=dump.hosted)
    if translated is None:
        return Answer(None, refusal="there is no such call: two pools, or a node pool elsewhere")
    try:
        context = command.command.make_context("propose", [str(dump.path), *translated])
        request = command.request_of(**context.params)
        proposal = propose(dump, request)
        if proposal.intent is None:
            return Answer(
                None,
                refusal="; ".join(f"{each.code} {each.message}" for each in proposal.diagnostics),
            )
        return compile_intent(command.render(proposal))
    except click.ClickException as error:
        return Answer(None, refusal=error.format_message())
    except CpuplanError as error:
        return Answer(None, refusal=str(error))


def _machines(dump: Dump, call: creator.Asked) -> list[Machine]:
    """The machines of the pool's nodes; empty where one of them is not told, or no number was asked
    for.
    """
    try:
        found = [dump.machine(node.name) for node in members(dump, call.pool).nodes]
        _ = call.numbers
    except (StopIteration, ValueError):
        return []
    known = [machine for machine in found if machine]
    return known if len(known) == len(found) else []


class _Inventory:
    """The documents that `cpuplan import` makes of a must-gather, to compile intents with."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def sources(self) -> list[Any]:
        imported = importers.run("must-gather", [self.path])
        texts = (to_yaml(document) for document in imported_documents.hardware_documents(imported))
        return [source for text in texts for source in parse("inventory.yaml", text)[0]]

    def compile(self, intent: str) -> Answer:
        """The object that the Intent is compiled to. Raises CpuplanError."""
        found, problems = documents.from_sources([*self.sources, *parse("intent.yaml", intent)[0]])
        built, more = fleet.build(found)
        project = pipeline.Project(Path(), found, built.classes, {}, ())
        plan, unsolved = pipeline.solve(project)
        if wrong := errors([*problems, *more, *unsolved, *pipeline.check(project, plan)]):
            raise CpuplanError(wrong)
        objects = {
            each.file: each.data
            for node in plan.nodes
            for each in BACKENDS["openshift"].manifests(node)
        }
        (manifest,) = (data for name, data in objects.items() if name.startswith("10-"))
        nodes = sorted(name for node in plan.nodes for name in node.node_class.nodes)
        return Answer(manifest, tuple(nodes))


def _judge_list(info: Path, dump: Dump) -> Iterator[str]:
    """What `--list` tells beside the creator's `info`, of nodes of which that has all CPUs."""
    told = yaml.load(info.read_text(encoding="utf-8"), yaml.CSafeLoader)
    found = cluster.listed_pools(dump)
    if told["exit_code"] != 0:
        return
    theirs = {
        pool["name"]: {node["name"]: node for node in pool["nodes"] or ()}
        for pool in told["json"] or ()
    }
    names = {pool: list(nodes) for pool, nodes in found.items()}
    if names != {pool: list(nodes) for pool, nodes in theirs.items()}:
        yield (
            f"has {names}; "
            f"the creator's is { {pool: list(nodes) for pool, nodes in theirs.items()} }"
        )
        return
    capacity = {node.name: node.cpus for node in dump.nodes}
    for pool, nodes in theirs.items():
        for name, node in nodes.items():
            machine = found[pool][name]
            if machine is None:
                if node["numa_cells"]:
                    yield f"{name} cannot be read"
            elif capacity[name] not in (0, len(machine.online)):
                yield f"{name} has the CPUs {machine.online}; its capacity is {capacity[name]}"
            else:
                yield from _compare_node(name, node, machine)


def _compare_node(name: str, node: dict[str, Any], machine: Machine) -> Iterator[str]:
    """Its NUMA nodes, where the creator has all CPUs: it stops at files that old dumps lack."""
    cells = [CpuSet(cell["cores"] or ()) for cell in node["numa_cells"] or ()]
    if len(union(cells)) != len(machine.online):
        return
    mine = [numa_node.cpus & machine.online for numa_node in machine.numa_nodes]
    if cells != mine:
        yield f"{name} has the NUMA nodes {mine}; the creator's are {cells}"
    # It counts the sockets' core ids, of the CPUs whose socket has a CPU in /proc/cpuinfo.
    ids = {(machine.sockets.get(cpu), machine.core_ids.get(cpu)) for cpu in machine.online}
    if len(ids) != len(machine.siblings) or not machine.vendor:
        return
    if node["smt_enabled"] != (len(machine.siblings) < len(machine.online)):
        yield (
            f"{name} has the cores {machine.siblings}; SMT is {node['smt_enabled']} for the creator"
        )
