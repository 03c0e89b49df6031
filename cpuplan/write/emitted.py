"""Read output files again before they are written, and check them against their schemas.

How a file is read follows from its path: YAML that was written here, TOML, JSON, and the files of
the operating system.
"""

import json
import operator
import re
import tomllib
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

import yaml
from yaml.resolver import Resolver

from cpuplan.base.emit import to_yaml
from cpuplan.base.fits import Check, compiled
from cpuplan.base.patterns import expression
from cpuplan.base.program import emitted_schema
from cpuplan.base.progress import follow
from cpuplan.base.yaml_values import LOADER
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.upstream.kubelet.config import types as kubelet_schema

_TEXT, _LIST, _MAPPING = (f"tag:yaml.org,2002:{name}" for name in ("str", "seq", "map"))
#: Shorter texts are not divided: looking for entries takes longer than reading them.
_SHORT = 400
#: Entries that are remembered: those of some hundred files.
_MOST = 1 << 13
#: Between two documents; no line of a value begins at the first column.
_MARK = expression(r"^---\n", re.MULTILINE)
#: A list of plain words, such as the nodes of a class, of which no other file has one.
_NAMES = expression(r"(?: *- [a-z][a-z0-9.-]*\n)+")
_COMMENTS = expression(r"(?: *#.*\n)+")


class _Loader(LOADER):  # type: ignore[misc]  # of one of two classes
    """PyYAML's loader, without its questions about paths of nodes and tags of texts."""

    # No one defines such paths, and PyYAML asks two functions for each node about them.

    descend_resolver = staticmethod(operator.is_)
    ascend_resolver = staticmethod(tuple)
    resolve = staticmethod(lru_cache(maxsize=_MOST)(Resolver().resolve))


class Written(NamedTuple):
    """What a text says. The value is shared by all that read the same text: never changed."""

    value: Any
    #: Whether the text, but for its comments, is what is written of the value.
    is_canonical: bool


def document(data: bytes) -> Written:
    """What a YAML document says; ValueError for what cannot be read."""
    text = data.decode()
    try:
        written = read(text)
    except ValueError:
        _parse(text)  # whose message has the line in the whole text
        raise
    return written if _stands_at(text) == 0 else written._replace(is_canonical=False)


def documents(data: bytes) -> Written:
    """The same of a file of several documents, whose value is the list of theirs."""
    parts = [document(text.encode()) for text in _MARK.split(data.decode())]
    return Written([part.value for part in parts], all(part.is_canonical for part in parts))


@lru_cache(maxsize=_MOST)
def read(text: str) -> Written:
    """The value of a YAML document, or of an entry at its column; ValueError for what is none."""
    if len(text) < _SHORT:
        return _read_whole(text)
    comments = _COMMENTS.match(text)
    if comments:
        return read(text[comments.end() :])
    if _NAMES.fullmatch(text):
        return _read_whole(text)
    entries = list(_entries(text))
    if len(entries) == 1:
        return _of_list(text) or _of_mapping(text) or _read_whole(text)
    return _joined([read(entry) for entry in entries]) or _read_whole(text)


def _column(text: str) -> int:
    return len(text) - len(text.lstrip(" "))


@lru_cache
def _begin(column: int, is_list: bool) -> re.Pattern[str]:
    """Where entries begin after the first.

    The dashes of a list stand at the column of its key; a colon there belongs to a long key. The
    pattern begins with a text, which `re` finds fifty times as fast as the begin of a line.
    """
    first = "- " if is_list else r"(?!- )[^ #:\n]"
    return re.compile("\n" + " " * column + first)


def _entries(text: str) -> Iterator[str]:
    column = _column(text)
    begin = _begin(column, text.startswith("- ", column))
    starts = [0, *(match.start() + 1 for match in begin.finditer(text))]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        yield text[start:end]


def _joined(entries: Sequence[Written]) -> Written | None:
    """The mapping or list with these entries; None where they are not of one kind."""
    is_canonical = all(entry.is_canonical for entry in entries)
    if all(isinstance(entry.value, list) for entry in entries):
        items = [item for entry in entries for item in entry.value]
        return Written(items, is_canonical)
    if not all(isinstance(entry.value, dict) for entry in entries):
        return None
    made: dict[str, Any] = {}
    for entry in entries:
        made |= entry.value
    return Written(made, is_canonical) if len(made) == len(entries) else None


