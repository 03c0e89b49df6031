"""Who does the work of a command, as its options say."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from cpuplan.cli.output import settings
from cpuplan.workers import Workers
from cpuplan.workers.cores import cores

if TYPE_CHECKING:
    from cpuplan.perclass.making import Making


@contextmanager
def making() -> "Iterator[Making]":
    """Processes of this machine, and the cache of the user."""
    from cpuplan.perclass.cache import Cache
    from cpuplan.perclass.making import Making

    cache = Cache.of_user() if settings().cache else None
    with workers() as who:
        try:
            yield Making(who, cache)
        except KeyboardInterrupt:
            if cache and cache.folder:
                settings().kept = "; layouts that were finished are kept for the next run"
            raise


@contextmanager
def workers() -> Iterator[Workers]:
    """Processes of this machine, or the workers of a scheduler."""
    given = settings()
    if given.dask is None:
        yield Workers(given.jobs or cores())
        return
    if given.jobs is not None:
        raise click.UsageError("--dask and --jobs exclude each other")
    from cpuplan.workers.dask import scheduler

    with scheduler(given.dask) as who:
        yield who
