"""The compiler: load, solve, check, emit. Each stage returns a value; problems are diagnostics."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from cpuplan.base.progress import stage
from cpuplan.diagnostics import Diagnostic, Findings, errors
from cpuplan.fleet import lock, paused, removal
from cpuplan.fleet.previous import Key
from cpuplan.language.read.documents import FieldPlaces, with_fields
from cpuplan.pipeline import lock_diff
from cpuplan.pipeline.batch import check_node, placed
from cpuplan.pipeline.loading import Project, load, starts
from cpuplan.pipeline.lock_diff import Moves, moves
from cpuplan.pipeline.making import PLAIN, Making, batch_of
from cpuplan.plan import NO_CLASSES, Classes, ConfiguredPlan, Plan

if TYPE_CHECKING:
    from cpuplan import backends

__all__ = [
    "Compiled",
    "Moves",
    "Project",
    "check",
    "check_state_files",
    "compile_project",
    "described",
    "emit",
    "judge",
    "load",
    "moves",
    "solve",
    "starts",
]

#: The fields that say who gets which CPUs.
_LAYOUT = re.compile(r":spec\.(pools|qos|workloads|rules|objective)\b")


class _Solved(NamedTuple):
    """The plan, why classes have none, and by class what is wrong with its settings."""

    plan: Plan
    diagnostics: list[Diagnostic]
    of_classes: Mapping[Key, Sequence[Diagnostic]]


def solve(
    project: Project,
    *,
    resolve: bool = False,
    settle: bool = False,
    making: Making = PLAIN,
) -> tuple[Plan, list[Diagnostic]]:
    """A plan with settings for every class: the locked layout where it holds, else a new one.

    `resolve` solves all classes afresh; `settle` takes the lock also where it has both sides of a
    merge. Classes without a layout are left out and said so in the diagnostics.
    """
    solved = making.attempt(
        lambda how: _solve(project, how, resolve=resolve, settle=settle, checked=False)
    )
    return solved.plan, solved.diagnostics


def _solve(
    project: Project,
    making: Making,
    *,
    resolve: bool,
    settle: bool,
    checked: bool,
) -> _Solved:
    of_lock = [
        problem
        for problem in project.lock_diagnostics
        if not (resolve or (settle and problem.code == lock.UNSETTLED))
    ]
    known = lock.Starts({}, {}, ()) if resolve else starts(project)
    batch = batch_of(
        project.classes,
        known,
        project.documents.by_name,
        checked=checked,
        seconds=project.seconds,
    )
    findings = Findings()
    plans: list[ConfiguredPlan] = []
    of_classes: dict[Key, Sequence[Diagnostic]] = {}
    for unit, made in making.of(batch):
        findings.add(placed(made.problems, project.locate), unit.names)
        plans += made.plans
        for plan, problems in zip(made.plans, made.findings, strict=checked):
            of_classes[plan.node_class.key] = placed(problems, project.locate)
    plans.sort(key=lambda plan: plan.node_class.key)
    return _Solved(_with_kept(project, plans), _once(of_lock, findings.all()), of_classes)


def _with_kept(project: Project, configured: Iterable[ConfiguredPlan]) -> Plan:
    """The plan, with the files of paused classes; `judge` reports what is wrong with these."""
    nodes = tuple(configured)
    stays, problems = paused.keep(
        project.root / "out", project.before, project.lock, nodes, project.locate
    )
    for node in nodes:
        if not problems:
            node.kept = stays.get(node.node_class.key)
    return Plan(nodes, tuple(problems))


def _once(first: Sequence[Diagnostic], second: Iterable[Diagnostic]) -> list[Diagnostic]:
    """`first`, then what `second` has beside it."""
    return [*first, *(problem for problem in second if problem not in first)]


def check(project: Project, plan: Plan) -> list[Diagnostic]:
    """Settings that the targets' releases lack, or that contradict the machine or each other."""
    of_classes = {node.node_class.key: check_node(node, project.locate) for node in plan.nodes}
    return _check(project, plan, of_classes)


@stage("checking settings")
def _check(
    project: Project, plan: Plan, of_classes: Mapping[Key, Sequence[Diagnostic]]
) -> list[Diagnostic]:
    """What is wrong with classes by themselves, and what is wrong with them together."""
    from cpuplan import backends
    from cpuplan.fleet import synthetic

    findings = Findings()
    for node in plan.nodes:
        findings.add(of_classes[node.node_class.key], [node.node_class.full_name])
    for node in map(backends.configure, synthetic.plans(project.documents)):
        findings.add(check_node(node, project.locate), [node.node_class.full_name])
    of_pools = backends.check_pools(plan, project.locate)
    known = project.diagnostics
    of_all = [*of_pools, *_check_delivery(project, plan)]
    return [*findings.all(), *(problem for problem in of_all if problem not in known)]


def _check_delivery(project: Project, plan: Plan) -> Iterator[Diagnostic]:
    """What rollouts and the Delivery document ask for together."""
    from cpuplan.backends import rollouts

    document = next(iter(project.documents.of_kind("Delivery")), None)
    spec = document.spec if document else None
    yield from rollouts.check_delivery(plan.nodes, spec, project.locate)
    if document:
        yield from rollouts.check_names(plan.nodes, document.spec, document.at("tracking"))


