"""SARIF 2.1.0 (OASIS, sarif-v2.1.0-os): what GitHub, GitLab and Azure DevOps show beside the lines of a change."""

from collections.abc import Iterable
from typing import Any

from cpuplan import __version__
from cpuplan.codes import CODES
from cpuplan.diagnostics import Diagnostic, Label
from cpuplan.render.diagnostics import ordered_diagnostics
from cpuplan.source import Position


def to_sarif(diagnostics: Iterable[Diagnostic]) -> str:
    """One run; paths become relative URIs, fingerprints hold when lines move."""
    import json

    ordered = ordered_diagnostics(diagnostics)
    codes = sorted({d.code for d in ordered})
    prints = _fingerprints(ordered)
    log = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {"name": "cpuplan", "version": __version__, "rules": [_rule(code) for code in codes]}
                },
                "columnKind": "unicodeCodePoints",
                "results": [
                    _result(d, codes.index(d.code), fingerprint)
                    for d, fingerprint in zip(ordered, prints, strict=True)
                ],
            }
        ],
    }
    return json.dumps(log, indent=2) + "\n"


def _rule(code: str) -> dict[str, Any]:
    entry = CODES[code]
    return {
        "id": code,
        "name": "".join(word.capitalize() for word in entry.title.replace("-", " ").split()),
        "shortDescription": {"text": entry.title},
        "fullDescription": {"text": entry.about},
        "help": {"text": f"{entry.about}\n\nMore: cpuplan explain {code}"},
        "defaultConfiguration": {"level": entry.severity},
    }


def _result(diagnostic: Diagnostic, rule: int, fingerprint: str) -> dict[str, Any]:
    text = f"{diagnostic.message}\nhelp: {diagnostic.remedy}" if diagnostic.remedy else diagnostic.message
    result: dict[str, Any] = {
        "ruleId": diagnostic.code,
        "ruleIndex": rule,
        "level": diagnostic.severity.value,
        "message": {"text": text},
    }
    if diagnostic.position:
        result["locations"] = [_location(diagnostic.position, diagnostic.label)]
    if diagnostic.labels:
        result["relatedLocations"] = [_related(number, label) for number, label in enumerate(diagnostic.labels, start=1)]
    result["partialFingerprints"] = {"cpuplan/v1": fingerprint}
    return result


def _related(number: int, label: Label) -> dict[str, Any]:
    return {"id": number, **_location(label.position, label.text)}


def _location(position: Position, text: str) -> dict[str, Any]:
    region = {"startLine": position.line, "startColumn": position.column}
    if position.end > position.column:
        region["endColumn"] = position.end
    location: dict[str, Any] = {
        "physicalLocation": {"artifactLocation": {"uri": _uri(position.path)}, "region": region}
    }
    return {**location, "message": {"text": text}} if text else location


def _uri(path: str) -> str:
    """A relative URI reference without dot segments (section 3.4.3); an absolute path becomes a file URI."""
    from posixpath import normpath
    from urllib.parse import quote

    quoted = quote(normpath(path), errors="surrogateescape")
    return f"file://{quoted}" if quoted.startswith("/") else quoted


def _fingerprints(diagnostics: list[Diagnostic]) -> list[str]:
    """From code, file and message, and a counter where these are equal: not from the line, which a comment moves."""
    import hashlib

    seen: dict[str, int] = {}
    found = []
    for d in diagnostics:
        text = "\0".join((d.code, d.position.path if d.position else "", d.message))
        digest = hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:32]
        seen[digest] = seen.get(digest, 0) + 1
        found.append(digest if seen[digest] == 1 else f"{digest}:{seen[digest]}")
    return found