def _of_list(text: str) -> Written | None:
    """A list of one mapping, which is read without the dash before its first key."""
    column = _column(text)
    if not re.compile(r"- [A-Za-z]").match(text, column):
        return None
    value, is_canonical = read(f"{text[:column]}  {text[column + 2 :]}")
    return Written([value], is_canonical) if isinstance(value, dict) else None


def _of_mapping(text: str) -> Written | None:
    """A mapping with one key, and below it a list or mapping."""
    line, _, below = text.partition("\n")
    if not (line.endswith(":") and below.strip()):
        return None
    column = _column(text)
    key, is_key_canonical = _read_key(line)
    if not isinstance(key, dict):
        return None
    value, is_canonical = read(below)
    return Written(
        dict.fromkeys(key, value),
        is_key_canonical and is_canonical and _stands_at(below) == _place(value, column),
    )


@lru_cache(maxsize=_MOST)
def _read_key(line: str) -> Written:
    """A mapping of the key on a line; it has the same form whatever is below it."""
    return _read_whole(f"{line}\n{' ' * _column(line)}- 0\n")


def _place(value: object, column: int) -> int | None:
    """The column of what is below a key; None for what would stand on the line of the key."""
    if isinstance(value, dict):
        return column + 2
    return column if isinstance(value, list) else None


def _stands_at(text: str) -> int:
    """The column of the first line that is not a comment."""
    comments = _COMMENTS.match(text)
    return _column(text[comments.end() :] if comments else text)


def _read_whole(text: str) -> Written:
    value = _parse(text)
    try:
        written = to_yaml(value)
    except (TypeError, ValueError):
        return Written(value, False)
    if written == text:
        return Written(value, True)
    lines = _lines(text)
    indent = " " * _stands_at(text)
    made = [f"{indent}{line}" if line else "" for line in _lines(written)]
    return Written(value, made == lines)


def _lines(text: str) -> list[str]:
    """Without comments."""
    lines = text.splitlines()
    return [line for line in lines if "#" not in line or not line.lstrip().startswith("#")]


def _parse(text: str) -> Any:
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        return node and _construct(loader, node)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


def _construct(loader: Any, node: yaml.Node) -> Any:
    """The value of a node, as the constructors of PyYAML's `loader` make it.

    Texts, and lists and mappings of them, are most of a file. They are made here, as PyYAML's
    generators take five times as long.
    """
    kind, tag = node.__class__, node.tag
    if kind is yaml.ScalarNode and tag == _TEXT:
        return node.value
    if kind is yaml.SequenceNode and tag == _LIST:
        return [_construct(loader, item) for item in node.value]
    if kind is yaml.MappingNode and tag == _MAPPING:
        return _mapping(loader, node)
    return loader.construct_object(node, deep=True)


def _mapping(loader: Any, node: yaml.Node) -> Any:
    made = {}
    for key, value in node.value:
        if key.tag != _TEXT or key.__class__ is not yaml.ScalarNode:
            return loader.construct_object(node, deep=True)
        made[key.value] = _construct(loader, value)
    return made


_COMMENT = ("#", ";")
_SECTION = expression(r"\[([^\[\]\s]+)\]")
_PAIR = expression(r"([^\s=\[#;][^=]*?)\s*=\s*(.*)")
#: A match or an assignment of udev(7).
_TOKEN = expression(r'(\w+(?:\{[^{}"]+\})?)(==|!=|\+=|:=|=)"([^"]*)"')
_TOKENS = expression(rf"{_TOKEN.pattern}(, ?{_TOKEN.pattern})*")
#: A line of tmpfiles.d(5) that writes to a file.
_WRITE = expression(r"w (/\S+) - - - - (\S+)")


def sections(data: bytes) -> dict[str, dict[str, list[str]]]:
    """The values of each key by section, in their order: systemd's files and TuneD's profiles."""
    by_section: dict[str, dict[str, list[str]]] = {}
    current: dict[str, list[str]] | None = None
    for number, line in _numbered_lines(data):
        if match := _SECTION.fullmatch(line):
            current = by_section.setdefault(match[1], {})
        elif (pair := _PAIR.fullmatch(line)) and current is not None:
            current.setdefault(pair[1], []).append(pair[2])
        else:
            raise _syntax_error(number, line)
    return by_section


def pairs(data: bytes) -> dict[str, str]:
    """Values by key, of sysctl.d(5) and of environment files; each key once."""
    values: dict[str, str] = {}
    for number, line in _numbered_lines(data):
        pair = _PAIR.fullmatch(line)
        if pair is None or pair[1] in values:
            raise _syntax_error(number, line)
        values[pair[1]] = pair[2]
    return values


