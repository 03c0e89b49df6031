"""JSON Lines (jsonlines.org): each finding by itself, so that a reader needs no more memory than
for one.
"""

import json

from cpuplan.render.diagnostics.report import Report, findings, summary_data


def render(report: Report) -> str:
    """`{"type": "finding", ...}` with the keys of `report.to_data`, then always `{"type":
    "summary", ...}`.
    """
    rows = [{"type": "finding", **each} for each in findings(report)]
    rows.append({"type": "summary", "version": 1, **summary_data(report)})
    return "".join(f"{json.dumps(row)}\n" for row in rows)
