"""A Code Quality report of GitLab
(https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format).
"""

from cpuplan.diagnostics import Severity
from cpuplan.emit import to_json
from cpuplan.printable import printable
from cpuplan.render.diagnostics.report import Report, fingerprints, message_of

_SEVERITIES = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.NOTE: "info"}


def render(report: Report) -> str:
    """Waived findings are of severity info. GitLab compares reports by their fingerprints, which
    must be unique.
    """
    found = report.listed
    rows = [
        {
            "description": message_of(each),
            "check_name": each.code,
            "fingerprint": fingerprint,
            "severity": "info" if each.waiver else _SEVERITIES[each.severity],
            "location": {
                "path": printable(report.file_of(each)),
                "lines": {"begin": (each.position.line if each.position else 0) or 1},
            },
        }
        for each, fingerprint in zip(found, fingerprints(report, found), strict=True)
    ]
    return to_json(rows, sort_keys=False)
