"""Whether a value or a file of an object says what was compiled, however it is written."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from cpuplan.base.cpuset import CpuSet, CpuSetError
from cpuplan.base.foreign import read_toml
from cpuplan.diagnostics.source import Field
from cpuplan.upstream.kubernetes.durations import is_duration, parse_duration
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.quantity import parse


def is_alike(actual: Any, wanted: Any) -> bool:
    """Whether two values are the same to who reads them: a list of CPUs, an amount, a duration."""
    return not any(differences(actual, wanted))


def differences(actual: Any, wanted: Any, at: Field = ()) -> Iterator[tuple[Field, Any, Any]]:
    """Each field that is not as wanted, with what is found and wanted there.

    What is not wanted does not count: the API server adds defaults. An empty value is as good as
    none. Lists must have the same items in the same order.
    """
    if isinstance(wanted, Mapping) and (isinstance(actual, Mapping) or actual is None):
        known = actual or {}
        for key, value in wanted.items():
            yield from differences(known.get(key), value, (*at, key))
        return
    if isinstance(wanted, list | tuple) and isinstance(actual, list | tuple):
        if len(actual) == len(wanted):
            for index, (element, other) in enumerate(zip(actual, wanted, strict=True)):
                yield from differences(element, other, (*at, index))
            return
    elif _is_same(actual, wanted):
        return
    yield at, actual, wanted


def _is_same(actual: Any, wanted: Any) -> bool:
    if bool(actual == wanted) and isinstance(actual, bool) == isinstance(wanted, bool):
        return True
    if _is_empty(actual) and _is_empty(wanted):
        return True
    if isinstance(wanted, bool) or isinstance(actual, bool) or actual is None:
        return False
    if isinstance(wanted, CpuSet) or isinstance(actual, CpuSet):
        return bool(_cpus(actual) == _cpus(wanted))
    if isinstance(wanted, str | int) and isinstance(actual, str | int):
        text, other = str(actual).rstrip("\n"), str(wanted).rstrip("\n")
        return text == other or bool(_measure(text) == _measure(other))
    return False


def _is_empty(value: Any) -> bool:
    """What the API server leaves out: null, and empty texts, lists and maps."""
    return value is None or (isinstance(value, str | list | tuple | Mapping) and not value)


def _cpus(value: Any) -> Any:
    try:
        return CpuSet.parse_kernel(value) if isinstance(value, str) else value
    except CpuSetError:
        return value


def _measure(text: str) -> Any:
    """An amount or a duration as a number; any other text as it is."""
    if is_duration(text):
        return ("duration", parse_duration(text))
    try:
        return ("amount", parse(text).nano)
    except KubeletError:
        return text


_COMMENT = ("#", ";")
_CRIO = re.compile(r"/etc/(crio|containers|containerd)/.*\Z")
#: Programs, which the operator writes in its own words.
_PROGRAMS = "/usr/local/bin/"


def says_the_same(path: str, text: str, other: str) -> bool:
    """Whether the file at `path` means the same with either text."""
    return text == other or _meaning(path, text) == _meaning(path, other)


def is_program(path: str) -> bool:
    """Whether a file is run, and not read."""
    return path.startswith(_PROGRAMS)


def first_difference(actual: str, wanted: str) -> tuple[str, str]:
    """The first lines that differ, of those that say something."""
    lines, own = _lines(actual), _lines(wanted)
    pairs = zip(lines, own, strict=False)
    at = next(
        (at for at, (line, two) in enumerate(pairs) if line != two), min(len(lines), len(own))
    )
    return _line(lines, at), _line(own, at)


def _line(lines: list[str], at: int) -> str:
    return lines[at] if at < len(lines) else "no further line"


def _meaning(path: str, text: str) -> Any:
    try:
        if text.lstrip().startswith("{"):
            return json.loads(text)
        if _CRIO.match(path):
            return read_toml(text)
    except (ValueError, RecursionError):
        return text
    return _lines(text)


def _lines(text: str) -> list[str]:
    """The lines that are neither blank nor comments; `key = value` as `key=value`."""
    lines = (line.strip() for line in text.splitlines())
    return [
        re.sub(r"\A([\w.:@-]+)\s*=\s*", r"\1=", line)
        for line in lines
        if line and not line.startswith(_COMMENT)
    ]
