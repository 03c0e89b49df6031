"""What program this is: a digest of its files, and of what it runs with."""

import os
import sys
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path

import cpuplan
from cpuplan import __version__
from cpuplan.base.resources import resource

#: Packages whose release may show in results, or in the form in which these are sent.
_BESIDE = ("ortools", "pydantic", "pydantic_core")


@cache
def program_digest() -> str:
    """A digest of the program's files, of the releases installed beside it, and of Python's."""
    return _digest(sys.version, _releases())


@cache
def edition() -> str:
    """The version, with a digest of all that must be equal where two do parts of one work."""
    names = (f"{name}-" for name in _BESIDE)
    beside = [name for name in _releases() if name.startswith(tuple(names))]
    python = ".".join(map(str, sys.version_info[:2]))
    return f"{__version__} ({_digest(python, beside)[:12]}, Python {python})"


def _digest(python: str, releases: list[str]) -> str:
    digest = sha256(python.encode())
    for name in releases:
        digest.update(name.encode() + b"\0")
    for folder in (Path(cpuplan.__file__).parent, resource("templates"), resource("schemas")):
        for path in sorted(_files_below(str(folder))):
            # A wheel has the templates inside the package, a checkout beside it: the same names in
            # both.
            digest.update(path.removeprefix(str(folder)).encode() + b"\0")
            # some hundred files: a Path would cost more than reading
            with open(path, "rb", buffering=0) as file:
                digest.update(file.read())
    return digest.hexdigest()


def _releases() -> list[str]:
    """The packages that are installed beside the program, as `name-version.dist-info`."""
    releases = []
    for folder in filter(os.path.isdir, sys.path):
        releases += [name for name in os.listdir(folder) if name.endswith(".dist-info")]
    return sorted(releases)


def _files_below(folder: str) -> Iterator[str]:
    """The files that are read, without what Python and a wheel's builder put beside them."""
    for entry in os.scandir(folder):
        if entry.is_dir():
            if entry.name not in ("__pycache__", "data"):
                yield from _files_below(entry.path)
        else:
            yield entry.path
