"""What program this is: its version of the language, its files, and a digest of what runs."""

import json
import os
import sys
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

import cpuplan
from cpuplan import API_VERSION, __version__
from cpuplan.base.patterns import expression

API_GROUP = API_VERSION.partition("/")[0]
_VERSION = expression(r"v([1-9][0-9]{0,5})(?:(alpha|beta)([1-9][0-9]{0,5}))?")
_STAGES = ("alpha", "beta", None)


def is_later_version(api_version: object) -> bool:
    """Whether an apiVersion of cpuplan's group is later than ours: v1alpha1, v1beta1, v1."""
    if not isinstance(api_version, str):
        return False
    group, _, version = api_version.partition("/")
    own, other = _order(API_VERSION.partition("/")[2]), _order(version)
    return group == API_GROUP and own is not None and other is not None and other > own


def _order(version: str) -> tuple[int, int, int] | None:
    match = _VERSION.fullmatch(version)
    return (int(match[1]), _STAGES.index(match[2]), int(match[3] or 0)) if match else None


_PACKAGE = Path(cpuplan.__file__).parent


def is_bundled() -> bool:
    """Whether this is a bundle: one file, with some of the commands (`cpuplan bundle`)."""
    return not _PACKAGE.is_dir()


def resource(*parts: str) -> Path:
    """The path of a shipped file or folder: in an installed package, or beside it in a checkout.

    In a bundle, what is returned can be read like a Path.
    """
    if is_bundled():
        from importlib.resources import files

        return cast(Path, files("cpuplan").joinpath("data", *parts))
    installed = _PACKAGE / "data" / Path(*parts)
    return installed if installed.exists() else _PACKAGE.parent / Path(*parts)


def emitted_schema(kind: str) -> Any:
    """The schema of what cpuplan writes of a kind; None for a kind without one."""
    path = resource("schemas", "emitted", f"{kind}.schema.json")
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


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


def is_covered(path: str) -> bool:
    """Whether `program_digest` tells a change of a file: the program's, or one installed with it.

    The catalogue of machines is shipped too, and not in the digest.
    """
    own = (str(_PACKAGE), *(os.path.realpath(resource(name)) for name in ("templates", "schemas")))
    if _is_below(path, own):
        return not _is_below(path, (str(_PACKAGE / "data"),)) or _is_below(path, own[1:])
    is_installed = _is_below(path, (sys.prefix, sys.base_prefix)) or path.endswith((".py", ".pyc"))
    return is_installed or path in map(os.path.abspath, sys.path)  # a folder of modules is listed


def _is_below(path: str, folders: tuple[str, ...]) -> bool:
    return path.startswith(tuple(f"{folder.rstrip(os.sep)}{os.sep}" for folder in folders))


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
