"""What was compiled before or is compiled now, as read from the files of `out/`.

The files are of a commit or of a folder: an editor or a merge may have had them since. The nodes of
two snapshots are paired: all of a pair were in one class and are in one class now.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

from cpuplan.base.cpuset import CpuSet, CpuSetError
from cpuplan.base.files import Unreadable, list_files, read_regular
from cpuplan.base.fits import Form, Schema, misfit
from cpuplan.base.foreign import ForeignError, read_json
from cpuplan.base.program import emitted_schema
from cpuplan.base.progress import stage
from cpuplan.diagnostics import CpuplanError, Diagnostic, diagnose
from cpuplan.diagnostics.source import Position
from cpuplan.fleet.previous import CLASSES, VERSION, Key, is_manifest, path_of
from cpuplan.language.read import yaml
from cpuplan.language.read.files import refusal
from cpuplan.plan.expected.state import FOLDER as STATES
from cpuplan.plan.expected.state import REASONS, Expected, UnreadableStateError, read

#: Objects that Git delivers lie in folders of this name.
_MANIFESTS = "manifests"
_KUSTOMIZATION = "kustomization.yaml"
#: Objects that operators make of compiled ones, below the folder of a cluster.
OPERATOR = "expected/operator"
#: What YAML readers disagree on is no damage of a file that another release wrote.
_PASSED_OVER = ("CP103", "CP104", "CP113")
_TEXT: Schema = {"type": "string"}
_TEXTS: Schema = {"type": "object", "additionalProperties": _TEXT}
_POOLS: Schema = {
    "type": "object",
    "additionalProperties": {
        "type": "object",
        "required": ["cpus", "because"],
        "properties": {"cpus": _TEXT, "because": REASONS},
    },
}
_SETTING: Schema = {
    "type": "object",
    "required": ["component", "key", "value", "because"],
    "properties": {"component": _TEXT, "key": _TEXT, "because": REASONS},
}
#: What is compared of a class.
_CLASS = Form(
    {
        "type": "object",
        "required": ["cluster", "class", "intent", "hardware", "nodes", "pools", "settings"],
        "properties": {
            **dict.fromkeys(("cluster", "class", "intent", "hardware", "pool"), _TEXT),
            "nodes": {"type": "array", "items": _TEXT},
            "pools": _POOLS,
            "sets": _POOLS,
            "settings": {"type": "array", "items": _SETTING},
        },
    }
)
_METADATA: Schema = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": _TEXT,
        "namespace": _TEXT,
        "labels": {"anyOf": [_TEXTS, {"type": "null"}]},
        "annotations": {"anyOf": [_TEXTS, {"type": "null"}]},
    },
}
_ENVELOPE: Schema = {
    "type": "object",
    "required": ["apiVersion", "kind", "metadata"],
    "properties": {"apiVersion": _TEXT, "kind": _TEXT, "metadata": _METADATA},
}
#: Kinds whose fields are read, and not only compared.
_READ = frozenset({"DaemonSet", "KubeletConfig", "MachineConfig", "MachineConfigPool"})
#: Keywords of a schema that say of which type a value is, and nothing else of it.
_OF_TYPES = frozenset({"type", "properties", "items", "additionalProperties", "anyOf"})


class DamagedError(ValueError):
    """A file is not what was compiled: the problem, and its line and column, 0 if not known."""

    def __init__(self, problem: str, line: int = 0, column: int = 0) -> None:
        super().__init__(problem)
        self.line, self.column = line, column


class LaterError(ValueError):
    """A file has a form of a later release: its number."""

    def __init__(self, version: int) -> None:
        super().__init__(version)
        self.version = version


class ObjectId(NamedTuple):
    """What the API server knows an object by."""

    group: str
    kind: str
    namespace: str
    name: str


class Object(NamedTuple):
    """An object and the path of its file below `out/`."""

    id: ObjectId
    path: str
    data: Mapping[str, Any]


def read_class(path: str, data: bytes) -> dict[str, Any]:
    """The plan of a class, by the path of its file. Raises DamagedError, LaterError."""
    try:
        plan = read_json(data)
        version = plan.get("version") if isinstance(plan, dict) else None
        if type(version) is int and version > VERSION:
            raise LaterError(version)
        if type(version) is not int:
            raise DamagedError("it has no version")
        if not _CLASS.fits(plan):
            raise DamagedError(str(misfit(plan, _CLASS.schema)))
    except ForeignError as error:
        raise DamagedError(str(error), error.line, error.column) from error
    if path != f"{CLASSES}/{plan['cluster']}/{plan['class']}.json":
        raise DamagedError(f"it is class {plan['class']} of cluster {plan['cluster']}")
    for name, pool in {**plan["pools"], **plan.get("sets", {})}.items():
        try:
            CpuSet.parse(pool["cpus"])
        except CpuSetError as error:
            raise DamagedError(f"the CPUs of {name} are no CPU list: {error}") from None
    return dict(plan)


def is_object(path: str) -> bool:
    """Whether a file below `out/` has an object for a cluster's API."""
    folder, _, name = path.rpartition("/")
    is_manifest = path.startswith("clusters/") and folder.endswith(f"/{_MANIFESTS}")
    return is_manifest and name.endswith(".yaml") and name != _KUSTOMIZATION


