"""The programs of runtime handlers: they are there, and can be run."""

from collections.abc import Iterator
from typing import NamedTuple

from cpuplan.check.roots.root import Root
from cpuplan.check.runtimes import containerd, crio_files
from cpuplan.check.runtimes.crio import find_sources
from cpuplan.check.subject import Subject, line_with
from cpuplan.components import crio
from cpuplan.diagnostics.source import Position
from cpuplan.facts.versions import Version
from cpuplan.plan.expected.evidence import Answer
from cpuplan.upstream.containerd.config import Loaded
from cpuplan.upstream.containerd.cri import handlers as containerd_handlers
from cpuplan.upstream.crio.config import Machine, RefusedError, Table, load

#: There where the programs of a root are: a snapshot has none.
_A_PROGRAM = "usr/bin/env"
#: $PATH of systemd's services, below the root.
_FOLDERS = ("usr/local/sbin", "usr/local/bin", "usr/sbin", "usr/bin", "sbin", "bin")
_RUNC = "io.containerd.runc.v2"
_SHIM = "containerd-shim-runc-v2"


class _Program(NamedTuple):
    """A program that a handler needs: an absolute path, or a name in $PATH."""

    handler: str
    key: str
    path: str


def programs(subject: Subject) -> Iterator[Answer]:
    """CP834 for each program that is missing, or that nobody may run."""
    runtime = subject.expected.release.runtime
    needed, fact = _needed(subject), f"{runtime} programs of handlers"
    if not subject.expected.platform.has_runtime_unit or needed is None:
        return
    if not subject.root.is_file(_A_PROGRAM):
        yield subject.unverifiable(fact, "", "the programs of the node are not part of this copy")
        return
    is_held = True
    for program in needed:
        problem = _problem(subject.root, program.path)
        if problem:
            is_held = False
            yield _missing(subject, fact, program, problem)
    if is_held and needed:
        yield subject.held(fact, needed[0].path.lstrip("/"))


def _needed(subject: Subject) -> list[_Program] | None:
    """What the handlers in force need; None where the files say nothing."""
    if subject.expected.release.runtime == crio.NAME:
        return _of_crio(subject)
    release, loaded = subject.expected.release.containerd, containerd.loaded(subject)
    if release is None or loaded is None:
        return None
    return list(_of_containerd(loaded, release))


def _of_crio(subject: Subject) -> list[_Program] | None:
    """Handlers that CRI-O leaves out are told by themselves (CP848)."""
    read = find_sources(subject)
    if not read.paths and read.command is None:
        return None  # no file, no process and no unit: there is no CRI-O, which CP830 says
    given = crio_files.read(subject.root, read.paths, read.flags.file)
    release = crio_files.release(subject)
    try:
        handlers = load(crio_files.decoded(given, release), Machine(release=release)).handlers
    except RefusedError:
        return None
    needed = []
    for name, handler in handlers.items():
        needed.append(_Program(name, "runtime_path", _runtime(name, handler)))
        if handler.get("runtime_type", "") in ("", "oci"):
            needed.append(_Program(name, "monitor_path", handler["monitor_path"] or "conmon"))
    return needed


def _runtime(name: str, handler: Table) -> str:
    """The path; that of a default handler is the place of packages, so its name is looked for."""
    path: str = handler["runtime_path"]
    return name if path == f"/usr/bin/{name}" else path


def _of_containerd(loaded: Loaded, release: Version) -> Iterator[_Program]:
    for name, handler in containerd_handlers(loaded, release).items():
        if handler.get("runtime_path"):
            yield _Program(name, "runtime_path", str(handler["runtime_path"]))
        elif handler.get("runtime_type") == _RUNC:
            yield _Program(name, "runtime_type", _SHIM)
            options = handler.get("options")
            binary = options.get("BinaryName") if isinstance(options, dict) else None
            yield _Program(name, "BinaryName", str(binary or "runc"))


def _problem(root: Root, program: str) -> str:
    """Why a program cannot be run; "" where it can."""
    paths = [program.lstrip("/")] if "/" in program else [f"{at}/{program}" for at in _FOLDERS]
    modes = [mode for path in paths if root.is_file(path) and (mode := root.mode(path)) is not None]
    if not modes:
        return "which does not exist" if "/" in program else "which is in no folder of $PATH"
    return "" if any(mode & 0o111 for mode in modes) else "which is not executable"


def _missing(subject: Subject, fact: str, program: _Program, problem: str) -> Answer:
    runtime = subject.expected.release.runtime
    return subject.differs(
        fact,
        "CP834",
        _place(subject, program),
        observed=f"{program.path}: {problem}",
        expected="a program",
        program="CRI-O" if runtime == crio.NAME else runtime,
        handler=program.handler,
        key=program.key,
        path=program.path,
        problem=problem,
    )


def _place(subject: Subject, program: _Program) -> Position:
    """The last line that names the program, or else the handler."""
    if subject.expected.release.runtime == crio.NAME:
        paths = [*find_sources(subject).paths.values()]
    else:
        paths = [*containerd.paths(subject)]
    for word in (program.path, program.handler):
        for path in reversed(paths):
            text = subject.root.read(path) or ""
            if word in text:
                return line_with(text, subject.root.shown(path), word)
    return subject.place(paths[0] if paths else "")
