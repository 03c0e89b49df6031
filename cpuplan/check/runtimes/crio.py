"""CRI-O's configuration: the main file, all drop-ins, flags; and the mixed-CPU file beside it.

Its command line says which files it reads.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from cpuplan.check.processes import Command, Program, command, place_in_command
from cpuplan.check.runtimes import crio_files
from cpuplan.check.subject import LINK_TO_NOTHING, Subject, line_of, shown, unreadable
from cpuplan.components import crio, derived
from cpuplan.components.host import irqbalance
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Position
from cpuplan.facts import versions
from cpuplan.plan.expected.evidence import Answer
from cpuplan.plan.setting import Setting, Value
from cpuplan.upstream.crio import config, criocli
from cpuplan.upstream.crio.config import (
    DROP_INS,
    MAIN,
    File,
    Machine,
    NotTomlError,
    RefusedError,
    decode,
    merge,
    of_release,
)
from cpuplan.upstream.crio.criocli import Flags
from cpuplan.upstream.kubernetes.bits import parse_cpus

PROGRAM = Program("crio", "crio.service", "CRI-O")
_CACHE = "sources of CRI-O"


class Sources(NamedTuple):
    """The files that CRI-O reads, by the names that they have below /etc/crio; and its flags.

    `problem` is why it does not take its command line.
    """

    paths: Mapping[str, str]
    flags: Flags = Flags()
    command: Command | None = None
    problem: str = ""

    def place(self, subject: Subject, flag: str = "") -> Position:
        """Where the command line, or one of its flags, stands."""
        if self.command is None:
            return subject.place(criocli.CONFIG.lstrip("/"))
        return place_in_command(subject.root, self.command, flag)


def find_sources(subject: Subject) -> Sources:
    """What CRI-O reads; looked up once."""
    return subject.once(_CACHE, lambda: _sources(subject))


def _sources(subject: Subject) -> Sources:
    start = command(subject, PROGRAM)
    if start is None:
        return Sources(_paths(subject, Flags()))
    try:
        given = criocli.parse(start.words, start.environment)
    except RefusedError as error:
        return Sources({}, Flags(), start, str(error))
    return Sources(_paths(subject, given), given, start)


def _paths(subject: Subject, given: Flags) -> dict[str, str]:
    """CRI-O does not start with a file that it cannot read, whatever its name ends in."""
    main, folder = given.config.strip("/"), given.config_dir.strip("/")
    paths = {MAIN: main} if main and subject.root.is_file(main) else {}
    for path in subject.root.files(folder) if folder else ():
        paths[f"{DROP_INS}/{path.removeprefix(f'{folder}/')}"] = path
    return paths


_FACT = "crio configuration"
_FILES = "crio files"
_FLAGS = "flags"
_DRIVER = "cgroup_manager"


class _Values(NamedTuple):
    """The values in force by key, and the file that gave each; `_FLAGS` for the command line."""

    values: Mapping[str, Value]
    files: Mapping[str, str]


def configuration(subject: Subject) -> Iterator[Answer]:
    """Every planned key has its value after the last file or flag that gives it."""
    if subject.expected.release.runtime != crio.NAME:
        return
    read = find_sources(subject)
    settings = subject.expected.settings.of(crio.NAME)
    if read.problem:
        finding = diagnose("CP847", read.place(subject), problem=read.problem)
        yield subject.answered(_FACT, finding, observed=read.problem)
        yield from subject.unknown(settings, "CRI-O does not take its command line")
        return
    if not read.paths and not subject.root.refused:
        folder = read.flags.config_dir.strip("/")
        if not subject.root.covers(f"{folder}/any"):
            yield from subject.unknown(settings, "the copy has no file of CRI-O")
            return
        folder = subject.root.shown(folder)
        finding = _unread(subject, read) or diagnose("CP830", path=folder)
        yield subject.answered(_FACT, finding, observed="no file")
        yield from subject.unknown(settings, "CRI-O has no file here")
        return
    findings, files = _files(subject, read)
    for finding in findings:
        yield subject.answered(_FACT, finding)
    if findings or subject.root.refused:
        yield from subject.unknown(settings, "a file of CRI-O cannot be read")
        return
    last = {key: path for path, file in files.items() for key in crio.flat(file.tables)}
    yield from _keys(subject, read, _Values(_in_force(files, crio_files.release(subject)), last))


def _files(subject: Subject, read: Sources) -> tuple[list[Diagnostic], dict[str, File]]:
    """What each file, and then the command line, gives to this release; CP831 for no TOML."""
    findings: list[Diagnostic] = []
    files: dict[str, File] = {}
    for path in read.paths.values():
        text = subject.root.read(path)
        try:
            if text is None and not subject.root.refused:
                raise NotTomlError(LINK_TO_NOTHING)
            files[path] = of_release(decode(path, text or ""), crio_files.release(subject))
        except NotTomlError as error:
            place, problem = unreadable(subject, path, error)
            findings.append(diagnose("CP831", place, path=place.path, problem=problem))
        except RefusedError:
            continue  # CP847 of the next step
    files[_FLAGS] = read.flags.file
    return findings, files


def _in_force(files: Mapping[str, File], release: versions.Version) -> dict[str, Value]:
    """The merged values over those of CRI-O itself."""
    own = {"runtime": dict(config.RUNTIME), "nri": config.default_nri(release)}
    known = {key: value for key, value in crio.flat(own).items() if value is not None}
    return {**known, **crio.flat(merge(files))}


def _keys(subject: Subject, read: Sources, actual: _Values) -> Iterator[Answer]:
    """Held, or CP824, CP832, CP833: a flag, no file, or another file gives another value."""
    missing = []
    for setting in subject.expected.settings.of(crio.NAME):
        value, path = actual.values.get(setting.key), actual.files.get(setting.key, "")
        if _same(value, setting.value):
            yield subject.held(setting, _evidence(read, path))
        elif not path:
            missing.append(setting)
        elif path == _FLAGS:
            yield _by_flag(subject, read, setting, shown(value))
        else:
            place = line_of(subject, path, setting.key)
            yield subject.differs(setting, "CP833", place, observed=shown(value))
    yield from _missing(subject, read, missing)


def _same(actual: Value | None, wanted: Value) -> bool:
    """The order of annotations says nothing."""
    if isinstance(actual, tuple) and isinstance(wanted, tuple):
        return sorted(map(str, actual)) == sorted(map(str, wanted))
    return actual == wanted


def _evidence(read: Sources, path: str) -> str:
    if path == _FLAGS:
        return read.command.path if read.command else ""
    return path or (*read.paths.values(), "")[0]


def _by_flag(subject: Subject, read: Sources, setting: Setting, actual: str) -> Answer:
    handler = ".".join(setting.key.split(".")[:2])
    flag = read.flags.spelt.get(setting.key.rpartition(".")[2]) or read.flags.spelt.get(handler)
    return subject.differs(
        setting,
        "CP824",
        read.place(subject, flag or ""),
        observed=actual,
        program="CRI-O",
        flag=flag or "a flag",
        hint=f"take {flag or 'the flag'} out of the command line of CRI-O, and restart it",
    )


def _missing(subject: Subject, read: Sources, missing: list[Setting]) -> Iterator[Answer]:
    """CP832, one for all; or CP835, the cause of all that a compiled file would give."""
    if not missing:
        return
    settings = "; ".join(f"{setting.key}: {shown(setting.value)}" for setting in missing)
    own = [path for path in read.paths.values() if f"/{path}" in subject.expected.files]
    place = subject.place(own[0] if own else read.flags.config_dir.strip("/"))
    labels = subject.all_labels(missing)
    finding = _unread(subject, read) or diagnose("CP832", place, labels=labels, settings=settings)
    for setting in missing:
        yield subject.answered(setting, finding, observed="not set", expected=shown(setting.value))


def _unread(subject: Subject, read: Sources) -> Diagnostic | None:
    """CP835: the command line names another folder than that of the compiled file."""
    folder = read.flags.config_dir.rstrip("/")
    if folder == criocli.CONFIG_DIR:
        return None
    problem = f"its folder of drop-ins is {folder or 'none'}"
    place = read.place(subject, folder)
    return diagnose("CP835", place, path=criocli.CONFIG_DIR, problem=problem)


NO_FILES = "CRI-O's files are not here"


def given_files(subject: Subject) -> crio_files.Files | None:
    """The texts of the node's files; None where they are not here, or not all of them."""
    read = find_sources(subject)
    given = crio_files.read(subject.root, read.paths, read.flags.file)
    is_whole = read.paths and not read.problem and not subject.root.refused
    return given if is_whole else None


