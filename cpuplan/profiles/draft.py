"""An Intent that is made from a profile, with the place of each field in the profile."""

from collections.abc import Iterator
from typing import Any

from cpuplan.diagnostics import Diagnostic
from cpuplan.diagnostics.source import Field, Source


class IntentDraft:
    """Collects fields of the Intent, each with the field of the profile that it comes from."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.spec: dict[str, Any] = {}
        self.places: dict[Field, Field] = {("spec",): ("spec",)}
        self.diagnostics: list[Diagnostic] = []
        data: Any = source.data
        self.annotations: dict[str, Any] = (data.get("metadata") or {}).get("annotations") or {}

    def put(self, path: str, value: Any, origin: str) -> None:
        """Set `spec.<path>` unless the value is None; `origin` is the profile's path below spec."""
        if value is None:
            return
        *parents, key = path.split(".")
        data = self.spec
        for depth, parent in enumerate(parents, start=1):
            data = data.setdefault(parent, {})
            self.places.setdefault(("spec", *parents[:depth]), ("spec", *origin.split(".")[:1]))
        data[key] = value
        self.places["spec", *parents, key] = ("spec", *_path(origin))

    def annotate(self, path: tuple[str, ...], value: Any, annotation: str) -> None:
        """Set the field at `path` below spec; its place is that of the annotation."""
        data = self.spec
        for name in path[:-1]:
            data = data.setdefault(name, {})
        data[path[-1]] = value
        self.places["spec", *path] = ("metadata", "annotations", annotation)


def _path(origin: str) -> Iterator[str | int]:
    for part in origin.split("."):
        yield int(part) if part.isdecimal() else part
