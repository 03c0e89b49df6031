"""The machine config operator's answers (vectors/mco) against `cpuplan.upstream.mco`.

An operation yields sentences about what differs, for one release.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

from cpuplan.upstream.mco.common import NEWEST, Release, newest_ignition
from tests.conformance.mco import costing, generating, merging

Json: TypeAlias = dict[str, Any]
Operation: TypeAlias = Callable[[Json, Json, Release], Iterator[str]]

VECTORS = Path(__file__).parents[3].parent / "shared" / "vectors" / "mco"
OPERATIONS: dict[str, Operation] = {
    "merge": merging.merge,
    "pools_for_node": merging.pools_for_node,
    "effective": merging.effective,
    "impact": costing.impact,
    "change": costing.change,
    "kubeletconfigs": generating.kubeletconfigs,
    "kubeletconfigs_install": generating.kubeletconfigs_install,
    "containerruntimeconfigs": generating.containerruntimeconfigs,
    "validate_kubeletconfig": generating.validate_kubeletconfig,
    "validate_containerruntimeconfig": generating.validate_containerruntimeconfig,
}
#: A listed release gives its whole answer, without what was recorded for the newest one alone.
_WHOLE_ANSWERS = ("merge",)


def run(paths: Iterable[Path] = ()) -> Iterator[tuple[str, list[str]]]:
    """(file and id, what differs) for every vector below `paths`."""
    for path in sorted(paths) or [VECTORS]:
        for file in sorted(path.glob("*.jsonl")) if path.is_dir() else [path]:
            for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
                case = json.loads(line)
                if case["op"] in OPERATIONS:
                    place = f"{file}:{number}"
                    yield f"{file.name}/{case['id']}", _failures(case, place)


def _failures(case: Json, place: str) -> list[str]:
    failures: list[str] = []
    for release, expected in _answers(case):
        label = f"{place}: {case['id']} {release}"
        failures += (f"{label}: {what}" for what in _differences(case, expected, release))
    return failures


def _answers(case: Json) -> Iterator[tuple[Release, Json]]:
    """Each recorded release, with what is expected of it."""
    yield NEWEST, case["expected"]
    for name, changes in case.get("by_release", {}).items():
        major, minor = map(int, name.split("."))
        if case["op"] in _WHOLE_ANSWERS:
            yield (major, minor), changes
        else:
            answer = {**case["expected"], **changes}
            kept = {key: value for key, value in answer.items() if value is not None}
            yield (major, minor), kept


def _differences(case: Json, expected: Json, release: Release) -> Iterator[str]:
    """An exception is the vector's failure."""
    try:
        yield from OPERATIONS[case["op"]](_input(case, release), expected, release)
    except Exception as error:
        yield f"{type(error).__name__}: {error}"


def _input(case: Json, release: Release) -> Json:
    """Older operators were given their newest Ignition, except where the version is the point."""
    given: Json = case["input"]
    if newest_ignition(release) < newest_ignition(NEWEST) and "-ign-" not in case["id"]:
        given = json.loads(json.dumps(given).replace('"version": "3.5.0"', '"version": "3.4.0"'))
    return given
