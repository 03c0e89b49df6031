"""JSON: one document, as `report.to_data` says."""

from cpuplan.emit import to_json
from cpuplan.render.diagnostics.report import Report, to_data


def render(report: Report) -> str:
    return to_json(to_data(report), sort_keys=False)
