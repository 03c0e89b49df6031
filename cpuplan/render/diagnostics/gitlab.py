"""A Code Quality report of GitLab.

https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
"""

from cpuplan.base.emit import to_json
from cpuplan.base.text import printable
from cpuplan.diagnostics import Severity
from cpuplan.render.diagnostics.report import Report, fingerprints, message_of

_SEVERITIES = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.NOTE: "info"}


def render(report: Report) -> str:
    """Waived findings are of severity info. GitLab compares reports by their fingerprints."""
    rows = []
    for finding, fingerprint in zip(
        report.listed, fingerprints(report, report.listed), strict=True
    ):
        line = finding.position.line if finding.position else 0
        rows.append(
            {
                "description": message_of(finding),
                "check_name": finding.code,
                "fingerprint": fingerprint,
                "severity": "info" if finding.waiver else _SEVERITIES[finding.severity],
                "location": {
                    "path": printable(report.file_of(finding)),
                    "lines": {"begin": line or 1},
                },
            }
        )
    return to_json(rows, sort_keys=False)
