"""Diagnostics for people, programs and code hosts: a module for each format, imported when it is
asked for.
"""

from importlib import import_module

from cpuplan.render.formats.report import Report

#: Format -> what it is for. The module is `cpuplan.render.formats.<name>`, with a function
#: `render`.
FORMATS = {
    "text": "for people",
    "json": "one document, see docs/ci.md",
    "jsonl": "a line of JSON for each finding, and one that sums them up",
    "sarif": "SARIF 2.1.0: GitHub code scanning, Azure DevOps, editors",
    "junit": "JUnit's XML: the test reports of GitLab and Jenkins",
    "github": "workflow commands of GitHub Actions, shown beside the lines of a pull request",
    "gitlab": "a Code Quality report of GitLab",
}


def render(name: str, report: Report) -> str:
    """The report in a format for programs: a whole document, also of nothing."""
    text: str = import_module(f"cpuplan.render.formats.{name}").render(report)
    return text


def notice(name: str, report: Report) -> str:
    """What those who read the format will not be shown, as they take no more; empty where they are
    shown all.
    """
    module = import_module(f"cpuplan.render.formats.{name}")
    return module.notice(report) if hasattr(module, "notice") else ""
