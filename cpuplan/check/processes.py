"""The programs of a node as they run: their processes, their command lines, and their age.

A command line is that of the process or else of the unit, as systemd runs it with its variables
(systemd.service(5)). A program that is older than its files runs with what they said before.
"""

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from cpuplan.base import nodetext
from cpuplan.check.roots.root import Root
from cpuplan.check.services import systemd_units
from cpuplan.check.services.systemd_units import Line, added_lines
from cpuplan.check.services.units import unit_files
from cpuplan.check.subject import Subject, line_with
from cpuplan.check.threads import tasks
from cpuplan.diagnostics.source import Position
from cpuplan.plan.expected.evidence import Answer

#: The unit of times in /proc/<pid>/stat: USER_HZ, the same on all machines of today.
_HERTZ = 100
_START = 19  # field 22, counted behind the name
#: Processes of these are in containers: another node's kubelet in a container has the same name.
_CONTAINERS = ("kubepods", "docker", "libpod", "machine.slice")


class ProcessFiles(Protocol):
    """Access to the node's files."""

    def read(self, path: str) -> str | None: ...


class Process(NamedTuple):
    """A process: its number, its words, and its start in seconds since 1970, if known."""

    pid: str
    words: tuple[str, ...]
    started: float | None = None


def process_of_unit(files: ProcessFiles, numbers: Iterable[str], unit: str) -> Process | None:
    """The process of a unit, or else one outside of containers."""
    others = []
    for number in numbers:
        groups = files.read(f"proc/{number}/cgroup") or ""
        if f"/{unit}" in groups:
            return _process(files, number)
        if not any(name in groups for name in _CONTAINERS):
            others.append(number)
    processes = (_process(files, number) for number in others)
    return next((process for process in processes if process), None)


def _process(files: ProcessFiles, number: str) -> Process | None:
    """None for one that has no words: it is ending."""
    text = files.read(f"proc/{number}/cmdline")
    if not text:
        return None
    return Process(number, tuple(text.rstrip("\0").split("\0")), start_time(files, number))


def start_time(files: ProcessFiles, number: str) -> float | None:
    """When a process started, in seconds since 1970; None where that is not known."""
    booted = boot_time(files.read("proc/stat") or "")
    fields = (files.read(f"proc/{number}/stat") or "").rpartition(")")[2].split()
    ticks = nodetext.natural(fields[_START]) if len(fields) > _START else None
    return None if booted is None or ticks is None else booted + ticks / _HERTZ


def boot_time(text: str) -> float | None:
    """When the node booted, as /proc/stat says it in seconds since 1970."""
    for line in nodetext.lines(text):
        name, _, value = line.partition(" ")
        number = nodetext.natural(value) if name == "btime" else None
        if number is not None:
            return float(number)
    return None


#: Before the program: no failure, other rights, no environment, another argv[0].
_PREFIXES = "@-:+!|"
_WORD = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)\Z")
_SPECIFIER = re.compile(r"%[nN%]")
_INSIDE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}|\$\$|%%")


class Execution(NamedTuple):
    """What a unit runs: the words, the line that says so, the environment and its files."""

    words: tuple[str, ...]
    line: Line
    environment: Mapping[str, str]
    files: tuple[str, ...] = ()


def execution(
    lines: Iterable[Line], read: Callable[[str], str | None], unit: str = ""
) -> Execution | None:
    """What the lines of a unit run last; None where they run nothing.

    `read` gives the text of an environment file; where there is none, its variables are empty.
    """
    service = [_specified(line, unit) for line in lines if line.section == "Service"]
    started = added_lines(service, "ExecStart")
    if not started:
        return None
    values = _environment(service, read)
    program = started[-1].value
    words = _split(program.lstrip(_PREFIXES))
    if program[: len(program) - len(program.lstrip(_PREFIXES))].count("@"):
        words = [words[0], *words[2:]]
    arguments = tuple(word for word_text in words for word in _expand(word_text, values))
    files = tuple(line.value.removeprefix("-").lstrip("/") for line in _files(service))
    return Execution(arguments, started[-1], values, files)


