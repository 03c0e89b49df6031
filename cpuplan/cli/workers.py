"""Who does the work of a command, as its options say."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import time
from typing import TYPE_CHECKING

import click

from cpuplan.cli.output import note, settings
from cpuplan.workers import Workers
from cpuplan.workers.work import cores

if TYPE_CHECKING:
    from cpuplan.pipeline.making import Making


#: More processes than so many for each core only take memory: with each number the result is one.
_BUSY = 4


def uses_cache() -> bool:
    """Whether anything may come from earlier runs; once it is said why it may not.

    A cache is for the one who works here. What proves something to others, such as a gate of CI,
    asks no cache at all: a run before it may have been of somebody else's code.
    """
    from cpuplan.base.files import cache

    given = settings()
    problem = cache.refusal(given.root) if given.cache else ""
    if problem:
        given.cache = False
        _tell_refusal(str(cache.place_of_user()), problem)
    return given.cache


def _tell_refusal(place: str, problem: str) -> None:
    """On standard error only: the report is the same with and without a cache."""
    from cpuplan.diagnostics import diagnose

    said = diagnose("CP6120", path=place, problem=problem)
    note(f"note[{said.code}]: {said.message}\n  help: {said.remedy}")


@contextmanager
def making(*, is_gate: bool = False) -> "Iterator[Making]":
    """Processes of this machine, and the cache of the user, unless this is a gate."""
    from cpuplan.pipeline.making import Cache, Making

    cache = Cache.of_user(settings().root) if not is_gate and uses_cache() else None
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
