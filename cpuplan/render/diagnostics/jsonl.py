"""JSON Lines (jsonlines.org): a finding each, so that a reader needs memory for one only."""

import json

from cpuplan.render.diagnostics.json import findings, summary_data
from cpuplan.render.diagnostics.report import Report


def render(report: Report) -> str:
    """`{"type": "finding", ...}` with the keys of JSON, then always `{"type": "summary", ...}`."""
    rows = [{"type": "finding", **finding} for finding in findings(report)]
    rows.append({"type": "summary", "version": 1, **summary_data(report)})
    return "".join(f"{json.dumps(row)}\n" for row in rows)
