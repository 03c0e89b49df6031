"""Label selectors."""

from typing import Any

import pytest

from cpuplan.upstream.mco.common import McoError
from cpuplan.upstream.mco.helpers import read_selector


def expression(operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": "k", "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    ("selector", "labels", "expected"),
    [
        ({"matchLabels": {"k": "a"}}, {"k": "a"}, True),
        ({"matchLabels": {"k": "a"}}, {"k": "b"}, False),
        (expression("In", "a", "b"), {"k": "b"}, True),
        (expression("In", "a"), {}, False),
        (expression("NotIn", "a"), {"k": "a"}, False),
        (expression("NotIn", "a"), {}, True),
        (expression("Exists"), {"k": ""}, True),
        (expression("Exists"), {}, False),
        (expression("DoesNotExist"), {}, True),
        (expression("DoesNotExist"), {"k": ""}, False),
        ({}, {}, True),
        (None, {}, False),
    ],
)
def test_matching(selector: dict[str, Any] | None, labels: dict[str, str], expected: bool) -> None:
    assert read_selector(selector).matches(labels) is expected


@pytest.mark.parametrize(
    "selector",
    [
        expression("In"),
        expression("Exists", "a"),
        expression("Has", "a"),
        {"matchLabels": {"not a key": "a"}},
        {"matchLabels": {"UPPER/k": "a"}},
        {"matchLabels": {"k": "not a value"}},
        {"matchLabels": {"k": "x" * 64}},
    ],
)
def test_refused(selector: dict[str, Any]) -> None:
    with pytest.raises(McoError):
        read_selector(selector)
