"""Compiled units: in force as they were written, started, and without a failure."""

from collections.abc import Iterator
from typing import NamedTuple

from cpuplan.check.services import systemd_units
from cpuplan.check.services.systemd_units import (
    TYPES,
    Line,
    UnitFiles,
    unit_lines,
)
from cpuplan.check.subject import Subject
from cpuplan.components.host import tuned
from cpuplan.components.units import UNIT_FOLDER
from cpuplan.diagnostics.source import Position
from cpuplan.facts.settings.host import SERVICE_AFFINITY
from cpuplan.facts.settings.tuned import STALLD
from cpuplan.plan.expected.evidence import Answer
from cpuplan.plan.expected.state import Expected

_WIRES = ("Wants", "Requires", "BindsTo", "Upholds")
_INSTALLS = ("WantedBy", "RequiredBy", "UpheldBy")
#: A rule of udev starts a unit with it.
_UDEV = 'SYSTEMD_WANTS}+="'


class CompiledUnit(NamedTuple):
    """A unit with a file that was compiled: its lines."""

    name: str
    lines: tuple[Line, ...]

    @property
    def path(self) -> str:
        """Its file, below the root."""
        return f"{UNIT_FOLDER}/{self.name}".lstrip("/")

    @property
    def is_template(self) -> bool:
        """Whether it only exists as instances."""
        return "@." in self.name

    @property
    def is_installed(self) -> bool:
        """Whether a link must start it, made when it is enabled."""
        return any(line.section == "Install" and line.key in _INSTALLS for line in self.lines)


def compiled_units(expected: Expected) -> list[CompiledUnit]:
    """The compiled units by name."""
    start = f"{UNIT_FOLDER}/"
    compiled = []
    for path, file in sorted(expected.files.items()):
        name = path.removeprefix(start)
        if path.startswith(start) and "/" not in name and name.endswith(TYPES):
            compiled.append(CompiledUnit(name, tuple(unit_lines(file.text, path.lstrip("/")))))
    return compiled


def started_by_files(expected: Expected) -> set[str]:
    """The units that other compiled files start: drop-ins, units and rules of udev."""
    started: set[str] = set()
    for path, file in expected.files.items():
        if path.startswith(f"{UNIT_FOLDER}/"):
            wires = (line for line in unit_lines(file.text, path) if line.key in _WIRES)
            started.update(name for line in wires for name in line.value.split())
        elif path.endswith(".rules"):
            parts = file.text.split(_UDEV)[1:]
            started.update(part.partition('"')[0] for part in parts)
    return started


_CMDLINE = "proc/cmdline"
_NOT_SHOWN = "there is no output of systemctl show here"
_STALLD, _IRQBALANCE, _TUNED = "stalld.service", "irqbalance.service", "tuned.service"
#: What changes what a unit does, or whether it does: sections, and the beginnings of keys.
_CHANGING = (
    ("Service", ("Exec", "Environment", "UnsetEnvironment", "Type", "RemainAfterExit", "User")),
    (
        "Service",
        ("Root", "Protect", "ReadOnlyPaths", "InaccessiblePaths", "Private", "SuccessExit"),
    ),
    ("Unit", ("Condition", "Assert")),
    ("Timer", ("On", "Unit")),
)
#: Keys whose lines add up.
_LISTS = ("Exec", "Environment", "UnsetEnvironment", SERVICE_AFFINITY.key, "AllowedCPUs")
_CACHE = "unit files"


def unit_files(subject: Subject) -> UnitFiles:
    """The unit files of the node, found once."""
    return subject.once(_CACHE, lambda: systemd_units.unit_files_of(subject.root))


def in_force(subject: Subject) -> Iterator[Answer]:
    """CP867 of units that are masked, hidden, changed by drop-ins, or started by nothing."""
    files = unit_files(subject)
    masked = systemd_units.masked_at_boot(subject.root.read(_CMDLINE) or "")
    wired = started_by_files(subject.expected)
    idle = []
    for unit in compiled_units(subject.expected):
        if not subject.root.is_file(unit.path) and files.mask(unit.name) is None:
            continue  # a matter of CP870
        if subject.root.read(unit.path) is None and files.mask(unit.name) is None:
            yield subject.unverifiable(_fact(unit.name), unit.path, "its file cannot be read")
        elif problem := _problem(subject, unit, files, masked):
            yield _differs(subject, unit.name, *problem)
        elif _needs_link(unit, wired) and not any(files.starters(unit.name)):
            idle.append(unit)
        else:
            yield subject.held(_fact(unit.name), unit.path)
    yield from _not_enabled(subject, files, idle)
    yield from _wanted_by_tuned(subject, files, masked)


def _problem(
    subject: Subject, unit: CompiledUnit, files: UnitFiles, masked: frozenset[str]
) -> tuple[Position, str] | None:
    """What keeps a unit from doing what was compiled, and where that is."""
    if reason := _masked(subject, unit.name, files, masked):
        return reason
    fragment = files.fragment(unit.name)
    if fragment and fragment != unit.path:
        text = f"{subject.root.shown(fragment)} hides the compiled file"
        return subject.place(fragment), text
    if change := _change(subject, unit, files):
        place = Position(subject.root.shown(change.path), change.number, 1)
        return place, f"a drop-in changes it: {change.key}={change.value}"
    return None


def _needs_link(unit: CompiledUnit, wired: set[str]) -> bool:
    """Whether only a link can start a unit, since no compiled file names it."""
    return unit.is_installed and not unit.is_template and unit.name not in wired


