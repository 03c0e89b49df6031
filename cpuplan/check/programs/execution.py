"""The command of a unit as systemd runs it: ExecStart= with its variables (systemd.service(5))."""

import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from cpuplan.base import nodetext
from cpuplan.check.services.unitlines import Line, added

#: Before the program: no failure, other rights, no environment, another argv[0].
_PREFIXES = "@-:+!|"
_WORD = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)\Z")
_INSIDE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}|\$\$|%%")


class Execution(NamedTuple):
    """What a unit runs: the words, the line that says so, the environment and its files."""

    words: tuple[str, ...]
    line: Line
    environment: Mapping[str, str]
    files: tuple[str, ...] = ()


def execution(lines: Iterable[Line], read: Callable[[str], str | None]) -> Execution | None:
    """What the lines of a unit run last; None where they run nothing.

    `read` gives the text of an environment file; where there is none, its variables are empty.
    """
    service = [line for line in lines if line.section == "Service"]
    started = added(service, "ExecStart")
    if not started:
        return None
    values = _environment(service, read)
    program = started[-1].value
    words = _split(program.lstrip(_PREFIXES))
    if program[: len(program) - len(program.lstrip(_PREFIXES))].count("@"):
        words = [words[0], *words[2:]]
    found = tuple(word for each in words for word in _expand(each, values))
    files = tuple(line.value.removeprefix("-").lstrip("/") for line in _files(service))
    return Execution(found, started[-1], values, files)


def _environment(service: Iterable[Line], read: Callable[[str], str | None]) -> dict[str, str]:
    """Environment=, then the files of EnvironmentFile=, which win."""
    lines = list(service)
    values: dict[str, str] = {}
    for line in added(lines, "Environment"):
        for word in _split(line.value):
            name, equals, value = word.partition("=")
            values |= {name: value} if equals else {}
    for line in _files(lines):
        values |= variables(read(line.value.removeprefix("-")) or "")
    return values


def _files(service: Iterable[Line]) -> list[Line]:
    return added(service, "EnvironmentFile")


def variables(text: str) -> dict[str, str]:
    """The variables of an environment file: `NAME=value`, with or without quotes."""
    values: dict[str, str] = {}
    for line in nodetext.lines(text.replace("\\\n", "")):
        name, equals, value = line.strip().partition("=")
        if equals and not name.startswith(("#", ";")):
            values[name.strip()] = " ".join(_split(value)) if _is_quoted(value) else value.strip()
    return values


def _is_quoted(value: str) -> bool:
    return value.strip()[:1] in ("'", '"')


def _split(text: str) -> list[str]:
    """Words with quotes taken off; of quotes that do not end, as they are."""
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def _expand(word: str, values: Mapping[str, str]) -> list[str]:
    """`$NAME` alone gives words, none where it is unset; `${NAME}` inside gives text."""
    alone = _WORD.match(word)
    if alone:
        return _split(values.get(alone[1], ""))
    return [_INSIDE.sub(lambda match: _value(match, values), word)]


def _value(match: re.Match[str], values: Mapping[str, str]) -> str:
    return values.get(match[1], "") if match[1] else match[0][0]
