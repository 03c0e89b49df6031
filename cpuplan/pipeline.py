"""The compiler: load, solve, emit, in this order. Each stage returns what it made; problems are diagnostics."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cpuplan.diagnostics import CpuplanError, Diagnostic, Label, diagnose, errors
from cpuplan.inventory import HardwareSpec
from cpuplan.load import files, fleet, lock, project
from cpuplan.load.documents import Documents
from cpuplan.plan import NodeClass, NodePlan, Plan
from cpuplan.source import Position

if TYPE_CHECKING:
    from cpuplan.solve.breaches import Breach
    from cpuplan.solve.layout import Layout
    from cpuplan.solve.moves import Move

LOCK_PATH = f"intents/{files.LOCK_NAME}"


class Project(NamedTuple):
    """Everything that was read from a project's folder, and what is wrong with it."""

    root: Path
    documents: Documents
    classes: tuple[NodeClass, ...]
    lock: lock.Lock
    diagnostics: tuple[Diagnostic, ...]

    def hardware_of(self, node_class: NodeClass) -> HardwareSpec:
        """The Hardware document of a class."""
        spec: HardwareSpec = self.documents.by_name["Hardware", node_class.hardware].spec
        return spec

    @property
    def locate(self) -> Callable[[str], Position | None]:
        """Finds the line of a reason's origin."""
        return self.documents.locate


def load(root: Path, also: Sequence[Path] = ()) -> Project:
    """Read inventories/, intents/ and the lock, and the files `also`; never raises for what is written in them."""
    # A file may be named that is the project's anyway, or twice.
    paths, refused = files.input_files(root)
    if also:
        named: dict[Path, Path] = {}
        for path in (*paths, *also):
            named.setdefault(path.resolve(), path)
        paths = [*named.values()]
    found, diagnostics = project.read(root, paths)
    if refused:
        found = found._replace(broken=found.broken | {("", "")})
    built, problems = fleet.build(found)
    locked, lock_problems = lock.read(root / LOCK_PATH, LOCK_PATH, within=root)
    for second in found.of_kind("Delivery")[1:]:
        problems.append(diagnose("CP232", second.source.value_at(("metadata", "name")), name=second.name))
    return Project(root, found, built.classes, locked, (*refused, *diagnostics, *problems, *lock_problems))


def solve(project: Project, *, resolve: bool = False) -> tuple[Plan, list[Diagnostic]]:
    """A layout for every class: the locked one where it still holds, else a new one.

    `resolve` solves all classes afresh. Classes without a layout are left out and said so in the diagnostics.
    """
    from cpuplan.solve import statements

    plans: list[NodePlan] = []
    diagnostics: list[Diagnostic] = []
    for members in _together(project.classes):
        problems = [problem for each in members for problem in statements.check(each, project.locate)]
        diagnostics += [problem for problem in dict.fromkeys(problems) if problem not in diagnostics]
        if errors(problems):
            continue
        try:
            if len(members) > 1:
                plans += _common_layout(members, project, resolve=resolve)
            else:
                plans.append(_layout(members[0], project, resolve=resolve))
        except CpuplanError as error:
            diagnostics += [problem for problem in error.diagnostics if problem not in diagnostics]
    plans.sort(key=lambda plan: (plan.node_class.cluster, plan.node_class.name))
    return Plan(tuple(plans)), diagnostics


def _together(classes: Sequence[NodeClass]) -> list[list[NodeClass]]:
    """Classes that get one layout: those of one intent, and so one pool, that is common to unlike hardware."""
    found: dict[tuple[str, ...], list[NodeClass]] = {}
    for each in classes:
        target = each.target
        common = target.platform == "openshift" and target.mixed_hardware == "common"
        key = (each.cluster, each.intent) if common else (each.cluster, each.intent, each.name)
        found.setdefault(key, []).append(each)
    return list(found.values())


def _common_layout(classes: Sequence[NodeClass], project: Project, *, resolve: bool) -> list[NodePlan]:
    """The locked layout where it satisfies every rule of every class; else the best one near to it.

    A class that is new in the pool starts from the layout of the others.
    """
    from cpuplan.solve import common, solver
    from cpuplan.solve.breaches import breaches

    found = [lock.find(project.lock, each) for each in classes] if not resolve else []
    start = next((locked for locked, is_own in found if locked and is_own), None)
    layout: Layout | None = start.pools if start else None
    if layout is None or any(next(breaches(each, layout), None) for each in classes):
        for each, (locked, is_own) in zip(classes, found, strict=False):
            breach = next(breaches(each, locked.pools), None) if locked and is_own else None
            if locked and breach and (locked.overlaps or locked.solved_from == lock.digest(each)):
                raise CpuplanError([_edited(each, locked, breach, project)])
        layout = common.solve(classes, project.locate, layout)
    return [solver.explain(each, layout) for each in classes]


