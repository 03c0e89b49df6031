"""The steps on container runtimes in the order of the answers, and those on their processes."""

from collections.abc import Iterable, Iterator

from cpuplan.check import processes
from cpuplan.check.processes import Program, find_process
from cpuplan.check.runtimes import claims, containerd, crio, handlers, mixedcpus, workload_tables
from cpuplan.check.subject import Subject
from cpuplan.components import containerd as containerd_component
from cpuplan.components import crio as crio_component
from cpuplan.plan.expected.evidence import Answer


def runs(subject: Subject) -> Iterator[Answer]:
    """CP828: of a runtime that has a unit of its own."""
    program = _program(subject)
    if program:
        yield from processes.runs(subject, program)


def restarted(subject: Subject) -> Iterator[Answer]:
    """CP827: the files are read when the runtime starts; a reload is not enough for CPU sets."""
    program = _program(subject)
    if program:
        process = find_process(subject, program)
        yield from processes.restarted(subject, program, process, _paths(subject, program))


def _program(subject: Subject) -> Program | None:
    if not subject.expected.platform.has_runtime_unit:
        return None
    known = {
        crio_component.NAME: crio.PROGRAM,
        containerd_component.NAME: containerd.PROGRAM,
    }
    return known.get(subject.expected.release.runtime)


def _paths(subject: Subject, program: Program) -> Iterable[str]:
    if program is crio.PROGRAM:
        return crio.find_sources(subject).paths.values()
    return containerd.paths(subject)


STEPS = (
    runs,
    crio.configuration,
    crio.traps,
    workload_tables.tables,
    containerd.configuration,
    containerd.traps,
    handlers.programs,
    mixedcpus.limit,
    claims.given_out,
    restarted,
)
