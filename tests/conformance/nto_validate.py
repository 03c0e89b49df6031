"""PerformanceProfiles, and what OpenShift's node tuning operator says of them at admission
(vectors/nto/validate).

What its CRD or webhook refuses must be refused here, with the field named. What it accepts must be
accepted, unless the refusal is by a rule that the operator does not have.
"""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from cpuplan.diagnostics import Diagnostic, errors
from cpuplan.diagnostics.codes import profiles
from cpuplan.diagnostics.source import Position
from cpuplan.language.read import yaml as reader
from cpuplan.profiles import loading
from tests.conformance.comparing import judged

VECTORS = Path(__file__).parents[2].parent / "shared" / "vectors" / "nto" / "validate"
#: Rules that the operator does not have, among those for profiles.
_OWN = frozenset(
    {*(f"CP27{digit}" for digit in range(1, 10)), *(f"CP28{digit}" for digit in range(10)), "CP290"}
)
#: Every code by which cpuplan says what the operator's CRD and webhook say: missing fields, types,
#: CPU lists, rules.
OPERATORS = frozenset({"CP202", "CP203", "CP208"}) | (profiles.CODES.keys() - _OWN)


_LABELS = ("machineConfigLabel", "machineConfigPoolSelector", "nodeSelector")


def run(paths: list[Path]) -> Iterator[tuple[str, list[str]]]:
    """(case, failures) of every case below `paths`."""
    for path in paths or [VECTORS]:
        for found in sorted(path.rglob("expected.yaml")):
            yield found.parent.name, judged(f"{found}:1", partial(_failures, found.parent))


def _failures(case: Path) -> Iterator[str]:
    expected = yaml.safe_load((case / "expected.yaml").read_text(encoding="utf-8"))
    both = expected["schema"]["valid"] and bool(expected["webhook"].get("allowed"))
    if expected["accepted"] is not both:
        yield f"{case}/expected.yaml:1: accepted is not what the schema and the webhook say"
    files = [
        case / "profile.yaml",
        *sorted(set(case.glob("*.yaml")) - {case / "profile.yaml", case / "expected.yaml"}),
    ]
    _, found = loading.read(case, files)
    # Of profiles that are in the cluster already, the operator looks at nothing but their node
    # selectors.
    refused = [
        each
        for each in errors(found)
        if each.position is None or each.position.path == "profile.yaml"
    ]
    codes = ", ".join(f"{each.code} ({each.message})" for each in refused)
    if expected["accepted"]:
        if wrong := [each for each in refused if each.code in OPERATORS]:
            yield (
                f"{case}/profile.yaml:1: refused by {wrong[0].code}, "
                f"and the operator takes it: {wrong[0].message}"
            )
        return
    if not refused:
        yield f"{case}/profile.yaml:1: taken, and the operator refuses it"
    for field in _fields(expected):
        places = _places(case / "profile.yaml", field)
        if not any(names(field, each) or each.position in places for each in refused):
            yield f"{case}/profile.yaml:1: no refusal names {field}: {codes}"


def _places(path: Path, field: str) -> set[Position]:
    """Where the values of a field stand: a scalar that YAML versions read differently is shown
    there, and not named.
    """
    sources, _ = reader.read(path, path.name)
    data: Any = sources[0].data if sources else None
    for name in (names := field.split(".")):
        data = data.get(name) if isinstance(data, dict) else None
    below = [(*names, key) for key in data] if isinstance(data, dict) else []
    return (
        {sources[0].value_at(tuple(each)) for each in (names, *below)}
        if data is not None
        else set()
    )


def _fields(expected: dict[str, Any]) -> list[str]:
    """The fields that the verdict names: the webhook's, or the CRD's, after whose errors nobody
    asks the webhook.
    """
    if expected["schema"]["valid"]:
        return sorted(
            {cause["field"] for cause in expected["webhook"].get("causes") or () if cause["field"]}
        )
    fields = []
    for error in expected["schema"]["errors"]:
        path, _, message = error.partition(": ")
        missing = re.match(r"'(\w+)' is a required property", message)
        parts = [*path.split("/"), *(missing.groups() if missing else ())]
        # Keys of labels have slashes and dots themselves.
        fields.append(".".join(parts[:2] if parts[1:2] and parts[1] in _LABELS else parts))
    return sorted(set(fields))


def names(field: str, diagnostic: Diagnostic) -> bool:
    """Whether the message names the field, or one below it (an item of a list)."""
    words = re.findall(r"spec(?:\.\w+)*", diagnostic.message + " " + diagnostic.remedy)
    return any(
        word.lower() == field.lower() or word.lower().startswith(f"{field.lower()}.")
        for word in words
    )
