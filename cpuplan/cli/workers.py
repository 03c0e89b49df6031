"""Who does the work of a command, as its options say."""

from collections.abc import Iterator
from contextlib import contextmanager

from cpuplan.cli.output import settings
from cpuplan.perclass.cache import Cache
from cpuplan.perclass.making import Making
from cpuplan.workers import Workers
from cpuplan.workers.cores import cores


@contextmanager
def making() -> Iterator[Making]:
    """Processes of this machine, and the cache of the user."""
    with workers() as who:
        yield Making(who, Cache.of_user() if settings().cache else None)


@contextmanager
def workers() -> Iterator[Workers]:
    """Processes of this machine."""
    yield Workers(settings().jobs or cores())