def _environment(service: Iterable[Line], read: Callable[[str], str | None]) -> dict[str, str]:
    """Environment=, then the files of EnvironmentFile=, which win."""
    lines = list(service)
    values: dict[str, str] = {}
    for line in added_lines(lines, "Environment"):
        for word in _split(line.value):
            name, equals, value = word.partition("=")
            values |= {name: value} if equals else {}
    for line in _files(lines):
        values |= variables(read(line.value.removeprefix("-")) or "")
    return values


def _specified(line: Line, unit: str) -> Line:
    """The path of an environment file with the name of the unit for %n, and without type for %N."""
    if line.key != "EnvironmentFile":
        return line
    names = {"%n": unit, "%N": unit.rpartition(".")[0], "%%": "%"}
    return line._replace(value=_SPECIFIER.sub(lambda match: names[match[0]], line.value))


def _files(service: Iterable[Line]) -> list[Line]:
    return added_lines(service, "EnvironmentFile")


def variables(text: str) -> dict[str, str]:
    """The variables of an environment file: `NAME=value`, with or without quotes."""
    values: dict[str, str] = {}
    for line in nodetext.lines(text.replace("\\\n", "")):
        name, equals, value = line.strip().partition("=")
        if equals and not name.startswith(("#", ";")):
            values[name.strip()] = " ".join(_split(value)) if _is_quoted(value) else value.strip()
    return values


def _is_quoted(value: str) -> bool:
    return value.strip()[:1] in ("'", '"')


def _split(text: str) -> list[str]:
    """Words with quotes taken off; of quotes that do not end, as they are."""
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def _expand(word: str, values: Mapping[str, str]) -> list[str]:
    """`$NAME` alone gives words, none where it is unset; `${NAME}` inside gives text."""
    alone = _WORD.match(word)
    if alone:
        return _split(values.get(alone[1], ""))
    return [_INSIDE.sub(lambda match: _value(match, values), word)]


def _value(match: re.Match[str], values: Mapping[str, str]) -> str:
    return values.get(match[1], "") if match[1] else match[0][0]


#: Words in which a program is looked for: its wrapper may come first.
_WRAPPED = 2


class Program(NamedTuple):
    """A program: the name of its process, the unit that runs it, and what people call it."""

    name: str
    unit: str
    called: str


class Command(NamedTuple):
    """The words behind a program's name, the file and line that say so, and its process."""

    words: tuple[str, ...]
    path: str
    line: int = 1
    process: Process | None = None
    #: What a unit gives; that of a running process is not read.
    environment: Mapping[str, str] = {}
    #: The files of its unit, and those of the environment: where a flag may stand.
    files: tuple[str, ...] = ()


def command(subject: Subject, program: Program) -> Command | None:
    """How the program runs or would run; None where neither process nor unit is here.

    A unit that runs something else, such as a script, does not say how.
    """
    process = find_process(subject, program)
    if process is not None:
        return Command(process.words[1:], f"proc/{process.pid}/cmdline", 1, process)
    return command_of_unit(subject, program.unit, program.name)


def command_of_unit(subject: Subject, unit: str, name: str) -> Command | None:
    """How a unit would run a program; None where its files do not say it."""
    lines = unit_files(subject).lines(unit)
    start = execution(lines, lambda path: subject.root.read(path.lstrip("/")), unit)
    at = _place_in(start.words, name) if start else None
    if start is None or at is None:
        return None
    files = (*dict.fromkeys(line.path for line in lines), *start.files)
    line = start.line
    words = start.words[at + 1 :]
    return Command(words, line.path, line.number, None, start.environment, files)


def _place_in(words: Sequence[str], name: str) -> int | None:
    """Where the program is named: first, or behind a wrapper such as OpenShift's kubenswrapper."""
    names = [word.rpartition("/")[2] for word in words[:_WRAPPED]]
    return names.index(name) if name in names else None


