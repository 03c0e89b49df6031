"""Who does the work of a command, as its options say."""

from collections.abc import Iterator
from contextlib import contextmanager

from cpuplan.cli.output import settings
from cpuplan.workers import Workers
from cpuplan.workers.cores import cores


@contextmanager
def workers() -> Iterator[Workers]:
    """Processes of this machine."""
    yield Workers(settings().jobs or cores())
