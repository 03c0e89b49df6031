"""The kubelet that runs: whether one does, and whether it is younger than its files."""

from collections.abc import Iterator

from cpuplan.check.kubelet.sources import program, sources
from cpuplan.check.programs import age, state
from cpuplan.check.subject import Subject
from cpuplan.plan.expected.answer import Answer


def runs(subject: Subject) -> Iterator[Answer]:
    """CP828: nothing is held where no kubelet runs."""
    yield from state.runs(subject, program(subject))


def restarted(subject: Subject) -> Iterator[Answer]:
    """CP827: the files are read when the kubelet starts."""
    read = sources(subject)
    process = read.command.process if read.command else None
    yield from age.restarted(subject, program(subject), process, read.paths)