def rules(data: bytes) -> list[list[str]]:
    """The keys with their operators of each rule of udev."""
    keys: list[list[str]] = []
    for number, line in _numbered_lines(data):
        if not _TOKENS.fullmatch(line):
            raise _syntax_error(number, line)
        keys.append([key + operator for key, operator, _ in _TOKEN.findall(line)])
    return keys


def writes(data: bytes) -> dict[str, str]:
    """What tmpfiles.d writes, by file."""
    values: dict[str, str] = {}
    for number, line in _numbered_lines(data):
        match = _WRITE.fullmatch(line)
        if match is None:
            raise _syntax_error(number, line)
        values[match[1]] = match[2]
    return values


def _numbered_lines(data: bytes) -> list[tuple[int, str]]:
    """(number, text) of the lines that are not empty and no comments.

    Raises ValueError for a text without an end of its last line, and for one that is not UTF-8.
    """
    text = data.decode()
    if not text.endswith("\n"):
        raise ValueError("the last line has no end")
    numbered = enumerate(text.splitlines(), start=1)
    return [(number, line) for number, line in numbered if line and line[0] not in _COMMENT]


def _syntax_error(number: int, line: str) -> ValueError:
    return ValueError(f"line {number} has another form: {line}")


#: Reads the bytes of a file: the schema's name, and the values.
Reader = Callable[[bytes], tuple[str, Written]]


def reader_of(path: str) -> Reader | None:
    """The reader of a file below `out/`; None for what is shipped, and for boot arguments."""
    return next((reader for pattern, reader in _READERS if pattern.search(path)), None)


def inside(value: Any, *way: str) -> Any:
    """What mappings have under these keys, each in the one before; None if there is no such key."""
    for key in way:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _document(name: str) -> Reader:
    return lambda data: (name, document(data))


def _talos(data: bytes) -> tuple[str, Written]:
    return "talos", documents(data)


def _flux(data: bytes) -> tuple[str, Written]:
    return "flux", documents(data)


def _cloud_init(data: bytes) -> tuple[str, Written]:
    if not data.startswith(b"#cloud-config\n"):
        raise ValueError("cloud-init would not know its format")
    return "cloud-init", document(data)


def _object(data: bytes) -> tuple[str, Written]:
    written = document(data)
    kind = inside(written.value, "kind")
    if not isinstance(kind, str) or not re.fullmatch(r"[A-Za-z]+", kind):
        raise ValueError("no object: it has no kind")
    return kind, written


def _read(name: str, read: Callable[[bytes], Any]) -> Reader:
    return lambda data: (name, Written(read(data), True))


def _json(name: str) -> Reader:
    return _read(name, json.loads)


def _toml(name: str) -> Reader:
    return _read(name, lambda data: tomllib.loads(data.decode()))


