"""Steps of changes that the machine config operator itself was asked about."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from cpuplan.change.impact.rules.openshift import pools
from cpuplan.facts.settings.costs import Impact, worst
from cpuplan.upstream.mco.common import NEWEST, McoError
from cpuplan.upstream.mco.update import Node, change
from tests.projects import SHARED, needs_shared

Json = dict[str, Any]


def recorded() -> Iterator[Json]:
    path = SHARED / "vectors" / "mco" / "change.jsonl"
    if path.is_file():
        yield from map(json.loads, path.read_text().splitlines())


CASES = [
    case for case in recorded() if not {"error_before", "error_after"} & case["expected"].keys()
]


@needs_shared
@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_steps_follow_from_the_operators_answer(case: Json) -> None:
    given, expected = case["input"], case["expected"]
    node = Node(NEWEST, given.get("machineConfiguration") or {})
    try:
        result = change(
            given["pool"], given["before"], given.get("after"), given.get("poolAfter"), node
        )
    except McoError:
        pytest.fail("the operator renders both sides")
    steps = list(pools.action_steps(result, ()))
    assert worst(steps) is _impact(expected), steps


def _impact(expected: Json) -> Impact:
    """The impact of the operator's answer."""
    if expected.get("render_error") or expected.get("reconcilable") is False:
        return Impact.REINSTALL
    kinds = {action["type"] for action in expected.get("actions") or ()}
    if expected.get("node_error") or "Reboot" in kinds:
        return Impact.REBOOT
    if expected.get("drain"):
        return Impact.DRAIN
    if "Restart" in kinds:
        return Impact.RESTART
    return Impact.LIVE if kinds and expected.get("diff") else Impact.NOTHING
