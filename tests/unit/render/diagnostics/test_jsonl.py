"""JSON: a line for each finding."""

import json

from cpuplan.render import diagnostics

from .examples import ALL, report


def test_lines_of_json() -> None:
    rows = [
        json.loads(line)
        for line in diagnostics.render("jsonl", report(*ALL, elsewhere=2)).splitlines()
    ]
    assert [row["type"] for row in rows] == ["finding"] * 3 + ["summary"]
    counts = {"errors": 1, "warnings": 1, "notes": 1, "waived": 1, "elsewhere": 2}
    assert rows[-1] == {"type": "summary", "version": 1, **counts}
