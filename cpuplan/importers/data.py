"""YAML and JSON that other programs wrote, as plain values; a bad text is one DataError.

These files come from anywhere, and only a few values of them are wanted. So, unlike `read.yaml`,
this reader takes all of YAML that tools emit, keeps plain scalars as their texts, and no places.
"""

import codecs
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cpuplan.base.cpuset import MAX_CPU, CpuSet
from cpuplan.diagnostics import diagnose
from cpuplan.importers.packed_files import ArchiveError, read_file, too_large, unpack

MAX_BYTES = 128 * 1024 * 1024
MAX_DEPTH = 100
MAX_VALUES = 3_000_000  # `kubectl get nodes -o json` has about 600 for each node
MAX_COMPLAINTS = 20  # of a made-up file, these are enough to see that it is one
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_NUMBER = re.compile(r"-?[0-9]{1,18}")


class DataError(ValueError):
    """A text that is neither YAML nor JSON, or too much of it."""


class Complaints(list[Any]):
    """Diagnostics on values of one file that are not what they should be."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def add(self, place: str, value: object, problem: str) -> None:
        """Note that `value` at `place` of the file cannot be used."""
        if len(self) < MAX_COMPLAINTS:
            path = f"{self.name}: {place}"
            self.append(diagnose("CP125", path=path, text=clip(value), problem=problem))


def clip(value: object) -> str:
    """The beginning of a value's text."""
    if isinstance(value, str):
        return value.strip()[:40]
    return f"{value!r:.40}" if isinstance(value, int | float | None) else "..."


def read(path: Path) -> list[Any]:
    """The documents in the file at `path`, which may be compressed. Raises ArchiveError."""
    data = unpack(read_file(path, MAX_BYTES), str(path))
    if len(data) > MAX_BYTES:
        raise too_large(str(path), MAX_BYTES, "bytes")
    try:
        return parse(decode(data))
    except DataError as error:
        raise ArchiveError(diagnose("CP121", path=path, problem=str(error))) from None


def decode(data: bytes) -> str:
    """Text in UTF-8, or in UTF-16 as `>` in PowerShell writes it; other bytes read as U+FFFD."""
    if data.startswith(_UTF_16):
        return data.decode("utf-16", "replace")
    return data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace")


def parse(text: str) -> list[Any]:
    """The documents of a text: JSON values in a row, or a stream of YAML. Raises DataError."""
    if text.lstrip()[:1] not in ("{", "["):
        return _parse_yaml(text)
    # Each value but the first of its container follows a comma; they are counted before any is
    # made.
    if sum(map(text.count, ",[{")) > MAX_VALUES:
        raise DataError(f"it has more than {MAX_VALUES:,} keys and values")
    try:
        return list(_parse_json(text))
    except RecursionError:
        raise DataError(f"it is nested deeper than {MAX_DEPTH} levels") from None
    except ValueError as error:
        try:
            return _parse_yaml(text)  # YAML's flow style, or JSON with comments
        except DataError:
            raise DataError(f"it is not valid JSON: {str(error)[:80]}") from None


def _parse_json(text: str) -> Iterator[Any]:
    import json

    decoder = json.JSONDecoder()
    space = re.compile(r"\s*")
    at = len(text) - len(text.lstrip())
    while at < len(text):
        value, at = decoder.raw_decode(text, at)
        yield whole(value, text)
        match = space.match(text, at)
        at = match.end() if match else len(text)


def whole(value: Any, text: str) -> Any:
    """The value of the JSON `text`, with U+FFFD for halves of characters as in Go's encoding/json.

    UTF-8 has no such halves.
    """
    return _whole(value) if "\\ud" in text or "\\uD" in text else value


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_whole(key): _whole(item) for key, item in value.items()}
    return [_whole(item) for item in value] if isinstance(value, list) else value


def _parse_yaml(text: str) -> list[Any]:
    import yaml

    from cpuplan.base.yaml_values import Limits
    from cpuplan.importers import texts

    try:
        return texts.parse(text, Limits(MAX_VALUES, MAX_DEPTH))
    except yaml.YAMLError as error:
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        raise DataError(f"it is not valid YAML: {problem}") from None
    except ValueError as error:
        raise DataError(str(error)) from None


def mapping(value: object) -> dict[str, Any]:
    """`value` if it is a mapping, else an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: object) -> list[dict[str, Any]]:
    """The mappings in a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def number(value: object, least: int, most: int) -> int | None:
    """A whole number within limits, also one that stands as text; else None."""
    if isinstance(value, str):
        value = int(value) if _NUMBER.fullmatch(value) else None
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        return None
    return value


def cpus_of(value: object) -> CpuSet | None:
    """The CPUs of a list of numbers; None for another value, an empty list and doubled CPUs."""
    numbers = [number(item, 0, MAX_CPU) for item in value] if isinstance(value, list) else []
    cpus = CpuSet(cpu for cpu in numbers if cpu is not None)
    return cpus if cpus and len(cpus) == len(numbers) else None
