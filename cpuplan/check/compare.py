"""Settings of a component against what its files say together."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from cpuplan.check.subject import Subject
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.setting import Value
from cpuplan.source import Position

#: `(at line 2, column 16)` of tomllib, `: line 1 column 2 (char 1)` of json, `(line 1, column 2)`
#: of our own for YAML.
_STOPPED = re.compile(r"(?:\(?at )?line (\d+),? column (\d+)")


#: The kubelet and CRI-O do not start with a drop-in that they find and cannot open.
LINK_TO_NOTHING = "it is a link to nothing"
_MAX_SHOWN = 300  # characters of a value
#: What a parser quotes of a file may be a token or a password.
_QUOTED = re.compile(r"""(["'`])(?:(?!\1).)*\1""", re.DOTALL)


class Found(NamedTuple):
    """The values that hold after all files, and the last file that gave each."""

    values: dict[str, Value]
    written: dict[str, str]


def compare(
    subject: Subject, component: str, found: Found, folder: str, codes: tuple[str, str]
) -> Iterator[Diagnostic]:
    """Every setting of `component` that no file of `folder` gives (first code), or gives otherwise
    (second code).

    Nothing where a file could not be read: it may give any of them.
    """
    if subject.root.refused:
        return
    lacks, differs = codes
    missing = []
    for setting in subject.plan.settings.of(component):
        labels = subject.labels(setting.reasons)
        wanted = shown(setting.value)
        if setting.key not in found.values:
            missing.append(setting)
        elif found.values[setting.key] != setting.value:
            place = line_of(subject, found.written.get(setting.key, folder), setting.key)
            value = shown(found.values[setting.key])
            yield diagnose(
                differs, place, labels=labels, key=setting.key, found=value, wanted=wanted
            )
    if missing:
        # One finding for all: without the compiled file it is everything.
        settings = "; ".join(f"{setting.key}: {shown(setting.value)}" for setting in missing)
        place = Position(subject.root.shown(folder), 1, 1)
        yield diagnose(lacks, place, labels=subject.all_labels(missing), settings=settings)


def unreadable(subject: Subject, path: str, error: Exception) -> tuple[Position, str]:
    """Where a parser of YAML, TOML or JSON stopped, and its words without that place."""
    text = _QUOTED.sub("...", str(error)[:_MAX_SHOWN])
    name = subject.root.shown(path)
    match = _STOPPED.search(text)
    if match is None:
        return Position(name, 1, 1), text
    return Position(name, int(match[1]), int(match[2])), text[: match.start()].rstrip(" :(")


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
    """The first line of a file that names the key, or else the last part of it
    (`memory.available`).
    """
    lines = (subject.root.read(path) or "").splitlines()
    for name in (key, key.partition(".")[2], key.rpartition(".")[2]):
        for number, line in enumerate(lines, start=1):
            column = line.lower().find(name.lower()) if name else -1
            if column >= 0:
                return Position(
                    subject.root.shown(path), number, column + 1, len(line.rstrip()) + 1
                )
    return Position(subject.root.shown(path), 1, 1)
