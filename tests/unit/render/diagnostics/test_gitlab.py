"""Code Quality reports of GitLab."""

import json

from cpuplan.render import diagnostics

from .examples import ALL, ERROR, WARNING, report


def test_gitlab() -> None:
    findings = json.loads(diagnostics.render("gitlab", report(*ALL, ERROR, WARNING, verbose=True)))
    assert len({finding["fingerprint"] for finding in findings}) == len(findings) == 6
    assert {finding["severity"] for finding in findings} == {"major", "minor", "info"}
    assert all(finding["location"]["lines"]["begin"] >= 1 for finding in findings)
    assert all(
        finding["location"]["path"] and finding["description"] and finding["check_name"]
        for finding in findings
    )


def test_what_is_said_comes_before_where_it_is() -> None:
    """Who reads the file reads it from the top; its keys are not sorted."""
    first = json.loads(diagnostics.render("gitlab", report(ERROR)))[0]
    keys = ["description", "check_name", "fingerprint", "severity", "location"]
    assert list(first) == keys
