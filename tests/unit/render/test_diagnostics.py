"""Diagnostics as text, JSON, SARIF and in the formats of code hosts."""

import json
import re
from collections.abc import Sequence
from typing import Any

import pytest

from cpuplan import __version__
from cpuplan.codes import CODES
from cpuplan.diagnostics import Diagnostic, Label, Severity, diagnose
from cpuplan.render import formats
from cpuplan.render.formats import text as text_format
from cpuplan.render.formats.report import Report, ordered
from cpuplan.source import Position

RAN = "intents/ran.yaml"
FILES = {
    RAN: [
        "spec:",
        "  pools:",
        '    shared: "2"',
        "",
        "    # two threads",
        '    shared: "4"',
        "    isolated: rest",
    ],
    "inventories/a.yaml": ["cores: 28"],
    "wide.yaml": [
        "\tname\t: 1",
        "日本語: ko\u0301nig",
        "x: " + "0123456789" * 20,
        "a: \x1b[31m\u202eb\u200dc",
        "crlf: 1\r\n",
        "日本語" * 40 + " x",
    ],
}


def read_lines(path: str) -> Sequence[str]:
    if path not in FILES:
        raise FileNotFoundError(path)
    return FILES[path]


def text(*diagnostics: Diagnostic, colour: bool = False) -> str:
    return text_format.render(Report(ordered(diagnostics)), colour=colour, read_lines=read_lines)


def frame(position: Position, *labels: Label) -> list[str]:
    """Only the place and the source lines."""
    rows = text(Diagnostic("CP102", "m", "", position, "here", labels)).splitlines()
    return rows[1:-3]


TWICE = diagnose(
    "CP102",
    Position(RAN, 6, 5, 11),
    key="shared",
    label="again here",
    labels=[
        Label(Position(RAN, 3, 5, 11), "first here"),
        Label(Position("inventories/a.yaml", 1, 8, 10), "28 cores"),
        Label(Position("gone.yaml", 3, 1, 2), "also here"),
    ],
)


def test_text() -> None:
    assert (
        text(
            TWICE, Diagnostic("CP109", "two\nlines", "do this\nor that", severity=Severity.WARNING)
        )
        == """\
error[CP102]: key 'shared' appears twice in one mapping
  --> intents/ran.yaml:6:5
   3 |     shared: "2"
     |     ------ first here
 ...
   6 |     shared: "4"
     |     ^^^^^^ again here
  ::: inventories/a.yaml:1:8
   1 | cores: 28
     |        -- 28 cores
  ::: gone.yaml:3:1: also here
  help: keep only one of them
  docs: cpuplan explain CP102

warning[CP109]: two
  lines
  help: do this
        or that
  docs: cpuplan explain CP109

1 error, 1 warning
"""
    )


def test_nothing() -> None:
    assert text() == ""


def test_colour_only_adds() -> None:
    coloured = text(TWICE, colour=True)
    assert coloured.splitlines()[0] == (
        "\x1b[1;31merror[CP102]\x1b[0m\x1b[1m: key 'shared' appears twice in one mapping\x1b[0m"
    )
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == text(TWICE)


@pytest.mark.parametrize(
    ("position", "rows"),
    [
        pytest.param(
            Position("wide.yaml", 1, 9, 10),
            ["   1 |     name    : 1", "     |               ^ here"],
            id="tab",
        ),
        pytest.param(
            Position("wide.yaml", 1, 1, 2),
            ["   1 |     name    : 1", "     | ^^^^ here"],
            id="on a tab",
        ),
        pytest.param(
            Position("wide.yaml", 2, 6, 12),
            ["   2 | 日本語: ko\u0301nig", "     |         ^^^^^ here"],
            id="wide",
        ),
        pytest.param(
            Position("wide.yaml", 2, 2, 3),
            ["   2 | 日本語: ko\u0301nig", "     |   ^^ here"],
            id="on a wide one",
        ),
        pytest.param(
            Position("wide.yaml", 3, 104, 107),
            [
                "   3 | …" + ("0123456789" * 10)[:98] + "…",
                "     | " + " " * 31 + "^^^ here",
            ],
            id="long",
        ),
        pytest.param(
            Position("wide.yaml", 3, 1, 2),
            ["   3 | x: " + ("0123456789" * 10)[:95] + "…", "     | ^ here"],
            id="start of a long one",
        ),
        pytest.param(
            Position("wide.yaml", 3, 203, 204),
            ["   3 | …" + ("0123456789" * 10)[2:], "     | " + " " * 98 + "^ here"],
            id="end of a long one",
        ),
        pytest.param(
            Position("wide.yaml", 6, 122, 123),
            ["   6 | …" + "日本語" * 16 + " x", "     | " + " " * 98 + "^ here"],
            id="wide long",
        ),
        pytest.param(
            Position("wide.yaml", 4, 9, 10),
            ["   4 | a: \\x1b[31m\\u202eb\\u200dc", "     |            ^^^^^^ here"],
            id="unsafe",
        ),
        pytest.param(
            Position("wide.yaml", 5, 7, 8), ["   5 | crlf: 1", "     |       ^ here"], id="line end"
        ),
        pytest.param(
            Position("wide.yaml", 5, 99, 120),
            ["   5 | crlf: 1", "     |        ^ here"],
            id="beyond the line",
        ),
        pytest.param(Position(RAN, 2, 3), ["   2 |   pools:", "     |   ^ here"], id="no end"),
        pytest.param(
            Position(RAN, 2, 3, 99),
            ["   2 |   pools:", "     |   ^^^^^^ here"],
            id="end beyond the line",
        ),
        pytest.param(Position(RAN, 4, 1, 2), ["   4 |", "     | ^ here"], id="empty line"),
    ],
)
def test_markers(position: Position, rows: list[str]) -> None:
    assert frame(position) == [f"  --> {position}", *rows]


