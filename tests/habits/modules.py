"""Habits of the package as a whole: which modules there are, their names, and who imports them."""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import NamedTuple

from tests.habits.finding import Finding

PACKAGE = "cpuplan"
_START = f"{PACKAGE}.__main__"
#: Ports: their modules have the names that the files of the original have.
_PORTS = "upstream"
#: A name may stand once in a room (a folder of the package) and in this many rooms: beyond that,
#: it does not tell which module is meant.
_ROOMS = 2
#: Modules that are the same thing in each folder that has them.
_SAME_SHAPE = frozenset({"__init__", "__main__", "base", "errors", "settings", "text"})
#: Systems, mechanisms and kinds: each room says in one module what it knows of them.
_SYSTEMS = frozenset(
    {
        *("balloons", "bottlerocket", "containerd", "crio", "dra", "k3s", "kernel", "koordinator"),
        *("kubelet", "kubernetes", "machineconfig", "mixedcpus", "nri", "nrt", "openshift", "qos"),
        *("rke2", "systemd", "talos", "topologyaware", "tuned"),
    }
)


class Module(NamedTuple):
    """A module of the package, by its path in the repository."""

    path: str
    tree: ast.Module

    @property
    def name(self) -> str:
        """As it is imported."""
        parts = PurePosixPath(self.path).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @property
    def stem(self) -> str:
        """The name of its file."""
        return PurePosixPath(self.path).stem

    @property
    def folder(self) -> str:
        """The package that it is in; a package is in its own."""
        return str(PurePosixPath(self.path).parent)

    @property
    def room(self) -> str:
        """The folder of the package that it is in; a module that is in none is a room itself."""
        return PurePosixPath(self.path).parts[1]


def findings(trees: Mapping[str, ast.Module]) -> list[Finding]:
    """What breaks a habit in the package, from its modules by path."""
    modules = [Module(path, tree) for path, tree in trees.items()]
    return sorted([*_alone(modules), *_names(modules), *_unreached(modules)])


def _alone(modules: list[Module]) -> Iterator[Finding]:
    """Packages with one module, or none beside `__init__`, and no package below."""
    inside: Counter[str] = Counter()
    for module in modules:
        folder = PurePosixPath(module.folder)
        inside[str(folder)] += module.stem != "__init__"
        inside[str(folder.parent)] += 2 * (module.stem == "__init__")
    for module in modules:
        if module.stem == "__init__" and module.room != "__init__.py" and inside[module.folder] < 2:
            what = "a package of one module: make it a module of the package above"
            yield Finding(module.path, 1, 1, "lone-module", what)


def _names(modules: list[Module]) -> Iterator[Finding]:
    by_stem = defaultdict(list)
    for module in modules:
        known = module.stem in _SAME_SHAPE or module.stem in _SYSTEMS
        if not known and module.room != _PORTS:
            by_stem[module.stem].append(module)
    for stem, namesakes in by_stem.items():
        rooms = Counter(module.room for module in namesakes)
        for module in namesakes:
            inside = rooms[module.room]
            if inside > 1 or len(rooms) > _ROOMS:
                what = f"{inside} modules of {module.room}/ and {len(rooms)} rooms have a {stem}.py"
                advice = "name it after what it alone is about"
                yield Finding(module.path, 1, 1, "module-name", f"{what}: {advice}")


def _unreached(modules: list[Module]) -> Iterator[Finding]:
    by_name = {module.name: module for module in modules}
    reached: set[str] = set()
    todo = [_START]
    while todo:
        name = todo.pop()
        if name in by_name and name not in reached:
            reached.add(name)
            todo.append(name.rpartition(".")[0])
            todo += _wanted(by_name[name], by_name)
    for name in by_name.keys() - reached:
        what = "no command reaches this module: move it to the tests, or take it out"
        yield Finding(by_name[name].path, 1, 1, "unreached-module", what)


def _wanted(module: Module, by_name: Mapping[str, Module]) -> Iterator[str]:
    """The names that a module imports, as modules or by a registry; some name no module."""
    words, folders, is_registry = set(), [], False
    for node in ast.walk(module.tree):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str() as source, names=names):
                yield source
                yield from (f"{source}.{alias.name}" for alias in names)
                is_registry |= any(alias.name == "import_module" for alias in names)
            case ast.Constant(value=str() as word):
                yield word
                words.add(re.sub(r"\W", "_", word))
            case ast.JoinedStr(values=values):
                folders.append(_folder(values, module.name))
    if is_registry:
        yield from _listed(words, tuple(filter(None, folders)), by_name)


def _folder(values: list[ast.expr], own: str) -> str:
    """The package at the beginning of a string such as `f"cpuplan.importers.{name}"`, or ""."""
    start = ""
    for value in values:
        match value:
            case ast.Constant(value=str() as text):
                start += text
            case ast.FormattedValue(value=ast.Name(id="__name__")):
                start += own
            case _:
                break
    return start if start.startswith(f"{PACKAGE}.") and start.endswith(".") else ""


def _listed(
    words: set[str], folders: tuple[str, ...], by_name: Mapping[str, Module]
) -> Iterator[str]:
    """The modules of these packages that a registry names among its words."""
    for name in by_name:
        if name.startswith(folders) and name.rpartition(".")[2].rstrip("_") in words:
            yield name
