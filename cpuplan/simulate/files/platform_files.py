"""Files for kubelets that are no YAML documents: patches by name, settings in TOML, flags in lines.

They are kubeadm's patches, Bottlerocket's settings, and files of flags as MicroK8s has them.
"""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from cpuplan.backends import bottlerocket
from cpuplan.base import foreign
from cpuplan.diagnostics import Diagnostic
from cpuplan.diagnostics.source import Mark, Marks, Position, Source
from cpuplan.facts.platforms import KUBERNETES
from cpuplan.language.read import yaml
from cpuplan.simulate.files.kubelet_configuration import Command, File
from cpuplan.upstream.kubelet.config.options import FLAG_FIELDS, parse_flags
from cpuplan.upstream.kubelet.config.types import API_VERSION, KIND, STRUCTS, with_fractions
from cpuplan.upstream.kubernetes.errors import KubeletError

_HEAD = {"apiVersion": API_VERSION, "kind": KIND}


class Laid(NamedTuple):
    """Fields that a platform lays over its own configuration, or flags that it adds to its own."""

    fields: File | None = None
    command: Command | None = None


def of_patch(path: str, text: str, *, is_json: bool) -> Laid | None:
    """A patch of kubeadm for the kubelet's configuration: fields, or operations on them."""
    sources, problems = yaml.parse(path, text)
    if _is_no_yaml(problems):
        return None
    if is_json:
        return _of_operations(path, text)
    if len(sources) != 1:
        return None
    data: Any = sources[0].data
    return Laid(File(path, json.dumps(with_fractions({**_HEAD, **data}), default=str), sources[0]))


def _is_no_yaml(problems: Sequence[Diagnostic]) -> bool:
    """Whether no reader takes it: what readers disagree on, as of 0.8, is for the kubelet."""
    return any(problem.code == "CP101" for problem in problems)


def _of_operations(path: str, text: str) -> Laid | None:
    """A JSON patch, as far as it sets whole fields."""
    wrapped, problems = yaml.parse(path, f"operations:\n{text}")
    if not wrapped or _is_no_yaml(problems):
        return None
    data: Any = wrapped[0].data
    operations = data.get("operations")
    if not isinstance(operations, list):
        return None
    fields: dict[str, Any] = {}
    marks: dict[str | int, Mark] = {}
    for index, operation in enumerate(operations):
        name = operation.get("path", "") if isinstance(operation, dict) else ""
        is_set = isinstance(operation, dict) and operation.get("op") in ("add", "replace")
        if is_set and re.fullmatch(r"/\w+", str(name)):
            fields[name[1:]] = operation.get("value")
            place = wrapped[0].value_at(("operations", index, "value"))
            at = place.line - 2, place.column - 1, max(place.end, place.column) - 1
            marks[name[1:]] = Mark(at, at)
    return Laid(_file(path, fields, marks))


def of_bottlerocket(path: str, text: str) -> Laid | None:
    """The settings of Bottlerocket for the kubelet (settings.kubernetes)."""
    try:
        settings = foreign.read_toml(text).get("settings")
    except (ValueError, RecursionError):
        return None
    given = settings.get("kubernetes") if isinstance(settings, dict) else None
    if not isinstance(given, dict):
        return None
    try:
        own = bottlerocket.fields_of(given)
    except (ValueError, TypeError, AttributeError):
        return None
    lines = text.split("\n")
    names = {field: name for field, name in bottlerocket.SETTINGS.items() if field in own}
    fields = {**_others(given), **own}
    marks: dict[str | int, Mark] = {
        field: _mark_of(names.get(field) or _setting(field), lines) for field in fields
    }
    return Laid(_file(path, fields, marks))


