"""The command line of a program of the node: of its process, or else of its unit."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cpuplan.check.lines import line_with
from cpuplan.check.programs import processes
from cpuplan.check.programs.execution import execution
from cpuplan.check.programs.processes import Process
from cpuplan.check.roots.root import Root
from cpuplan.check.services import programs
from cpuplan.check.services.units import unit_files
from cpuplan.check.subject import Subject
from cpuplan.diagnostics.source import Position

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
    lines = unit_files(subject).lines(program.unit)
    found = execution(lines, lambda path: subject.root.read(path.lstrip("/")))
    at = _place_in(found.words, program.name) if found else None
    if found is None or at is None:
        return None
    files = (*dict.fromkeys(line.path for line in lines), *found.files)
    line = found.line
    words = found.words[at + 1 :]
    return Command(words, line.path, line.number, None, found.environment, files)


def _place_in(words: Sequence[str], name: str) -> int | None:
    """Where the program is named: first, or behind a wrapper such as OpenShift's kubenswrapper."""
    names = [word.rpartition("/")[2] for word in words[:_WRAPPED]]
    return names.index(name) if name in names else None


def place(root: Root, given: Command, word: str = "") -> Position:
    """The line of the unit's files that has a word, such as a flag; else the command line."""
    word = word.lstrip("-")
    for path in reversed(given.files) if word else ():
        text = root.read(path) or ""
        if word in text:
            return line_with(text, root.shown(path), word)
    return Position(root.shown(given.path), given.line, 1)


def find_process(subject: Subject, program: Program) -> Process | None:
    """The process of a program."""
    numbers = programs.of(subject).get(program.name, ())
    return processes.of_unit(subject.root, map(str, numbers), program.unit)
