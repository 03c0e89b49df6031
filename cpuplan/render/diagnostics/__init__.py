"""Diagnostics for people, programs and code hosts: a module for each format."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cpuplan.render.diagnostics.report import Report

#: The formats, each a module of this package with a function `render`. A format is imported when
#: it is asked for: the command line imports this list at every start.
FORMATS = (
    "text",  # for people
    "json",  # one document, see docs/ci.md
    "jsonl",  # a line of JSON for each finding, and one that sums them up
    "sarif",  # SARIF 2.1.0: GitHub code scanning, Azure DevOps, editors
    "junit",  # JUnit's XML: the test reports of GitLab and Jenkins
    "github",  # workflow commands of GitHub Actions: annotations of a pull request
    "gitlab",  # a Code Quality report of GitLab
)


def render(name: str, report: "Report") -> str:
    """The report in a format for programs: a whole document, even without findings."""
    text: str = import_module(f"{__name__}.{name}").render(report)
    return text


def notice(name: str, report: "Report") -> str:
    """What readers of the format will not see because of its limits; empty if they see all."""
    module = import_module(f"{__name__}.{name}")
    return module.notice(report) if hasattr(module, "notice") else ""