def test_place_that_cannot_be_read() -> None:
    assert frame(Position(RAN, 99, 1)) == [f"  --> {RAN}:99:1: here"]
    assert frame(Position("gone.yaml", 1, 1)) == ["  --> gone.yaml:1:1: here"]


def test_not_utf_8() -> None:
    def refuse(path: str) -> Sequence[str]:
        raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, path)

    report = Report((Diagnostic("CP108", "m", "", Position("a", 1, 1)),))
    assert text_format.render(report, read_lines=refuse) == (
        "error[CP108]: m\n  --> a:1:1\n  docs: cpuplan explain CP108\n\n1 error\n"
    )


def test_one_line_between_is_shown() -> None:
    assert frame(Position(RAN, 5, 7, 10), Label(Position(RAN, 7, 5, 13), "there")) == [
        "  --> intents/ran.yaml:5:7",
        "   5 |     # two threads",
        "     |       ^^^ here",
        '   6 |     shared: "4"',
        "   7 |     isolated: rest",
        "     |     -------- there",
    ]


def test_two_markers_on_one_line() -> None:
    assert frame(Position(RAN, 7, 5, 13), Label(Position(RAN, 7, 15, 19), "there")) == [
        "  --> intents/ran.yaml:7:5",
        "   7 |     isolated: rest",
        "     |     ^^^^^^^^ here",
        "     |               ---- there",
    ]


def test_two_markers_on_a_long_line_have_a_window_each() -> None:
    rows = frame(Position("wide.yaml", 3, 150, 151), Label(Position("wide.yaml", 3, 1, 2), "key"))
    assert rows == [
        "  --> wide.yaml:3:150",
        "   3 | x: " + ("0123456789" * 10)[:95] + "…",
        "     | - key",
        "   3 | …" + ("0123456789" * 11)[2:100],
        "     | " + " " * 45 + "^ here",
    ]


def test_far_label_of_the_same_file_has_its_own_frame() -> None:
    def read(path: str) -> Sequence[str]:
        return [f"line {number}" for number in range(1, 30)]

    diagnostic = Diagnostic(
        "CP102", "m", "", Position("a", 20, 1, 5), labels=(Label(Position("a", 11, 6, 8), "far"),)
    )
    assert text_format.render(Report((diagnostic,)), read_lines=read).splitlines()[1:-3] == [
        "  --> a:20:1",
        "  20 | line 20",
        "     | ^^^^",
        "  ::: a:11:6",
        "  11 | line 11",
        "     |      -- far",
    ]


def test_sorted_by_place_then_code() -> None:
    places = [
        Diagnostic("CP102", "none", ""),
        Diagnostic("CP102", "5", "", Position("b", 1, 1)),
        Diagnostic("CP103", "4", "", Position("a", 10, 1)),
        Diagnostic("CP102", "3", "", Position("a", 10, 1)),
        Diagnostic("CP109", "2", "", Position("a", 9, 8)),
        Diagnostic("CP109", "1", "", Position("a", 9, 7)),
    ]
    assert re.findall(r"]: (\w+)", text(*places)) == ["1", "2", "3", "4", "5", "none"]


def test_twenty_of_a_code_are_shown() -> None:
    shown = text(
        *(Diagnostic("CP103", f"number {n}", "", Position("a", n, 1)) for n in range(1, 51)), TWICE
    )
    assert shown.count("error[CP103]: number") == 20
    assert shown.endswith("\n\nerror[CP103]: and 30 more; -v shows them\n\n51 errors\n")