@stage("checking state files")
def check_state_files(project: Project, plan: Plan) -> list[Diagnostic]:
    """State files on the nodes that kubelets with the new plan would refuse.

    No part of `check`: it depends on what was compiled before.
    """
    from cpuplan.simulate import statefiles

    findings = Findings()
    for node in plan.nodes:
        of_class = statefiles.check(project.before, Plan((node,)), project.locate)
        findings.add(of_class, [node.node_class.full_name])
    return described(project, findings.all())


def emit(project: Project, plan: Plan, making: Making = PLAIN) -> "backends.Output":
    """All files of the output tree, by path relative to it, and their classes."""
    from cpuplan import backends

    delivery = next((document.spec for document in project.documents.of_kind("Delivery")), None)
    return backends.output(plan, delivery, making.parts)


class Compiled(NamedTuple):
    """The results of one run."""

    plan: Plan
    moves: list[Moves]
    files: dict[str, bytes]
    lock: str
    diagnostics: tuple[Diagnostic, ...]
    #: Of the files.
    classes: Classes = NO_CLASSES


def described(
    project: Project, diagnostics: Sequence[Diagnostic], *, whole: bool = False
) -> list[Diagnostic]:
    """Findings with the fields that they are about, and the project's waivers.

    Of a `whole` judgement also what is wrong with the waivers.
    """
    if not diagnostics and not (whole and project.documents.of_kind("Waivers")):
        return []
    from cpuplan.language.read import waivers

    documents = project.documents
    waived = waivers.waive(with_fields(diagnostics, FieldPlaces(documents)), documents)
    return [*waived, *waivers.check(waived, documents)] if whole else waived


def judge(
    project: Project,
    *,
    resolve: bool = False,
    allow_removal: bool = False,
    settle: bool = False,
    making: Making = PLAIN,
) -> tuple[Plan, list[Diagnostic]]:
    """The plan, and all that `validate` and `compile` have to say of it: both ask this."""
    return making.attempt(
        lambda how: _judge(
            project, how, resolve=resolve, allow_removal=allow_removal, settle=settle
        )
    )


@stage("checking")
def _judge(
    project: Project, making: Making, *, resolve: bool, allow_removal: bool, settle: bool
) -> tuple[Plan, list[Diagnostic]]:
    solved = _solve(project, making, resolve=resolve, settle=settle, checked=True)
    plan = solved.plan
    problems = _check(project, plan, solved.of_classes)
    diagnostics = [*project.diagnostics, *solved.diagnostics, *problems]
    if len(plan.nodes) < len(project.classes):
        diagnostics = _once(diagnostics, _check_unsolved(project, plan))
    diagnostics += plan.kept_problems
    if not (errors(diagnostics) or allow_removal):
        # Of what is broken nobody knows whether it is gone.
        diagnostics += removal.check(starts(project), project.classes)
    return plan, described(project, diagnostics, whole=True)


@stage("checking classes without a layout")
def _check_unsolved(project: Project, plan: Plan) -> list[Diagnostic]:
    """What the targets say of classes without a layout, as far as it does not depend on one."""
    from cpuplan import backends
    from cpuplan.components import checks
    from cpuplan.solve import solver

    solved = {node.node_class.key for node in plan.nodes}
    unsolved = [node_class for node_class in project.classes if node_class.key not in solved]
    problems: list[Diagnostic] = []
    for node_class in unsolved:
        smaller = solver.smallest_plan(node_class, project.locate)
        if smaller:
            node = backends.configure(smaller)
            problems += checks.check(node, project.locate)
            problems += backends.check(node, project.locate)
    named = with_fields(dict.fromkeys(problems), FieldPlaces(project.documents))
    return [
        problem._replace(field="")
        for problem in named
        if problem.field and not _LAYOUT.search(problem.field)
    ]


@stage("compiling")
def compile_project(
    project: Project,
    *,
    resolve: bool = False,
    allow_removal: bool = False,
    prune: bool = False,
    settle: bool = False,
    making: Making = PLAIN,
) -> Compiled:
    """Run all stages; with errors in `diagnostics` there are no files.

    `prune` keeps no layouts of what is gone.
    """
    return making.attempt(
        lambda how: _compile(
            project,
            how,
            resolve=resolve,
            allow_removal=allow_removal,
            prune=prune,
            settle=settle,
        )
    )


def _compile(
    project: Project,
    making: Making,
    *,
    resolve: bool,
    allow_removal: bool,
    prune: bool,
    settle: bool,
) -> Compiled:
    plan, diagnostics = _judge(
        project, making, resolve=resolve, allow_removal=allow_removal, settle=settle
    )
    if errors(diagnostics):
        return Compiled(plan, [], {}, "", tuple(diagnostics))
    known = starts(project)
    left = {} if prune else removal.left(known, project.classes)
    text = lock.render(plan.nodes, known.lock, left, solver=lock_diff.solver_version)
    made = emit(project, plan, making)
    return Compiled(plan, moves(project, plan), made.files, text, tuple(diagnostics), made.classes)
