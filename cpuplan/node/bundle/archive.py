"""The bundle: a zip archive that Python runs (PEP 441), the same bytes from the same sources."""

import io
import zipfile
from collections.abc import Iterator, Mapping
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path

from cpuplan.base.progress import stage
from cpuplan.base.resources import resource
from cpuplan.node.bundle.modules import PACKAGE, Modules

#: The commands of a bundle, and what they load by name.
COMMANDS = ("agent", "check", "explain", "snapshot")
_ROOTS = (
    "cpuplan.__main__",
    *(f"cpuplan.cli.commands.{name}" for name in COMMANDS),
    "cpuplan.render.diagnostics.",
)
#: Packages that are in the bundle, by the name of their distribution: both are plain Python.
_PACKAGES = {"click": "click", "yaml": "PyYAML"}
#: What they read that is not Python.
_TEMPLATES = ("snapshot",)
_SHEBANG = b"#!/usr/bin/env python3\n"
#: It must be read by Pythons that are too old for all the rest, to tell them so: 2.7 reads it.
_MAIN = b"""\
import sys

if sys.version_info < (3, 11):
    sys.stderr.write(
        "cpuplan needs Python 3.11 or later; this is Python %d.%d (%s)\\n"
        % (sys.version_info[0], sys.version_info[1], sys.executable)
    )
    sys.exit(2)

from cpuplan.__main__ import main

main()
"""
#: The first time that a zip archive can hold.
_TIME = (1980, 1, 1, 0, 0, 0)
_MODE = 0o100644 << 16


@stage("packing")
def build() -> bytes:
    """The archive. Nothing is compressed: other releases of zlib would give other bytes."""
    whole = io.BytesIO(_SHEBANG)
    whole.seek(0, io.SEEK_END)
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_STORED) as archive:
        for name, data in sorted(_files().items()):
            entry = zipfile.ZipInfo(name, _TIME)
            entry.create_system, entry.external_attr = 3, _MODE  # Unix, whatever builds it
            archive.writestr(entry, data)
    return whole.getvalue()


def _files() -> Mapping[str, bytes]:
    """What is in the archive, by its path there."""
    files = {"__main__.py": _MAIN}
    folder = _folder(PACKAGE)
    for path in Modules(folder).needed(_ROOTS, _PACKAGES).values():
        files[_place(PACKAGE, folder, path)] = path.read_bytes()
    for package, name in _PACKAGES.items():
        files |= dict(_package(package, name))
    for template in _TEMPLATES:
        top = resource("templates")
        for path in sorted((top / template).rglob("*")):
            if path.is_file():
                files[_place("cpuplan/data/templates", top, path)] = path.read_bytes()
    return files


def _package(package: str, name: str) -> Iterator[tuple[str, bytes]]:
    """The modules of another package, and its licence."""
    folder = _folder(package)
    for path in folder.rglob("*.py"):
        yield _place(package, folder, path), path.read_bytes()
    for file in distribution(name).files or ():
        if "LICENSE" in file.name.upper():
            yield f"licenses/{name}-{file.name}", file.read_binary()


def _folder(package: str) -> Path:
    """Where the modules of a package are."""
    spec = find_spec(package)
    assert spec  # noqa: S101 - this very program needs it
    assert spec.origin  # noqa: S101 - each is a package with a file
    return Path(spec.origin).parent


def _place(top: str, folder: Path, path: Path) -> str:
    return f"{top}/{path.relative_to(folder).as_posix()}"