def test_json() -> None:
    report = Report(
        ordered([TWICE._replace(labels=TWICE.labels[:1]), Diagnostic("CP109", "m", "")])
    )
    assert json.loads(formats.render("json", report)) == {
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


def sarif_run(*diagnostics: Diagnostic) -> Any:
    log = json.loads(formats.render("sarif", Report(ordered(diagnostics))))
    assert log.keys() == {"$schema", "version", "runs"}
    assert log["version"] == "2.1.0"
    return log["runs"][0]


def test_sarif() -> None:
    run = sarif_run(TWICE, Diagnostic("CP109", "m", "", severity=Severity.NOTE))
    assert run["tool"]["driver"]["rules"][0] == {
        "id": "CP102",
        "name": "DuplicateKey",
        "shortDescription": {"text": "duplicate key"},
        "fullDescription": {"text": CODES["CP102"].about},
        "help": {"text": f"{CODES['CP102'].about}\n\nMore: cpuplan explain CP102"},
        "defaultConfiguration": {"level": "error"},
    }
    assert [rule["id"] for rule in run["tool"]["driver"].pop("rules")] == ["CP102", "CP109"]
    assert run == {
        "tool": {"driver": {"name": "cpuplan", "version": __version__}},
        "invocations": [{"executionSuccessful": True}],
        "originalUriBaseIds": {
            "SRCROOT": {"description": {"text": "The top folder of the repository."}}
        },
        "columnKind": "unicodeCodePoints",
        "results": [
            {
                "ruleId": "CP102",
                "ruleIndex": 0,
                "level": "error",
                "message": {
                    "text": "key 'shared' appears twice in one mapping\nhelp: keep only one of them"
                },
                "locations": [location(RAN, 6, 5, 11, "again here")],
                "relatedLocations": [
                    {"id": 1, **location(RAN, 3, 5, 11, "first here")},
                    {"id": 2, **location("inventories/a.yaml", 1, 8, 10, "28 cores")},
                    {"id": 3, **location("gone.yaml", 3, 1, 2, "also here")},
                ],
                "partialFingerprints": {"cpuplan/v2": "420400cd753f725dfe670957e97dfd4a"},
            },
            {
                "ruleId": "CP109",
                "ruleIndex": 1,
                "level": "note",
                "message": {"text": "m"},
                "locations": [
                    {
                        "physicalLocation": {
                            "artifactLocation": {"uri": ".", "uriBaseId": "SRCROOT"},
                            "region": {"startLine": 1},
                        }
                    }
                ],
                "partialFingerprints": {"cpuplan/v2": "268074f2ff99272c2885ae7be84d33ca"},
            },
        ],
    }


def location(path: str, line: int, column: int, end: int, message: str) -> dict[str, Any]:
    region = {"startLine": line, "startColumn": column, "endColumn": end}
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": path, "uriBaseId": "SRCROOT"},
            "region": region,
        },
        "message": {"text": message},
    }


def test_sarif_without_findings() -> None:
    assert sarif_run()["results"] == []


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("intents/a b.yaml", "intents/a%20b.yaml"),
        ("./x/../intents/ä.yaml", "intents/%C3%A4.yaml"),
        ("a:b.yaml", "a%3Ab.yaml"),
        ("/etc/a.yaml", "file:///etc/a.yaml"),
    ],
)
def test_sarif_uri(path: str, uri: str) -> None:
    place = sarif_run(Diagnostic("CP102", "m", "", Position(path, 1, 2)))["results"][0][
        "locations"
    ][0]
    assert place == {
        "physicalLocation": {
            "artifactLocation": {"uri": uri}
            if uri.startswith("file:")
            else {"uri": uri, "uriBaseId": "SRCROOT"},
            "region": {"startLine": 1, "startColumn": 2},
        }
    }


def test_sarif_fingerprints_hold_when_lines_move_and_differ_otherwise() -> None:
    def fingerprints(*places: tuple[str, int, str]) -> list[str]:
        run = sarif_run(
            *(
                Diagnostic("CP102", message, "", Position(path, line, 1))
                for path, line, message in places
            )
        )
        return [result["partialFingerprints"]["cpuplan/v2"] for result in run["results"]]

    before = fingerprints(("a", 1, "x"), ("a", 2, "x"), ("a", 3, "y"), ("b", 1, "x"))
    assert fingerprints(("a", 11, "x"), ("a", 12, "x"), ("a", 13, "y"), ("b", 11, "x")) == before
    assert len(set(before)) == 4
