"""Classes that share a layout: what is made of them, and the same as bytes to send and to keep."""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from cpuplan.backends.registry import COMPONENTS
from cpuplan.base.codec import Codec, CodecError, frame, unframe
from cpuplan.base.cpuset import union
from cpuplan.diagnostics import CpuplanError, Diagnostic, Label, errors, is_possible
from cpuplan.diagnostics.source import Locate, Position
from cpuplan.fleet.lock import Locked, Start, in_order
from cpuplan.fleet.previous import Key
from cpuplan.language.model.vocabulary import codes_off
from cpuplan.language.read import statements
from cpuplan.plan import ConfiguredPlan, Limited, NodeClass, NodePlan, Pool
from cpuplan.plan.setting import Setting, Settings

if TYPE_CHECKING:
    from cpuplan.backends.parts import Parts


class Unit(NamedTuple):
    """Classes with one layout, most often one class, and what their layout starts from."""

    members: tuple[NodeClass, ...]
    #: For each of them the locked layouts that it may start from, the first choice first.
    starts: tuple[tuple[Start, ...], ...]

    @property
    def names(self) -> list[str]:
        """The classes, by `cluster/name`."""
        return [member.full_name for member in self.members]

    @property
    def first(self) -> Locked | None:
        """The locked layout that is kept if it satisfies every rule, whatever the others are."""
        ordered = in_order(self.starts)
        return ordered[0].locked if ordered else None


class Made(NamedTuple):
    """What was made of a unit; without a layout there are no plans, and problems say why."""

    plans: tuple[ConfiguredPlan, ...]
    #: What is wrong with the statements, or why there is no layout.
    problems: tuple[Diagnostic, ...] = ()
    #: For each plan what `check_node` found; nothing where that was not asked for.
    findings: tuple[tuple[Diagnostic, ...], ...] = ()


def make(unit: Unit, kin: Sequence[NodeClass], locate: Locate, *, checked: bool) -> Made:
    """The layout of a unit and its settings; `checked` with what is wrong with them.

    `kin` are classes of the same intent, which remedies are tried on. It depends on nothing else.
    """
    from cpuplan import backends
    from cpuplan.solve import goals, layouts, solver
    from cpuplan.solve.budget import UndecidedError

    problems: list[Diagnostic] = []
    try:
        for member in unit.members:
            problems += solver.check_statements(member, locate)
        if errors(problems):
            return Made((), tuple(problems))
        solved = layouts.layouts(unit.members, unit.starts, locate, kin)
    except CpuplanError as error:
        return Made((), (*problems, *error.diagnostics))
    except UndecidedError:
        undecided = [goals.undecided(member, locate) for member in unit.members]
        return Made((), (*problems, *undecided))
    plans = tuple(map(backends.configure, solved))
    findings = [tuple(check_node(plan, locate)) for plan in plans] if checked else []
    return Made(plans, tuple(problems), tuple(findings))


def check_node(node: ConfiguredPlan, locate: Locate) -> list[Diagnostic]:
    """Settings that the target's release lacks, or that contradict the machine or each other.

    The simulated kubelet has its say too.
    """
    from cpuplan import backends
    from cpuplan.components import checks
    from cpuplan.simulate import startup
    from cpuplan.solve import goals

    off = codes_off(node.spec.rules)
    problems = [*goals.check_proof(node, locate)]
    problems += [*checks.check(node, locate), *backends.check(node, locate)]
    problems = [problem for problem in problems if problem.code not in off]
    if not errors(problems):
        started = startup.check(node, locate)
        problems += [problem for problem in started if problem.code not in off]
    return problems


#: Kind and name of a document.
Name: TypeAlias = tuple[str, str]

#: The line of a position whose path is a place, `Kind/name:field.path`.
_LINE = -1


def locate_in(documents: Container[Name]) -> Locate:
    """Names the places in `documents` without their lines; None for all others."""

    def locate(origin: str) -> Position | None:
        document, _ = statements.split(origin)
        return Position(origin, _LINE, 0) if document in documents else None

    return locate


def placed(diagnostics: Iterable[Diagnostic], locate: Locate) -> list[Diagnostic]:
    """The diagnostics with the lines of their places."""

    def find(position: Position) -> Position | None:
        return locate(position.path) if position.line == _LINE else position

    return [_placed(diagnostic, find) for diagnostic in diagnostics]