def place_in_command(root: Root, given: Command, word: str = "") -> Position:
    """The line of the unit's files that has a word, such as a flag; else the command line."""
    word = word.lstrip("-")
    for path in reversed(given.files) if word else ():
        text = root.read(path) or ""
        if word in text:
            return line_with(text, root.shown(path), word)
    return Position(root.shown(given.path), given.line, 1)


def find_process(subject: Subject, program: Program) -> Process | None:
    """The process of a program."""
    numbers = tasks.running_programs(subject).get(program.name, ())
    return process_of_unit(subject.root, map(str, numbers), program.unit)


#: Times of files have fractions of a second, those of processes hundredths.
_TOLERANCE = 1.0


def younger_files(root: Root, process: Process, paths: Iterable[str]) -> list[str] | None:
    """The files that were written after a process started; None where the times are not known.

    A time after that of the copy itself is the copy's, or that of somebody who changed it.
    """
    captured = _captured(root)
    if process.started is None or captured is None:
        return None
    younger = []
    for path in paths:
        written = root.mtime(path)
        if written is not None and process.started + _TOLERANCE < written <= captured:
            younger.append(path)
    return younger


def _captured(root: Root) -> float | None:
    """When /proc/uptime was read, in seconds since 1970."""
    booted, words = (
        boot_time(root.read("proc/stat") or ""),
        (root.read("proc/uptime") or "").split(),
    )
    up = nodetext.seconds(words[0]) if words else None
    return None if booted is None or up is None else booted + up


def restarted(
    subject: Subject, program: Program, process: Process | None, paths: Iterable[str]
) -> Iterator[Answer]:
    """CP827: the files may be right, and the program that runs has not read them."""
    fact = f"{program.name} has read its files"
    if process is None:
        yield subject.unverifiable(fact, "", f"no process of {program.name} is here")
        return
    status = f"proc/{process.pid}/stat"
    younger = younger_files(subject.root, process, paths)
    if younger is None:
        yield subject.unverifiable(fact, status, "times of the process and of files are not known")
    elif younger:
        files = ", ".join(f"/{path}" for path in younger)
        yield subject.differs(
            fact,
            "CP827",
            younger[0],
            observed=f"process {process.pid} is older",
            expected="a process that started after its files were written",
            program=program.called,
            files=files,
        )
    else:
        yield subject.held(fact, status)


_RESTARTING = "auto-restart"
_SERVICES = "sys/fs/cgroup/system.slice"


def runs(subject: Subject, program: Program) -> Iterator[Answer]:
    """CP828: a program whose unit failed, is being restarted, or has no process."""
    fact = f"{program.name} runs"
    start = command(subject, program)
    path, state = _state(subject, program.unit)
    if start and start.process and _RESTARTING not in state:
        yield subject.held(fact, start.path)
    elif state:
        yield _differs(subject, fact, path, program, state)
    elif start is None:
        reason = f"neither its process nor a {program.unit} that starts it is here"
        yield subject.unverifiable(fact, path, reason)
    elif tasks.are_programs_known(subject):
        yield _differs(subject, fact, start.path, program, "no process of it exists")
    else:
        yield subject.unverifiable(fact, path, "not all processes of the node are here")


def _state(subject: Subject, unit: str) -> tuple[str, str]:
    """What systemctl's captured output, or the control group, says against the unit, and where."""
    path, units = systemd_units.captured_units(subject.root)
    properties = units.get(unit, {})
    if properties.get("LoadState") == "not-found":
        return path, f"{unit} is not installed"
    state, detail = properties.get("ActiveState", ""), properties.get("SubState", "")
    if detail == _RESTARTING or state in ("failed", "inactive"):
        result = properties.get("Result", "")
        return path, f"{unit} is {state} ({detail}), result {result or 'unknown'}"
    group = f"{_SERVICES}/{unit}/cgroup.procs"
    if subject.root.read(group) == "":
        return group, f"the control group of {unit} has no process"
    return path, ""


def _differs(subject: Subject, fact: str, path: str, program: Program, state: str) -> Answer:
    return subject.differs(
        fact,
        "CP828",
        path,
        observed=state,
        expected="running",
        program=program.called,
        unit=program.unit,
    )
