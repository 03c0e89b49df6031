"""JUnit's XML."""

from xml.etree import ElementTree

import pytest

from cpuplan.render import diagnostics

from .examples import ALL, PLACE, report


@pytest.mark.parametrize(("strict", "failures"), [(False, 1), (True, 2)])
def test_junit(strict: bool, failures: int) -> None:
    text = diagnostics.render("junit", report(*ALL, strict=strict, verbose=True))
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
    assert [case.get("message") for case in suite.iter("skipped")] == [
        "waived until 2031-01-01: on, purpose"
    ]
    failed = next(case for case in suite if case.find("failure") is not None and case.get("line"))
    assert (failed.get("file"), failed.get("line"), failed.get("name")) == (
        PLACE.path,
        "3",
        f"CP102 {PLACE.path}:3:5",
    )


def test_junit_without_findings_has_a_case_that_passes() -> None:
    suite = ElementTree.fromstring(diagnostics.render("junit", report()))[0]  # noqa: S314 - made here
    assert (suite.get("tests"), suite.get("failures"), len(suite[0])) == ("1", "0", 0)