#: By paths below `out/`; other files are lines for a boot loader, scripts and what is shipped.
_READERS: tuple[tuple[re.Pattern[str], Reader], ...] = (
    (re.compile(r"^nodes/[^/]+/[^/]+\.cloud-init\.yaml$"), _cloud_init),
    (re.compile(r"^nodes/[^/]+/[^/]+\.butane\.yaml$"), _document("butane")),
    (re.compile(r"^nodes/[^/]+/[^/]+\.talos\.yaml$"), _talos),
    (re.compile(r"^nodes/[^/]+/[^/]+\.schematic\.yaml$"), _document("schematic")),
    (re.compile(r"^nodes/[^/]+/[^/]+\.bottlerocket\.toml$"), _toml("bottlerocket")),
    (re.compile(r"^nodes/[^/]+/[^/]+\.ign$"), _json("ignition")),
    (re.compile(r"^ansible/rollout-[^/]+\.yaml$"), _document("ansible-rollout")),
    (re.compile(r"^ansible/(?!roles/)[^/]+/[^/]+\.yaml$"), _document("ansible")),
    (re.compile(r"/20-node-[^/]+\.yaml$"), _document("koordinator-node")),
    (
        re.compile(r"/20-configmap-koord-scheduler-config\.yaml$"),
        _document("koord-scheduler-config"),
    ),
    (
        re.compile(r"/20-configmap-slo-controller-config\.yaml$"),
        _document("slo-controller-config"),
    ),
    (re.compile(r"/40-configmap-[^/]+\.yaml$"), _document("state-configmap")),
    (re.compile(r"^clusters/[^/]+/koordinator/argocd-cm\.yaml$"), _document("argocd-cm")),
    (re.compile(r"^clusters/[^/]+/expected/nrt/[^/]+\.yaml$"), _document("topologies")),
    (re.compile(r"^flux/[^/]+\.yaml$"), _flux),
    (re.compile(r"^argocd/argocd-cm\.yaml$"), _document("argocd-settings")),
    (re.compile(r"^clusters/[^/]+/koordinator/pods/[^/]+\.yaml$"), _document("pod-template")),
    (re.compile(r"^clusters/[^/]+/expected/dra/[^/]+\.yaml$"), _document("dra-devices")),
    (re.compile(r"^clusters/[^/]+/dra/[^/]+/values\.yaml$"), _document("dra-values")),
    (re.compile(r"^clusters/[^/]+/dra/[^/]+/config\.yaml$"), _document("dra-config")),
    (re.compile(r"^clusters/[^/]+/dra/[^/]+/pods/[^/]+\.yaml$"), _document("dra-pod")),
    (re.compile(r"^data\.resource\.exclusions$"), _document("argocd-exclusions")),
    (re.compile(r"^data\.[a-z-]+-config$"), _json("slo-config")),
    # The playbook, the role and the plugin are shipped as they are.
    (
        re.compile(r"^(?!ansible/(roles/|cpuplan\.yaml$)|argocd/plugin\.yaml$).*\.yaml$"),
        _object,
    ),
    (re.compile(r"/kubelet\.conf\.d/[^/]+$"), _object),
    (re.compile(r"/crio\.conf\.d/[^/]+$"), _toml("crio")),
    (re.compile(r"/containerd/conf\.d/[^/]+$"), _toml("containerd")),
    (re.compile(r"^clusters/[^/]+/cluster\.json$"), _json("cluster")),
    (re.compile(r"^clusters/[^/]+/node-labels/[^/]+\.json$"), _json("node-labels")),
    (re.compile(r"^clusters/[^/]+/expected/pools/[^/]+\.json$"), _json("pool")),
    (re.compile(r"^nodes/[^/]+/[^/]+\.json$"), _json("nodes")),
    (re.compile(r"^\.cpuplan/classes/[^/]+/[^/]+\.json$"), _json("class")),
    (re.compile(r"/openshift-workload-mixed-cpus$"), _json("openshift-workload-mixed-cpus")),
    (re.compile(r"/openshift-workload-pinning$"), _json("openshift-workload-pinning")),
    (re.compile(r"/etc/tuned/.+/tuned\.conf$"), _read("tuned", sections)),
    (re.compile(r"/recommend\.d/[^/]+$"), _read("tuned-recommend", sections)),
    (re.compile(r"/etc/sysctl\.d/[^/]+\.conf$"), _read("sysctl", pairs)),
    (re.compile(r"/etc/tmpfiles\.d/[^/]+\.conf$"), _read("tmpfiles", writes)),
    (re.compile(r"/etc/udev/rules\.d/[^/]+\.rules$"), _read("udev", rules)),
    (re.compile(r"/etc/cpuplan/irqbalance$"), _read("irqbalance", pairs)),
    (re.compile(r"/etc/systemd/.+\.(conf|service|slice)$"), _read("unit", sections)),
)


#: Where what lays down files has them, and in each its content.
_CARRIERS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "KubeadmConfigTemplate": (("spec", "template", "spec", "files"), ("content",)),
    "MachineConfig": (("spec", "config", "storage", "files"), ("contents", "source")),
    "butane": (("storage", "files"), ("contents", "inline")),
    "cloud-init": (("write_files",), ("content",)),
    "ignition": (("storage", "files"), ("contents", "source")),
}

#: What stands before the name of an object in the name of its file.
_KIND = expression(r"[0-9]{2}-[a-z]+-")
#: Keys of ConfigMaps with an object as text.
_OBJECTS_AS_TEXT = ("tuning", "koord-scheduler-config")


def check(files: Mapping[str, bytes]) -> list[Diagnostic]:
    """CP570 for each file that cannot be read back, or not as what it was made from."""
    seen: set[tuple[Reader, bytes]] = set()
    diagnostics: list[Diagnostic] = []
    for path, data in follow("files", len(files), sorted(files.items()), lambda item: item[0]):
        reader = reader_of(path)
        if reader is None:
            continue
        like = reader, _without_name(path, data)
        if like not in seen:
            seen.add(like)
            diagnostics += [_wrong(path, *problem) for problem in _read_again(reader, data)]
    return diagnostics


