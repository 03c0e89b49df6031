"""Findings on nodes, as every command prints them."""

from cpuplan.check.machine.files import SYSTEM
from cpuplan.cli.output import settings
from cpuplan.cli.statements import Statements
from cpuplan.diagnostics import Diagnostic


def observed(findings: list[Diagnostic], statements: Statements) -> list[Diagnostic]:
    """The findings with the project's waivers; no line of a node's file is shown with them.

    Boot arguments hold passwords, configurations tokens: what stands on a line beside a finding
    stays on the node.
    """
    places = (finding.position.path for finding in findings if finding.position)
    settings().private = frozenset(path for path in places if SYSTEM not in path)
    sources = [source for (kind, _), source in statements.sources.items() if kind == "Waivers"]
    if not findings or not sources:
        return findings
    from cpuplan.read import documents, waivers

    return waivers.waive(findings, documents.from_sources(sources)[0])
