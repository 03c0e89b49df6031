"""SARIF: places, fingerprints, and how much code hosts take."""

import json
from typing import Any

import pytest

from cpuplan import __version__
from cpuplan.diagnostics import Diagnostic, Severity
from cpuplan.diagnostics.codes import CODES
from cpuplan.diagnostics.source import Position
from cpuplan.render.diagnostics import notice, render
from cpuplan.render.diagnostics.report import Report, ordered

from .examples import ERROR, RAN, TWICE, WARNING, report


def sarif_run(*diagnostics: Diagnostic) -> Any:
    log = json.loads(render("sarif", Report(ordered(diagnostics))))
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
    divided = sarif_run(Diagnostic("CP8203", "m", ""))["tool"]["driver"]["rules"][0]
    assert (divided["id"], divided["deprecatedIds"]) == ("CP8203", ["CP872"])
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


def test_sarif_holds_no_more_than_code_hosts_take_and_says_so() -> None:
    many = [WARNING._replace(position=Position(f"{number}", 1, 1)) for number in range(25_001)]
    run = json.loads(render("sarif", report(*many, ERROR)))["runs"][0]
    assert len(run["results"]) == 25_000
    assert run["results"][0]["ruleId"] == "CP102"
    (told,) = run["invocations"][0]["toolExecutionNotifications"]
    assert told["message"]["text"].endswith("left out: 2 warnings")
    few = report(*many[:5_001])
    assert notice("sarif", few) == "GitHub shows 5000 of 5001 findings, worst first"
    assert notice("sarif", report(*many[:5_000])) == ""
