"""Who does the work of a command, as its options say."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import time
from typing import TYPE_CHECKING

import click

from cpuplan.cli.output import settings
from cpuplan.workers import Workers
from cpuplan.workers.cores import cores

if TYPE_CHECKING:
    from cpuplan.perclass.making import Making


#: More processes than so many for each core only take memory: with each number the result is one.
_BUSY = 4


@contextmanager
def making() -> "Iterator[Making]":
    """Processes of this machine, and the cache of the user."""
    from cpuplan.perclass.cache import Cache
    from cpuplan.perclass.making import Making

    cache = Cache.of_user() if settings().cache else None
    start = time()
    with workers() as who:
        try:
            yield Making(who, cache)
        except KeyboardInterrupt:
            if cache and cache.folder and _has_files_since(start, cache.folder):
                settings().kept = "; layouts that were finished are kept for the next run"
            raise


def _has_files_since(start: float, folder: Path) -> bool:
    """Whether something was kept in a folder, of this run or of another one meanwhile."""
    try:
        return any(entry.stat().st_mtime >= start for entry in os.scandir(folder))
    except OSError:
        return False


@contextmanager
def workers() -> Iterator[Workers]:
    """Processes of this machine, or the workers of a scheduler."""
    given = settings()
    if given.dask is None:
        yield Workers(min(given.jobs or cores(), _BUSY * cores()))
        return
    if given.jobs is not None:
        raise click.UsageError("--dask and --jobs exclude each other")
    from cpuplan.workers.dask import scheduler

    with scheduler(given.dask) as who:
        yield who
