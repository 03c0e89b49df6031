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