def _without_name(path: str, data: bytes) -> bytes:
    """A file without its own name, which ends that of the file: `20-node-<name>.yaml`."""
    file = path.rpartition("/")[2]
    name = _KIND.sub("", file.rpartition(".")[0] or file).encode()
    return data.replace(b"name: " + name + b"\n", b"name:\n", 1)


def _wrong(path: str, field: str, problem: str) -> Diagnostic:
    at = f" at {field}" if field not in ("", "$") else ""
    return diagnose("CP570", path=f"out/{path}", at=at, problem=problem)


def _problems(path: str, data: bytes) -> Iterator[tuple[str, str]]:
    """(field, problem) of one file."""
    reader = reader_of(path)
    if reader:
        yield from _read_again(reader, data)


def _read_again(reader: Reader, data: bytes) -> Iterator[tuple[str, str]]:
    """(field, problem) of what a reader makes of one file."""
    try:
        name, (value, is_canonical) = reader(data)
    except ValueError as error:
        yield "", f"cannot be read: {' '.join(str(error).split())}"
        return
    if not is_canonical:
        yield "", "reads back differently from its source"
    yield from _invalid(name, value)


def _invalid(name: str, value: Any, at: str = "$") -> Iterator[tuple[str, str]]:
    """Violations of the schema `name`, also in the texts that an object contains."""
    schema = _schema(name)
    if schema is None:
        yield at, f"is of a kind without a schema: {name}"
        return
    if not _fits(name)(value):
        yield from _violations(value, schema, at)
    if name == "KubeletConfig":
        yield from _invalid(
            "KubeletConfiguration",
            inside(value, "spec", "kubeletConfig"),
            f"{at}.spec.kubeletConfig",
        )
    if name == "topologies":
        yield from _of_first_node(value, at)
    if name in _CARRIERS:
        yield from _carried(name, value)
    if inside(value, "kind") == "ConfigMap":
        yield from _in_config_map(value)


def _of_first_node(value: Any, at: str) -> Iterator[tuple[str, str]]:
    """Problems of the object that the nodes of a class have, named after one of them."""
    if _fits("topologies")(value):
        topology, name = value["object"], {"name": value["nodes"][0]}
        metadata = topology.get("metadata", {})
        named = {**metadata, **name} if isinstance(metadata, dict) else metadata
        yield from _invalid("NodeResourceTopology", {**topology, "metadata": named}, f"{at}.object")


def _in_config_map(value: Any) -> Iterator[tuple[str, str]]:
    """Problems in the texts of a ConfigMap, by their keys."""
    data = inside(value, "data")
    for key, text in (data if isinstance(data, dict) else {}).items():
        end = ".yaml" if key in _OBJECTS_AS_TEXT else ""
        if isinstance(text, str):
            yield from _problems(f"data.{key}{end}", text.encode())


def _violations(value: Any, schema: dict[str, Any], at: str) -> Iterator[tuple[str, str]]:
    from jsonschema import Draft7Validator  # heavy, and needed to explain a mistake only

    for error in Draft7Validator(schema).iter_errors(value):
        yield (
            at + error.json_path[1:],
            error.message if len(error.message) < 200 else f"breaks {error.validator}",
        )


def _carried(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Problems in the files that a file of the kind `name` writes to nodes."""
    way, content = _CARRIERS[name]
    for file in inside(value, *way) or ():
        path, text = inside(file, "path"), inside(file, *content)
        if isinstance(path, str) and isinstance(text, str):
            yield from _in_file(path, text, is_encoded=content[-1] == "source")


@lru_cache(maxsize=1 << 10)
def _in_file(path: str, text: str, *, is_encoded: bool) -> tuple[tuple[str, str], ...]:
    """The problems of a file on nodes; many objects carry the same."""
    data = b64decode(text.partition(",")[2]) if is_encoded else text.encode()
    return tuple(
        (f"{path} {field.removeprefix('$')}".rstrip(), problem)
        for field, problem in _problems(f"nodes{path}", data)
    )


@cache
def _schema(name: str) -> dict[str, Any] | None:
    """The schema of a kind; None for a kind without one."""
    if name == "KubeletConfiguration":
        return kubelet_schema.schema()
    schema: dict[str, Any] | None = emitted_schema(name)
    return schema


@cache
def _fits(name: str) -> Check:
    """Whether a value is valid by the schema of a kind."""
    return compiled(_schema(name) or {})