def traps(subject: Subject) -> Iterator[Answer]:
    """What CRI-O refuses, leaves out or passes over in its files, and what will bite."""
    if subject.expected.release.runtime != crio.NAME:
        return
    read, given = find_sources(subject), given_files(subject)
    if given is None:
        yield subject.unverifiable(_FILES, "", NO_FILES)
        return
    if not crio_files.are_toml(given.texts.values()):
        yield subject.unverifiable(_FILES, "", "CRI-O's files are no TOML")
        return
    findings = list(crio_files.of_files(given, _machine(subject)))
    # Where the plan places interrupts, irqbalance gets its list from a drop-in of its unit.
    if not subject.expected.settings.of(irqbalance.NAME):
        findings += crio_files.irqbalance(subject.root, given)
    for finding in findings:
        yield subject.answered(_FILES, finding)
    yield from _driver(subject, read, crio_files.decoded(given, crio_files.release(subject)))
    if not findings:
        yield subject.held(_FILES, (*read.paths.values(), "")[0])


def _driver(subject: Subject, read: Sources, files: Mapping[str, File]) -> Iterator[Answer]:
    """The kubelet takes the driver from CRI-O, and limits of slices need that of systemd."""
    values = _in_force(files, crio_files.release(subject))
    actual = str(values.get(_DRIVER, "systemd"))
    wanted = str(subject.expected.facts.get(derived.CGROUP_DRIVER, actual))
    if actual != wanted:
        named = [path for path, file in files.items() if _DRIVER in crio.flat(file.tables)]
        yield subject.differs(
            "crio cgroup_manager",
            "CP8224",
            line_of(subject, (named or [*read.paths.values()])[-1], _DRIVER),
            observed=actual,
            expected=wanted,
            key=_DRIVER,
        )


def _machine(subject: Subject) -> Machine:
    online = subject.expected.cpus(derived.ONLINE)
    return Machine(cpus=parse_cpus(str(online)), release=crio_files.release(subject))
