"""JSON: one document."""

import json

from cpuplan.diagnostics import Diagnostic
from cpuplan.render import diagnostics
from cpuplan.render.diagnostics.report import Report, ordered

from .examples import RAN, TWICE


def test_json() -> None:
    report = Report(
        ordered([TWICE._replace(labels=TWICE.labels[:1]), Diagnostic("CP109", "m", "")])
    )
    assert json.loads(diagnostics.render("json", report)) == {
        "version": 1,
        "diagnostics": [
            {
                "code": "CP102",
                "severity": "error",
                "message": "key 'shared' appears twice in one mapping",
                "remedy": "keep only one of them",
                "file": RAN,
                "line": 6,
                "column": 5,
                "endColumn": 11,
                "field": "",
                "label": "again here",
                "labels": [
                    {"file": RAN, "line": 3, "column": 5, "endColumn": 11, "message": "first here"}
                ],
                "classes": [],
                "count": 1,
                "fingerprint": "420400cd753f725dfe670957e97dfd4a",
                "waived": None,
                "docs": "cpuplan explain CP102",
            },
            {
                "code": "CP109",
                "severity": "error",
                "message": "m",
                "remedy": "",
                "file": None,
                "line": None,
                "column": None,
                "endColumn": None,
                "field": "",
                "label": "",
                "labels": [],
                "classes": [],
                "count": 1,
                "fingerprint": "268074f2ff99272c2885ae7be84d33ca",
                "waived": None,
                "docs": "cpuplan explain CP109",
            },
        ],
        "summary": {"errors": 2, "warnings": 0, "notes": 0, "waived": 0, "elsewhere": 0},
    }
