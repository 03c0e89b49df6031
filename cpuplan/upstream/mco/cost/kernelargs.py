"""Kernel arguments as given to `rpm-ostree kargs` (generateKargs, pkg/daemon/update.go)."""

import re
from collections.abc import Iterable, Iterator

from cpuplan.upstream.mco.releases import NEWEST, Release, has

#: Quotes keep blanks together; nothing escapes a quote.
_ARGUMENT = re.compile(r'(?:[^ \f\n\r\t\v"]|"[^"]*(?:"|$))+')


def commands(old: Iterable[str], new: Iterable[str], release: Release = NEWEST) -> tuple[str, ...]:
    """All of the old arguments are deleted, then all of the new ones appended."""
    kept_quiet = has(release, "cost.absent_arguments_tolerated")
    delete = "--delete-if-present" if kept_quiet else "--delete"
    deleted = [f"{delete}={argument}" for argument in _split(old)]
    return (*deleted, *(f"--append={argument}" for argument in _split(new)))


def _split(entries: Iterable[str]) -> Iterator[str]:
    for entry in entries:
        for argument in _ARGUMENT.findall(entry):
            yield argument.strip()
