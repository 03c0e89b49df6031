"""Which files CRI-O reads: its command line says so, and what it sets itself."""

from collections.abc import Mapping
from typing import NamedTuple

from cpuplan.check.programs.command import Command, Program, command, place
from cpuplan.check.subject import Subject
from cpuplan.diagnostics.source import Position
from cpuplan.upstream.crio import criocli
from cpuplan.upstream.crio.config import DROP_INS, MAIN, RefusedError
from cpuplan.upstream.crio.criocli import Flags

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
        return place(subject.root, self.command, flag)


def sources(subject: Subject) -> Sources:
    """What CRI-O reads; looked up once."""
    if _CACHE not in subject.cache:
        subject.cache[_CACHE] = _sources(subject)
    found: Sources = subject.cache[_CACHE]
    return found


def _sources(subject: Subject) -> Sources:
    found = command(subject, PROGRAM)
    if found is None:
        return Sources(_paths(subject, Flags()))
    try:
        given = criocli.parse(found.words, found.environment)
    except RefusedError as error:
        return Sources({}, Flags(), found, str(error))
    return Sources(_paths(subject, given), given, found)


def _paths(subject: Subject, given: Flags) -> dict[str, str]:
    """CRI-O does not start with a file that it cannot read, whatever its name ends in."""
    main, folder = given.config.strip("/"), given.config_dir.strip("/")
    paths = {MAIN: main} if main and subject.root.is_file(main) else {}
    for path in subject.root.files(folder) if folder else ():
        paths[f"{DROP_INS}/{path.removeprefix(f'{folder}/')}"] = path
    return paths
