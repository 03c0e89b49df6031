"""`cpuplan bundle`: what `check` and `agent` need, as one file of the same bytes."""

import ast
import io
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from cpuplan.base.program import resource
from cpuplan.base.progress import stage

PACKAGE = "cpuplan"


class Module(NamedTuple):
    """A module, and what it imports: when it is loaded, and in its functions later."""

    path: Path
    at_once: frozenset[str]
    later: frozenset[str]


class Modules:
    """All modules of the package, by name."""

    def __init__(self, folder: Path) -> None:
        paths = {_name(path.relative_to(folder)): path for path in sorted(folder.rglob("*.py"))}
        self._known = {name: _read(name, path) for name, path in paths.items()}

    def needed(self, roots: Iterable[str], packages: Iterable[str]) -> dict[str, Path]:
        """The paths of `roots` and of all that they need, as far as it loads with `packages`.

        A root that ends with a dot stands for all modules below it.
        """
        loads = self._loadable(frozenset(packages))
        todo = [name for root in roots for name in self._below(root)]
        paths: dict[str, Path] = {}
        while todo:
            name = todo.pop()
            if name in paths or name not in loads:
                continue
            module = self._known[name]
            paths[name] = module.path
            todo += self._own({name} | module.at_once | module.later)  # and the packages above it
        return dict(sorted(paths.items()))

    def _below(self, root: str) -> Iterator[str]:
        if not root.endswith("."):
            return iter((root,))
        return (name for name in self._known if name.startswith(root))

    def _loadable(self, packages: frozenset[str]) -> set[str]:
        """The modules that need nothing else than each other, Python itself, and `packages`."""
        unknown = self._outside - packages
        needs = {name: frozenset(self._own(module.at_once)) for name, module in self._known.items()}
        loads = {
            name for name, module in self._known.items() if not _tops(module.at_once) & unknown
        }
        while broken := {name for name in loads if not needs[name] <= loads}:
            loads -= broken
        return loads

    @cached_property
    def _outside(self) -> frozenset[str]:
        """The packages of others that any module imports."""
        import sys

        used = {
            top for module in self._known.values() for top in _tops(module.at_once | module.later)
        }
        return frozenset(used - sys.stdlib_module_names - {PACKAGE})

    def _own(self, imported: Iterable[str]) -> Iterator[str]:
        """The modules that are loaded by these imports: with each, the packages above it."""
        for name in imported:
            parts = name.split(".")
            for length in range(1, len(parts) + 1):
                own = ".".join(parts[:length])
                if own in self._known:
                    yield own


def _tops(names: Iterable[str]) -> set[str]:
    return {name.partition(".")[0] for name in names}


def _name(path: Path) -> str:
    parts = (PACKAGE, *path.with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _read(name: str, path: Path) -> Module:
    at_once: set[str] = set()
    later: set[str] = set()
    todo: list[tuple[ast.AST, bool]] = [(ast.parse(path.read_bytes()), False)]
    while todo:
        node, is_later = todo.pop()
        (later if is_later else at_once).update(_imported(node))
        inside = is_later or isinstance(node, ast.FunctionDef)
        todo += [(statement, inside) for statement in _statements(node)]
    return Module(path, frozenset(at_once - {name}), frozenset(later - {name}))


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """The statements inside of one, but for what only type checkers read."""
    is_for_types = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    for field in ("orelse",) if is_for_types else ("body", "orelse", "handlers", "finalbody"):
        body = getattr(node, field, None)
        yield from body if isinstance(body, list) else ()


def _imported(node: ast.AST) -> Iterator[str]:
    """What an import may load: `from a import b` means a module `a.b`, or a name in `a`."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    if isinstance(node, ast.ImportFrom) and node.module:
        yield node.module
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


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
