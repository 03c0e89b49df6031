"""Code Quality reports of GitLab."""

import json

from cpuplan.render import diagnostics

from .examples import ALL, ERROR, WARNING, report


def test_gitlab() -> None:
    found = json.loads(diagnostics.render("gitlab", report(*ALL, ERROR, WARNING, verbose=True)))
    assert len({each["fingerprint"] for each in found}) == len(found) == 6
    assert {each["severity"] for each in found} == {"major", "minor", "info"}
    assert all(each["location"]["lines"]["begin"] >= 1 for each in found)
    assert all(
        each["location"]["path"] and each["description"] and each["check_name"] for each in found
    )
