"""What the node tuning operator of each release makes of the same PerformanceProfiles
(vectors/nto/releases): predictions of objects and boot arguments, admission, fields, gates.
"""

import gzip
import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from tests.conformance import nto_release_objects, nto_release_tables
from tests.conformance.comparing import judged

Line = dict[str, Any]
Judge = Callable[[Path, Line], Iterator[str]]


def run(paths: list[Path]) -> Iterator[tuple[str, list[str]]]:
    """(vector, failures): one vector for each case, gate state and release, or line of a table."""
    for path in paths or [nto_release_objects.VECTORS]:
        files = sorted(path.rglob("*.jsonl*")) if path.is_dir() else [path]
        for file in files:
            if file.parent.name == "render":
                yield from _judged(file, nto_release_objects.parts)
            elif table := nto_release_tables.TABLES.get(file.name):
                yield from _judged(file, table)


def _judged(
    path: Path, parts: Callable[[Path, Line], Iterator[tuple[str, Judge]]]
) -> Iterator[tuple[str, list[str]]]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as lines:
        for number, text in enumerate(lines, start=1):
            line = json.loads(text)
            for name, judge in parts(path, line):
                failures = judged("", partial(judge, path, line))
                place = f"{path}:{number}: {name}: "
                yield f"{path.name}:{name}", [place + what.lstrip(": ") for what in failures]