def _others(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Fields that cpuplan does not write, whose settings are called as they are."""
    named = {_field(name): value for name, value in settings.items()}
    return {field: value for field, value in named.items() if field in STRUCTS[KIND]}


def _field(name: str) -> str:
    return re.sub("-([a-z])", lambda match: match[1].upper(), name)


def _setting(field: str) -> str:
    return re.sub("[A-Z]", lambda match: f"-{match[0].lower()}", field)


def _mark_of(name: str, lines: list[str]) -> Mark:
    """Where a key stands, or the table of it."""
    key = re.compile(rf"""\s*["']?{re.escape(name)}["']?\s*=|\s*\[.*\b{re.escape(name)}\]""")
    number = next((index for index, line in enumerate(lines) if key.match(line)), 0)
    line = lines[number]
    start = len(line) - len(line.lstrip())
    return Mark((number, start, start + len(name)), (number, start, len(line)))


def _file(path: str, fields: dict[str, Any], marks: dict[str | int, Mark]) -> File:
    data = with_fractions({**_HEAD, **fields})
    places: Marks = {id(data): marks}
    return File(path, json.dumps(data, default=str), Source(path, data, places, (0, 0)))


def command_of(words: Sequence[str], place: Position) -> Command:
    """The flags in words, or why the kubelet takes none of them."""
    try:
        return Command(parse_flags(words).fields, place)
    except KubeletError as error:
        return Command(place=place, problem=str(error))


def of_flags(path: str, text: str) -> Laid | None:
    """A file of flags, each on a line of its own, as kubelite of MicroK8s reads it."""
    lines = [line.strip() for line in text.split("\n")]
    given = [(number, line) for number, line in enumerate(lines, 1) if line[:1] not in ("", "#")]
    if not given or not all(line.startswith("--") for _, line in given):
        return None
    words = [word for _, line in given for word in line.replace('"', "").replace("'", "").split()]
    command = command_of(words, Position(path, given[0][0], 1))
    if command.problem and command.place:
        command = command._replace(place=_place_of(command.problem, given, command.place))
    return Laid(command=command)


def _place_of(error: str, given: list[tuple[int, str]], first: Position) -> Position:
    """The line of the flag that an error names; else the first."""
    for number, line in given:
        if line.partition("=")[0].partition(" ")[0] in error:
            return first._replace(line=number)
    return first


#: `KUBELET_EXTRA_ARGS=`, which a file of variables has before flags.
_VARIABLE = re.compile(r"(export\s+)?[A-Za-z_][A-Za-z0-9_]*=(?=[\"']?-)")
#: What MicroK8s' file of flags may name.
_SNAP = KUBERNETES.flag_files[0].variables
_FLAGS_OF_FILES = frozenset({"config", "config-dir", "kubeconfig", "root-dir"})


def of_command_line(path: str, text: str) -> Command | None:
    """A command line of a kubelet, or a file of flags or variables; None for any other text."""
    words: list[str] = []
    place: Position | None = None
    for variable, value in _SNAP.items():
        text = text.replace(f"${{{variable}}}", value)
    for number, line in enumerate(text.split("\n"), 1):
        given = _flags_of_line(line)
        if given is None:
            return None
        if given and place is None:
            place = Position(path, number, 1, len(line) + 1)
        words += given
    names = {word.lstrip("-").partition("=")[0].replace("_", "-") for word in words}
    if place is None or names.isdisjoint({*FLAG_FIELDS, *_FLAGS_OF_FILES}):
        return None
    return command_of(words, place)


def _flags_of_line(line: str) -> list[str] | None:
    """The flags of a line, none of an empty one or a comment; None where it has something else."""
    line = _VARIABLE.sub("", line.strip(), count=1)
    if not line or line.startswith("#"):
        return []
    try:
        words = shlex.split(line.removesuffix("\\"))
    except ValueError:
        return None
    if len(words) == 1 and " " in words[0]:  # a variable in quotes
        words = words[0].split()
    if words and words[0].rpartition("/")[2] == "kubelet":
        words = words[1:]
    return words if not words or words[0].startswith("-") else None