def _not_enabled(subject: Subject, files: UnitFiles, units: list[CompiledUnit]) -> Iterator[Answer]:
    """One finding for all: they are enabled together."""
    if not units:
        return
    if not files.has_links():
        for unit in units:
            reason = "there are no links of enabled units here"
            yield subject.unverifiable(_fact(unit.name), unit.path, reason)
        return
    names = ", ".join(unit.name for unit in units)
    place = subject.place(units[0].path)
    yield _differs(subject, names, place, "not enabled, and nothing else starts it")


def _masked(
    subject: Subject, name: str, files: UnitFiles, masked: frozenset[str]
) -> tuple[Position, str] | None:
    if name in masked:
        return subject.place(_CMDLINE), "the boot argument systemd.mask= masks it"
    if mask := files.mask(name):
        path = f"{subject.root.folder}/{mask}"
        return Position(path, 1, 1), "it is masked"
    return None


def _change(subject: Subject, unit: CompiledUnit, files: UnitFiles) -> Line | None:
    """The last line of drop-ins of others that changes what a unit does."""
    own = {path.lstrip("/") for path in subject.expected.files}
    override = None
    for line in files.lines(unit.name):
        is_foreign = line.path not in own and line.path != unit.path
        if is_foreign and any(
            line.section == section and line.key.startswith(keys) for section, keys in _CHANGING
        ):
            override = line
    return override


def overridden(subject: Subject) -> Iterator[Answer]:
    """CP867 of units of others whose compiled drop-in a later one takes back."""
    units = {unit.name for unit in compiled_units(subject.expected)}
    for path, file in sorted(subject.expected.files.items()):
        unit = path.rpartition("/")[0].rpartition("/")[2].removesuffix(".d")
        if not path.endswith(".conf") or not unit.endswith(".service") or unit in units:
            continue
        lines_of_unit = unit_files(subject).lines(unit)
        for line in systemd_units.unit_lines(file.text, path.lstrip("/")):
            other = _taken_back(lines_of_unit, line)
            if other:
                place = Position(subject.root.shown(other.path), other.number, 1)
                text = f"a drop-in takes {line.key}={line.value} back"
                yield _differs(subject, unit, place, text)


def _taken_back(lines: list[Line], own: Line) -> Line | None:
    """The line of another file by which one of ours counts for nothing."""
    same = [line for line in lines if (line.section, line.key) == (own.section, own.key)]
    if own.section != "Service" or not any(line.path == own.path for line in same):
        return None
    if own.key.startswith(_LISTS):
        kept = systemd_units.added_lines(same, own.key)
        is_reset = all(line.path != own.path for line in kept)
        return same[-1] if is_reset else None
    return same[-1] if same[-1].value != own.value else None


def _wanted_by_tuned(
    subject: Subject, files: UnitFiles, masked: frozenset[str]
) -> Iterator[Answer]:
    """TuneD where there is no operator to run it, and the programs that its profile starts."""
    options = subject.expected.settings.values(tuned.NAME)
    wanted = [_TUNED] if options and not subject.expected.platform.has_pools else []
    wanted += [_STALLD] if str(options.get(STALLD.key, "")).startswith("start") else []
    for name in wanted:
        problem = _masked(subject, name, files, masked)
        if problem:
            yield _differs(subject, name, *problem)


def _fact(name: str) -> str:
    return f"unit {name}"


def _differs(subject: Subject, name: str, place: Position, problem: str) -> Answer:
    return subject.differs(
        _fact(name),
        "CP867",
        place,
        observed=problem,
        expected="in force",
        unit=name,
        problem=problem,
    )


def results(subject: Subject) -> Iterator[Answer]:
    """CP867 of compiled units that failed, did not run, or are older than their files."""
    units = [
        unit.name
        for unit in compiled_units(subject.expected)
        if not unit.is_template and subject.root.is_file(unit.path)
    ]
    path, known = _shown(subject, units)
    problems: dict[str, list[str]] = {}
    for name in units:
        fact = f"result of {name}"
        if name not in known:
            # systemd tells it to who asks, and no file of a running host has it.
            tell = subject.unshown if subject.root.is_running else subject.unverifiable
            yield tell(fact, path, _NOT_SHOWN)
        elif problem := _result(name, known[name]):
            problems.setdefault(problem, []).append(name)
        else:
            yield subject.held(fact, path)
    balancer = known.get(_IRQBALANCE, {})
    if balancer.get("ActiveState") == "failed":
        problems.setdefault(systemd_units.unit_problem(balancer), []).append(_IRQBALANCE)
    for problem, names in problems.items():
        # What several have in common has one cause, such as files that systemd has not read.
        yield _failed(subject, ", ".join(names), path, problem)


def _result(name: str, unit: systemd_units.Unit) -> str:
    if unit.get("NeedDaemonReload") == "yes":
        return "systemd has read another file than there is now"
    if name.endswith((".service", ".timer")):
        return systemd_units.unit_problem(unit)
    return ""


def _failed(subject: Subject, name: str, path: str, problem: str) -> Answer:
    return subject.differs(
        f"result of {name}",
        "CP867",
        path,
        observed=problem,
        expected="active",
        unit=name,
        problem=problem,
    )


def _shown(subject: Subject, units: list[str]) -> tuple[str, dict[str, systemd_units.Unit]]:
    """What systemd says of units: captured, or asked for where the root is this machine's own."""
    path, known = systemd_units.captured_units(subject.root)
    if not path and str(subject.root.folder) == "/" and units:
        return "run/systemd", systemd_units.ask_systemd([*units, _IRQBALANCE])
    return path, known
