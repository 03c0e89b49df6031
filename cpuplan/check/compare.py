"""The settings of a component against the values of its files."""

import re
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any, NamedTuple

from cpuplan.check.subject import Subject
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.setting import Value
from cpuplan.source import Position

#: `(at line 2, column 16)` of tomllib, `: line 1 column 2 (char 1)` of json, `(line 1, column 2)`
#: of our own for YAML.
_STOPPED = re.compile(r"(?:\(?at )?line (\d+),? column (\d+)")
#: The kubelet and CRI-O do not start with a drop-in that they find and cannot open.
LINK_TO_NOTHING = "it is a broken link"
_MAX_SHOWN = 300  # characters of a value
#: What a parser quotes of a file may be a token or a password.
_QUOTED = re.compile(r"""(["'`])(?:(?!\1).)*\1""", re.DOTALL)

Values = dict[str, Value]


class FileValues(NamedTuple):
    """The values that hold after all files, and the last file that gave each."""

    values: Values
    files: dict[str, str]


def merged(
    subject: Subject,
    paths: Sequence[str],
    code: str,
    parse: Callable[[str], Values],
    merge: Callable[[Values, Values], Values],
) -> Generator[Diagnostic, None, FileValues]:
    """The values of files in their order; yields `code` for each file that cannot be parsed."""
    values: Values = {}
    files: dict[str, str] = {}
    for path in paths:
        text = subject.root.read(path)
        try:
            if text is None and not subject.root.refused:
                raise ValueError(LINK_TO_NOTHING)
            own = parse(text or "")
        except (ValueError, RecursionError) as error:
            place, problem = unreadable(subject, path, error)
            yield diagnose(code, place, path=place.path, problem=problem)
            continue
        values = merge(values, own)
        files |= dict.fromkeys(own, path)
    return FileValues(values, files)


def compare(
    subject: Subject, component: str, actual: FileValues, folder: str, codes: tuple[str, str]
) -> Iterator[Diagnostic]:
    """Every setting of `component` that no file of `folder` gives, or that has another value.

    `codes` are those of the two findings. None where a file could not be read: it may give any
    setting.
    """
    if subject.root.refused:
        return
    lacks, differs = codes
    missing = []
    for setting in subject.plan.settings.of(component):
        key, labels = setting.key, subject.labels(setting.reasons)
        if key not in actual.values:
            missing.append(setting)
        elif actual.values[key] != setting.value:
            place = line_of(subject, actual.files.get(key, folder), key)
            value, wanted = shown(actual.values[key]), shown(setting.value)
            yield diagnose(differs, place, labels=labels, key=key, found=value, wanted=wanted)
    if missing:
        # One finding for all: without the compiled file it is everything.
        settings = "; ".join(f"{setting.key}: {shown(setting.value)}" for setting in missing)
        labels = subject.all_labels(missing)
        yield diagnose(lacks, subject.place(folder), labels=labels, settings=settings)


def unreadable(subject: Subject, path: str, error: Exception) -> tuple[Position, str]:
    """Where a parser of YAML, TOML or JSON stopped, and its words without that place."""
    text = _QUOTED.sub("...", str(error)[:_MAX_SHOWN])
    match = _STOPPED.search(text)
    if match is None:
        return subject.place(path), text
    place = Position(subject.root.shown(path), int(match[1]), int(match[2]))
    return place, text[: match.start()].rstrip(" :(")


def shown(value: Any) -> str:
    """A value as people write it."""
    if isinstance(value, dict):
        return ", ".join(f"{key}: {shown(item)}" for key, item in value.items())
    if isinstance(value, tuple):
        return ", ".join(map(shown, value))
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."


def line_of(subject: Subject, path: str, key: str) -> Position:
    """The first line of a file that names the key, or its last part (`memory.available`)."""
    lines = (subject.root.read(path) or "").splitlines()
    for name in (key, key.partition(".")[2], key.rpartition(".")[2]):
        for number, line in enumerate(lines, start=1):
            column = line.lower().find(name.lower()) if name else -1
            if column >= 0:
                end = len(line.rstrip()) + 1
                return Position(subject.root.shown(path), number, column + 1, end)
    return subject.place(path)