def _layout(node_class: NodeClass, project: Project, *, resolve: bool) -> NodePlan:
    """The locked layout where it satisfies every rule, whatever it was solved from; else the best one near to it."""
    from cpuplan.solve import solver
    from cpuplan.solve.breaches import breaches

    locked, is_own = (None, False) if resolve else lock.find(project.lock, node_class)
    if locked is None:
        return solver.solve(node_class, project.locate)
    breach = next(breaches(node_class, locked.pools), None)
    if breach is None:
        return solver.explain(node_class, locked.pools)
    # Where nothing that it was solved from has changed, somebody changed the layout.
    if locked.overlaps or (is_own and locked.solved_from == lock.digest(node_class)):
        raise CpuplanError([_edited(node_class, locked, breach, project)])
    return solver.solve(node_class, project.locate, locked.pools)


def _edited(node_class: NodeClass, locked: lock.Locked, breach: "Breach", project: Project) -> Diagnostic:
    """CP240 at the list of the pool that breaks the rule, with the line of that rule."""
    place = next((locked.places[name] for name in breach.names if name in locked.places), locked.position)
    origin = breach.rule and project.locate(breach.rule.reason.origin)
    labels = [Label(origin, breach.rule.reason.text)] if breach.rule and origin else []
    name, cluster = node_class.name, node_class.cluster
    return diagnose("CP240", place, labels=labels, name=name, cluster=cluster, problem=breach.text)


class Moves(NamedTuple):
    """The CPUs of one class that change their sets."""

    node_class: NodeClass
    moves: "tuple[Move, ...]"


def moves(project: Project, plan: Plan) -> list[Moves]:
    """What a plan changes, compared with the lock; nothing of classes that the lock says nothing of."""
    from cpuplan.solve import moves

    found = []
    for node in plan.nodes:
        locked, _ = lock.find(project.lock, node.node_class)
        after = {pool.name: pool.cpus for pool in (*node.pools, *node.sets)}
        if locked and (moved := moves.moves(node.node_class, locked.pools, after)):
            found.append(Moves(node.node_class, tuple(moved)))
    return found


def _alone(project: Project) -> list[NodePlan]:
    """Profiles of which no inventory tells the machines, on machines that have just the CPUs that they list."""
    profiles = [document for document in project.documents.of_kind("Intent") if document.written_as]
    if not profiles or project.documents.of_kind("Nodes") or project.documents.may_define("Nodes"):
        return []
    from cpuplan.load import assumed

    return [assumed.plan(document.name, document.spec) for document in profiles]


def check(project: Project, plan: Plan) -> list[Diagnostic]:
    """What the targets' components have to say about a plan: settings that a version lacks or that contradict."""
    from cpuplan import backends

    found: list[Diagnostic] = []
    for node in [*plan.nodes, *_alone(project)]:
        found += [problem for problem in check_node(node, project.locate) if problem not in found]
    return [*found, *(one for one in backends.check_pools(plan, project.locate) if one not in project.diagnostics)]


def check_node(node: NodePlan, locate: Callable[[str], Position | None]) -> list[Diagnostic]:
    """The same of one class, the simulated kubelet included."""
    from cpuplan import backends, components
    from cpuplan.components import kubelet_plain
    from cpuplan.rulebook import EXPERT_RULES

    off = {code for switch in node.spec.rules if switch.disable for code in EXPERT_RULES[switch.disable].codes}
    problems = [*components.check(node, locate), *backends.check(node, locate)]
    problems = [problem for problem in problems if problem.code not in off]
    if not errors(problems) and not kubelet_plain.is_plain(node):
        from cpuplan.simulate import traps

        problems += traps.check(node, locate)
    return problems


def check_state_files(project: Project, plan: Plan) -> list[Diagnostic]:
    """State files on the nodes that kubelets with the plan in `out/` wrote, and that those with the new one refuse.

    No part of `check`: it depends on what was compiled before.
    """
    from cpuplan.simulate import statefiles

    return described(project, statefiles.check(project.root / "out", plan, project.locate))


def emit(project: Project, plan: Plan) -> dict[str, bytes]:
    """All files of the output tree, by path relative to it."""
    from cpuplan import backends

    delivery = next((document.spec for document in project.documents.of_kind("Delivery")), None)
    return backends.tree(plan, delivery)


class Compiled(NamedTuple):
    """What one run made: the plan, what it moves, the files of the tree, the text of the lock, all diagnostics."""

    plan: Plan
    moves: list[Moves]
    files: dict[str, bytes]
    lock: str
    diagnostics: tuple[Diagnostic, ...]


def described(project: Project, diagnostics: Sequence[Diagnostic], *, whole: bool = False) -> list[Diagnostic]:
    """Findings with the fields that they are about, and the project's waivers; of a `whole` judgement also what is
    wrong with these.
    """
    if not diagnostics and not (whole and project.documents.of_kind("Waivers")):
        return []
    from cpuplan.load import places, waivers

    found = waivers.waive(places.named(diagnostics, places.Places(project.documents)), project.documents)
    return [*found, *waivers.check(found, project.documents)] if whole else found


def compile_project(project: Project, *, resolve: bool = False) -> Compiled:
    """Run all stages; with errors in `diagnostics` there are no files."""
    plan, diagnostics = solve(project, resolve=resolve)
    diagnostics = described(project, [*project.diagnostics, *diagnostics, *check(project, plan)], whole=True)
    if errors(diagnostics):
        return Compiled(plan, [], {}, "", tuple(diagnostics))
    return Compiled(plan, moves(project, plan), emit(project, plan), lock.render(plan.nodes), tuple(diagnostics))