def _placed(diagnostic: Diagnostic, find: Callable[[Position], Position | None]) -> Diagnostic:
    position = diagnostic.position and find(diagnostic.position)
    labels = tuple(_labels(diagnostic.labels, find))
    return diagnostic._replace(position=position, labels=labels)


def _labels(
    labels: Iterable[Label], find: Callable[[Position], Position | None]
) -> Iterator[Label]:
    for label in labels:
        position = find(label.position)
        if position:
            yield label._replace(position=position)


def has_lines(diagnostic: Diagnostic) -> bool:
    """Whether it has a place with a line, which may move while no document changes."""
    positions = [diagnostic.position, *(label.position for label in diagnostic.labels)]
    return any(position is not None and position.line != _LINE for position in positions)


#: Bytes that are not what `pack` made.
UnpackError = CodecError


class _Plan(NamedTuple):
    """A plan without its class."""

    cluster: str
    name: str
    pools: tuple[Pool, ...]
    sets: tuple[Pool, ...]
    limited: Limited | None
    settings: tuple[Setting, ...]
    #: Those of its own objects, where they differ.
    written: tuple[Setting, ...]


class _Made(NamedTuple):
    plans: tuple[_Plan, ...]
    problems: tuple[Diagnostic, ...]
    findings: tuple[tuple[Diagnostic, ...], ...]


def pack(value: "Made | Parts") -> bytes:
    """The bytes of what was made, without its classes of nodes.

    Raises UnpackError where it has bytes that are no text.
    """
    if not isinstance(value, Made):
        return _parts().encode(value)
    plans = tuple(map(_plain, value.plans))
    return _made().encode(_Made(plans, value.problems, value.findings))


def unpack(data: bytes, classes: Mapping[Key, NodeClass]) -> Made:
    """What `pack` was given, for classes that are known here. Raises UnpackError."""
    made = _made().decode(data)
    plans = tuple(_configured(plan, classes) for plan in made.plans)
    return Made(plans, made.problems, made.findings)


def unpack_parts(data: bytes) -> "Parts":
    """The same of files, which name no classes."""
    return _parts().decode(data)


@cache
def _made() -> Codec[_Made]:
    return Codec(_Made, {Diagnostic: _is_finding, Limited: _is_limited})


@cache
def _parts() -> "Codec[Parts]":
    from cpuplan.backends.parts import Parts

    return Codec(Parts)


def _is_finding(diagnostic: Diagnostic) -> bool:
    """Whether a class by itself can have this finding: waivers and days come later."""
    is_open = not (diagnostic.waiver or diagnostic.after)
    return is_open and is_possible(diagnostic)


def _is_limited(limited: Limited) -> bool:
    return limited.seconds > 0 and bool(limited.goals)


def _plain(plan: ConfiguredPlan) -> _Plan:
    cluster, name = plan.node_class.key
    settings = tuple(plan.settings)
    written = () if plan.written is plan.settings else tuple(plan.written)
    return _Plan(cluster, name, plan.pools, plan.sets, plan.limited, settings, written)


def _configured(plan: _Plan, classes: Mapping[Key, NodeClass]) -> ConfiguredPlan:
    node_class = classes.get((plan.cluster, plan.name))
    if node_class is None:
        raise UnpackError(f"no class {plan.cluster}/{plan.name}")
    _check_cpus(plan, node_class)
    known = COMPONENTS[node_class.platform.name].keys()
    others = {setting.component for setting in (*plan.settings, *plan.written)} - known
    if others:
        raise UnpackError(f"settings of {', '.join(sorted(others))}")
    of_class = NodePlan(node_class, plan.pools, plan.sets, plan.limited)
    written = Settings(plan.written) if plan.written else None
    return ConfiguredPlan(of_class, Settings(plan.settings), written)


def _check_cpus(plan: _Plan, node_class: NodeClass) -> None:
    """Raise UnpackError for CPUs that the machine does not have, or that two pools have."""
    pools = [pool.cpus for pool in plan.pools]
    used = union([*pools, *(cpu_set.cpus for cpu_set in plan.sets)])
    machine = union([node_class.topology.online, node_class.topology.offline])
    if used.bits & ~machine.bits:
        raise UnpackError("CPUs that the machine does not have")
    if sum(map(len, pools)) != len(union(pools)):
        raise UnpackError("a CPU in two pools")


