"""The formats of code hosts: what each of them may hold, and what it must not lose."""

import json
from typing import Any
from xml.etree import ElementTree

import pytest

from cpuplan.diagnostics import Diagnostic, Label, Severity, Waiver, as_of, counting
from cpuplan.render import formats
from cpuplan.render.formats.report import Report, ordered
from cpuplan.render.grouping import grouped
from cpuplan.source import Position

PLACE = Position("a,b:c%d/é.yaml", 3, 5, 9)
NASTY = "50% of it,\r\nall: \x1b[31m\x00 ]]> <&\"'\ufffe\udc80"
ERROR = Diagnostic(
    "CP102", NASTY, "do: this,\nthen that", PLACE, "here", (Label(Position("x", 1, 1), "there"),)
)
WARNING = Diagnostic("CP221", "w", "", Position("out/x", 0, 0), severity=Severity.WARNING)
NOTE = Diagnostic("CP296", "n", "", severity=Severity.NOTE)
WAIVED = WARNING._replace(waiver=Waiver("on, purpose", "2031-01-01"), message="x")
ALL = (ERROR, WARNING, NOTE, WAIVED)


def report(*found: Diagnostic, **facts: Any) -> Report:
    return Report(ordered(found), command="validate", **facts)


def test_github_escapes_what_would_end_a_property_or_the_message() -> None:
    (line,) = formats.render("github", report(ERROR)).splitlines()
    head, _, text = line.removeprefix("::").partition("::")
    assert head == (
        "error file=a%2Cb%3Ac%25d/é.yaml,line=3,col=5,endLine=3,endColumn=9,title=CP102 duplicate key"
    )
    assert text.startswith("50%25 of it,\\r%0Aall: \\x1b[31m\\0 ]]> <&\"'")
    assert text.endswith("%0Ahelp: do: this,%0Athen that")


def test_github_tells_the_worst_first_and_what_it_will_not_show() -> None:
    lines = formats.render("github", report(*ALL, verbose=True)).splitlines()
    assert [line.split()[0] for line in lines] == ["::error", "::warning", "::notice", "::notice"]
    assert "file=out/x,title" in lines[1]
    assert lines[2].startswith("::notice title=CP296")
    assert lines[3].endswith("::x%0Awaived until 2031-01-01: on, purpose")
    assert formats.notice("github", report(*ALL)) == ""
    assert "ten" not in formats.notice("github", report(*[ERROR] * 11))
    assert formats.notice("github", report(*[ERROR] * 11)).startswith("GitHub shows 10 annotations")


@pytest.mark.parametrize(("strict", "failures"), [(False, 1), (True, 2)])
def test_junit(strict: bool, failures: int) -> None:
    text = formats.render("junit", report(*ALL, strict=strict, verbose=True))
    root = ElementTree.fromstring(text)  # noqa: S314 - made here
    (suite,) = root
    assert (root.tag, suite.tag, suite.get("name")) == (
        "testsuites",
        "testsuite",
        "cpuplan validate",
    )
    counts = {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "4", "failures": str(failures), "errors": "0", "skipped": "1"}
    assert len(suite.findall("testcase")) == 4
    assert len(list(suite.iter("failure"))) == failures
    assert [each.get("message") for each in suite.iter("skipped")] == [
        "waived until 2031-01-01: on, purpose"
    ]
    failed = next(case for case in suite if case.find("failure") is not None and case.get("line"))
    assert (failed.get("file"), failed.get("line"), failed.get("name")) == (
        PLACE.path,
        "3",
        f"CP102 {PLACE.path}:3:5",
    )


def test_junit_without_findings_has_a_case_that_passes() -> None:
    suite = ElementTree.fromstring(formats.render("junit", report()))[0]  # noqa: S314 - made here
    assert (suite.get("tests"), suite.get("failures"), len(suite[0])) == ("1", "0", 0)


def test_gitlab() -> None:
    found = json.loads(formats.render("gitlab", report(*ALL, ERROR, WARNING, verbose=True)))
    assert len({each["fingerprint"] for each in found}) == len(found) == 6
    assert {each["severity"] for each in found} == {"major", "minor", "info"}
    assert all(each["location"]["lines"]["begin"] >= 1 for each in found)
    assert all(
        each["location"]["path"] and each["description"] and each["check_name"] for each in found
    )


def test_lines_of_json() -> None:
    rows = [
        json.loads(line) for line in formats.render("jsonl", report(*ALL, elsewhere=2)).splitlines()
    ]
    assert [row["type"] for row in rows] == ["finding"] * 3 + ["summary"]
    counts = {"errors": 1, "warnings": 1, "notes": 1, "waived": 1, "elsewhere": 2}
    assert rows[-1] == {"type": "summary", "version": 1, **counts}


def test_sarif_holds_no_more_than_code_hosts_take_and_says_so() -> None:
    many = [WARNING._replace(position=Position(f"{number}", 1, 1)) for number in range(25_001)]
    run = json.loads(formats.render("sarif", report(*many, ERROR)))["runs"][0]
    assert len(run["results"]) == 25_000
    assert run["results"][0]["ruleId"] == "CP102"
    (told,) = run["invocations"][0]["toolExecutionNotifications"]
    assert told["message"]["text"].endswith("left out: 2 warnings")
    few = report(*many[:5_001])
    assert formats.notice("sarif", few) == "GitHub shows 5000 of 5001 findings, worst first"
    assert formats.notice("sarif", report(*many[:5_000])) == ""


def test_groups_are_of_one_code_and_folder() -> None:
    def stale(code: str, path: str) -> Diagnostic:
        return Diagnostic(code, f"../p/{path} is missing", "", Position(path, 0, 0))

    files = [stale("CP608", f"out/nodes/lab/a/etc/{number}") for number in range(5)]
    others = [stale("CP608", f"out/nodes/lab/b/{number}") for number in range(4)]
    changed = [stale("CP609", f"out/nodes/lab/a/{number}") for number in range(4)]
    found = grouped([*files, *others, *changed, ERROR])
    assert [each.stands_for for each in found] == [1, 5, *[1] * 8]
    assert (
        found[1].message
        == "../p/out/nodes/lab/a (5 files: etc/0, etc/1, etc/2 and 2 more) is missing"
    )


def test_what_counts_on_a_day() -> None:
    expired = WARNING._replace(code="CP295", after="2031-01-01")
    found = [ERROR, WAIVED, expired]
    assert as_of(found, "2031-01-01") == [ERROR, WAIVED]
    assert as_of(found, "2031-01-02") == [ERROR, WAIVED._replace(waiver=None), expired]
    assert counting(as_of(found, "2031-01-01"), strict=True) == [ERROR]
    assert len(counting(as_of(found, "2031-01-02"), strict=True)) == 3
    assert counting([WARNING, NOTE], strict=True) == [WARNING]