def is_made(path: str) -> bool:
    """Whether it has an object that an operator makes."""
    folder, _, name = path.rpartition("/")
    is_of_operator = path.startswith("clusters/") and folder.endswith(f"/{OPERATOR}")
    return is_of_operator and name.endswith(".yaml")


def damaged_objects(
    before: Mapping[str, bytes], after: Mapping[str, bytes]
) -> Iterator[tuple[str, DamagedError]]:
    """Manifests, and objects that operators make, that differ from those of now and are none."""
    for path, data in sorted(before.items()):
        if data != after.get(path) and (is_object(path) or is_made(path)):
            try:
                read_object(path, data)
            except DamagedError as error:
                yield path, error


def damaged(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> Iterator[str]:
    """The paths of classes and objects that cannot be compared."""
    for path, data in sorted(before.items()):
        if path.startswith(f"{CLASSES}/"):
            try:
                read_class(path, data)
            except (DamagedError, LaterError):
                yield path
    for path, _ in damaged_objects(before, after):
        yield path


def read_object(path: str, data: bytes) -> Object:
    """The object of a manifest. Raises DamagedError."""
    sources, problems = yaml.decode(path, data)
    for problem in problems:
        if problem.code not in _PASSED_OVER:
            place = problem.position
            raise DamagedError(
                problem.message, place.line if place else 0, place.column if place else 0
            )
    if len(sources) != 1:
        raise DamagedError(f"it has {len(sources)} documents, not one")
    source = sources[0]
    value: Any = source.data
    for form in _forms(value):
        if not form.fits(value):
            wrong = misfit(value, form.schema)
            place = source.value_at(wrong.at if wrong else ())
            raise DamagedError(str(wrong), place.line, place.column)
    return Object(_id(value), path, value)


def _forms(value: Any) -> Iterator[Form]:
    yield _OBJECT
    if value["kind"] in _READ:
        yield _form_of(value["kind"])


_OBJECT = Form(_ENVELOPE)


@cache
def _form_of(kind: str) -> Form:
    """The types of what this release writes of a kind."""
    return Form(_types_of(emitted_schema(kind)))


def _types_of(schema: Any) -> Any:
    """A schema without all that is no type: other releases write other fields and values."""
    if not isinstance(schema, dict):
        return True
    kept = {key: value for key, value in schema.items() if key in _OF_TYPES}
    if "properties" in kept:
        kept["properties"] = {
            name: _types_of(inner) for name, inner in schema["properties"].items()
        }
    if "items" in kept:
        kept["items"] = _types_of(schema["items"])
    if "anyOf" in kept:
        kept["anyOf"] = [_types_of(choice) for choice in schema["anyOf"]]
    if "additionalProperties" in kept:
        kept["additionalProperties"] = _types_of(schema["additionalProperties"])
    return kept


def _id(data: Mapping[str, Any]) -> ObjectId:
    group, slash, _ = data["apiVersion"].partition("/")
    metadata = data["metadata"]
    namespace = metadata.get("namespace") or ""
    return ObjectId(group if slash else "", data["kind"], namespace, metadata["name"])


class Snapshot:
    """A tree of compiled files, by path below `out/`; each part is parsed when it is asked for.

    DamagedError for a part that is not what was compiled.
    """

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = files
        self._states: dict[Key, Expected | None] = {}
        self._objects: dict[str, Mapping[ObjectId, Object]] = {}

    @cached_property
    def classes(self) -> Mapping[Key, Mapping[str, Any]]:
        """The plan of each class as `backends.planfile` writes it, by cluster and class."""
        plans = {}
        for path in sorted(self.files):
            if path.startswith(f"{CLASSES}/"):
                data = read_class(path, self.files[path])
                plans[data["cluster"], data["class"]] = data
        return plans

    @cached_property
    def by_node(self) -> Mapping[tuple[str, str], Key]:
        """The class of each (cluster, node)."""
        return {(key[0], node): key for key, plan in self.classes.items() for node in plan["nodes"]}

    def part(self, paths: Iterable[str]) -> "Snapshot":
        """A snapshot of these files only, as far as they are there."""
        return Snapshot({path: self.files[path] for path in paths if path in self.files})

    def state(self, key: Key) -> Expected | None:
        """The expected state of a class; None where an earlier release wrote none, or another."""
        if key not in self._states:
            self._states[key] = self._read_state(key)
        return self._states[key]

    def _read_state(self, key: Key) -> Expected | None:
        data = self.files.get(f"clusters/{key[0]}/{STATES}/{key[1]}.json")
        try:
            return read(data.decode()) if data is not None else None
        except (UnreadableStateError, UnicodeDecodeError):
            return None

    def objects(self, cluster: str) -> Mapping[ObjectId, Object]:
        """The objects of a cluster's API, those for its hosting cluster included."""
        if cluster not in self._objects:
            objects = self._read_objects(f"clusters/{cluster}/")
            self._objects[cluster] = {value.id: value for value in objects}
        return self._objects[cluster]

    def _read_objects(self, start: str) -> Iterator[Object]:
        for path in sorted(self.files):
            if path.startswith(start) and is_object(path):
                yield read_object(path, self.files[path])

    def made(self, cluster: str) -> tuple[Mapping[str, Any], ...]:
        """The objects that operators make of those of a cluster."""
        start = f"clusters/{cluster}/"
        paths = [path for path in sorted(self.files) if path.startswith(start) and is_made(path)]
        return tuple(read_object(path, self.files[path]).data for path in paths)

    def node_files(self, key: Key) -> Mapping[str, bytes]:
        """The files of a class's nodes, by absolute path; empty where objects bring them."""
        start = f"nodes/{key[0]}/{key[1]}/"
        return {
            path.removeprefix(start[:-1]): data
            for path, data in self.files.items()
            if path.startswith(start)
        }


class Pair(NamedTuple):
    """Nodes that were in one class and are in one class now; None where they are in no class."""

    before: Key | None
    after: Key | None
    #: In one cluster.
    cluster: str
    nodes: tuple[str, ...]


#: Of one machine.
_NOT_COMPARED = ".cpuplan/written"
_FOLDER = "out"
#: Letters of a commit's name.
_SHORT = 12


class Tree(NamedTuple):
    """The files below an `out/`, what people call it, and the commit or folder that it is of."""

    name: str
    source: str
    files: Mapping[str, bytes]
    #: Where it lies; None for a commit.
    folder: Path | None = None


@stage("reading what was compiled")
def tree_of_commit(root: Path, ref: str | None) -> Tree:
    """The tree of a commit; by default, of the one where the main branch was left."""
    from cpuplan.git import trees  # starts Git
    from cpuplan.git.program import opened

    with opened(root) as repository:
        commit = ref or trees.merge_base(repository)
        name = ref or f"{commit[:_SHORT]} (merge base)"
        files = _owned(trees.read(repository, commit, _FOLDER))
    tree = Tree(name, commit, files)
    _check(tree)
    return tree


@stage("reading what was compiled")
def tree_of_folder(folder: Path) -> Tree:
    """The tree of a folder. An empty folder stands for nothing compiled."""
    listed = list_files(folder, within=folder, suffixes=("",), hidden=True)
    if listed.problems:
        raise CpuplanError(refusal(str(path), error) for path, error in listed.problems)
    within = os.path.realpath(folder)
    files = {path.relative_to(folder).as_posix(): _read(path, within) for path in listed.files}
    tree = Tree(str(folder), str(folder), _owned(files), folder)
    if files:
        _check(tree)
    return tree


def _read(path: Path, within: str) -> bytes:
    try:
        return read_regular(path, within=within)
    except Unreadable as error:
        raise CpuplanError([refusal(str(path), error)]) from None


def _owned(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files that cpuplan wrote; all of them where no manifest lists any."""
    texts = [files[path].decode(errors="replace") for path in filter(is_manifest, files)]
    listed = {path_of(line) for text in texts for line in text.splitlines()} or files.keys()
    return {
        path: files[path]
        for path in files
        if path in listed and path != _NOT_COMPARED and not is_manifest(path)
    }


def _check(tree: Tree) -> None:
    """CP680 without compiled classes, CP681 and CP139 for a class that cannot be compared."""
    what = _what(tree)
    classes = [path for path in sorted(tree.files) if path.startswith(f"{CLASSES}/")]
    if not classes:
        raise CpuplanError([diagnose("CP680", what=what)])
    problems = []
    for path in classes:
        try:
            read_class(path, tree.files[path])
        except DamagedError as error:
            problems.append(_damaged("CP681", tree, path, error))
        except LaterError as error:
            place, kind = _place(tree, path), f"a class of {what}"
            version = error.version
            problems.append(diagnose("CP139", place, what=kind, found=version, expected=VERSION))
    if problems:
        raise CpuplanError(problems)


def _what(tree: Tree) -> str:
    return tree.name if tree.folder else f"{_FOLDER}/ of {tree.source}"


def _place(tree: Tree, path: str, line: int = 1, column: int = 1) -> Position | None:
    """A place in a file of a folder; those of a commit are nowhere to look at."""
    return Position((tree.folder / path).as_posix(), line, column) if tree.folder else None


def _damaged(code: str, tree: Tree, path: str, error: DamagedError) -> Diagnostic:
    at = f" (line {error.line})" if error.line and not tree.folder else ""
    place = _place(tree, path, error.line or 1, error.column or 1)
    return diagnose(code, place, path=path, what=_what(tree), problem=f"{error}{at}")


def check_objects(before: Tree, after: Mapping[str, bytes]) -> None:
    """CP682 for manifests that differ from those of now and are no objects."""
    problems = [
        _damaged("CP682", before, path, error)
        for path, error in damaged_objects(before.files, after)
    ]
    if problems:
        raise CpuplanError(problems)


#: A cluster and a node of it.
Node = tuple[str, str]


def pairs(before: Snapshot, after: Snapshot) -> tuple[Pair, ...]:
    """All nodes of both sides, by cluster and class: that of now, else that of before."""
    groups: dict[tuple[str, Key | None, Key | None], list[str]] = {}
    for node in sorted(before.by_node.keys() | after.by_node.keys()):
        key = node[0], before.by_node.get(node), after.by_node.get(node)
        groups.setdefault(key, []).append(node[1])
    matched = (
        Pair(old, new, cluster, tuple(names)) for (cluster, old, new), names in groups.items()
    )
    return tuple(sorted(matched, key=_order))


def _order(pair: Pair) -> tuple[Key, bool, Key]:
    key = pair.after or pair.before or ("", "")
    return key, pair.after is None, pair.before or ("", "")


def moved(before: Snapshot, after: Snapshot) -> Mapping[Node, Node]:
    """Nodes that left a cluster and came to another one under the same name, and where they were.

    A node whose name came to, or left, several clusters is none of them.
    """
    came = _by_name(after.by_node.keys() - before.by_node.keys())
    left = _by_name(before.by_node.keys() - after.by_node.keys())
    return dict(_unique(came, left))


def _unique(
    came: Mapping[str, list[Node]], left: Mapping[str, list[Node]]
) -> Iterator[tuple[Node, Node]]:
    for name in sorted(came.keys() & left.keys()):
        if len(came[name]) == len(left[name]) == 1:
            yield came[name][0], left[name][0]


def _by_name(nodes: set[Node]) -> dict[str, list[Node]]:
    names: dict[str, list[Node]] = {}
    for node in sorted(nodes):
        names.setdefault(node[1], []).append(node)
    return names