class Result(NamedTuple):
    """What was made of a unit."""

    made: Made


class Batch:
    """Units, and what is known beside them: classes by intent, and which documents there are.

    `checked` asks for what `check_node` finds, too; `seconds` of work is the limit for each layout,
    or None for the default.
    """

    def __init__(
        self,
        units: Sequence[Unit],
        kin: Mapping[str, Sequence[NodeClass]],
        documents: frozenset[Name],
        *,
        checked: bool,
        seconds: float | None = None,
    ) -> None:
        self.units = units
        self.kin = kin
        self.documents = documents
        self.checked = checked
        self.seconds = seconds

    def __len__(self) -> int:
        return len(self.units)

    def prepare(self) -> None:
        """Load what makes results, and the solver, if a layout has to be made."""
        import_module("cpuplan.backends")
        import_module("cpuplan.solve.layouts")
        if self.checked:
            import_module("cpuplan.components.checks")
            import_module("cpuplan.simulate.startup")
        if any(unit.first is None for unit in self.units):
            from cpuplan.solve.model import engine

            engine.cp_model()

    def part(self, chosen: slice) -> "Batch":
        """Some of the units, with the classes of their intents."""
        return self.of(self.units[chosen])

    def of(self, units: Sequence[Unit]) -> "Batch":
        """These units of it."""
        intents = {unit.members[0].intent for unit in units}
        kin = {intent: self.kin[intent] for intent in intents if intent in self.kin}
        return Batch(units, kin, self.documents, checked=self.checked, seconds=self.seconds)

    def results(self) -> list[Result]:
        """What is made of each unit, with places that have no lines yet."""
        return [Result(self._made(unit)) for unit in self.units]

    def packed(self) -> bytes:
        """The same as bytes."""
        return frame(pack(self._made(unit)) for unit in self.units)

    def unpacked(self, data: bytes) -> list[Result]:
        """What `packed` made, for the classes of this batch. Raises UnpackError."""
        pieces = list(unframe(data))
        if len(pieces) != len(self.units):
            raise UnpackError(f"{len(pieces)} results of {len(self.units)}")
        pairs = zip(pieces, self.units, strict=True)
        return [Result(self.read(piece, unit)) for piece, unit in pairs]

    def read(self, data: bytes, unit: Unit) -> Made:
        """What was made of a unit of the batch. Raises UnpackError for bytes of anything else."""
        made = unpack(data, {member.key: member for member in unit.members})
        classes = [plan.node_class for plan in made.plans]
        if classes and classes != list(unit.members):
            raise UnpackError(f"{len(classes)} layouts of {len(unit.members)} classes")
        if len(made.findings) != (len(classes) if self.checked else 0):
            raise UnpackError(f"findings on {len(made.findings)} of {len(classes)} classes")
        if not classes and not errors(made.problems):
            raise UnpackError("neither a layout nor a reason why there is none")
        return made

    def documents_of(self, unit: Unit) -> frozenset[Name]:
        """The documents that findings on a unit may point at."""
        own: set[Name] = set()
        for member in unit.members:
            own.add(("Intent", member.intent))
            own.add(("Hardware", member.hardware))
            own.add(("Cluster", member.cluster))
        return self.documents & own

    def beside(self, unit: Unit) -> tuple[object, ...]:
        """What the result of a unit depends on beside itself, if it has a layout."""
        return (sorted(self.documents_of(unit)), self.checked, self.seconds)

    def _made(self, unit: Unit) -> Made:
        from cpuplan.solve import budget

        kin = self.kin.get(unit.members[0].intent, ())
        locate = locate_in(self.documents_of(unit))
        with budget.limited(self.seconds), budget.shared_answers():
            return make(unit, kin, locate, checked=self.checked)


#: Keeps a result; a value that can be sent.
Keep = Callable[[Unit, Made], None]


class Keeping(Batch):
    """The same units, for processes of this machine: they have the cache folder, too."""

    def __init__(self, batch: Batch, keep: Keep) -> None:
        super().__init__(
            batch.units,
            batch.kin,
            batch.documents,
            checked=batch.checked,
            seconds=batch.seconds,
        )
        self._keep = keep

    def of(self, units: Sequence[Unit]) -> "Keeping":
        return Keeping(super().of(units), self._keep)

    def _made(self, unit: Unit) -> Made:
        made = super()._made(unit)
        self._keep(unit, made)
        return made
