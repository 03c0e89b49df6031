"""Eviction thresholds, and what of them a kubelet does not take."""

import pytest

from cpuplan.upstream.kubelet.eviction import Cause, parse_threshold, problems
from cpuplan.upstream.kubernetes import quantity
from cpuplan.upstream.kubernetes.errors import KubeletError

MEMORY = "memory.available"


@pytest.mark.parametrize(
    ("text", "amount"), [("100Mi", "100Mi"), ("5%", "51"), ("0%", None), ("100%", None)]
)
def test_a_threshold_is_an_amount_or_a_share(text: str, amount: str | None) -> None:
    threshold = parse_threshold(MEMORY, text, quantity.of(1024, quantity.BINARY))
    assert (str(threshold) if threshold else None) == amount


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0", "must be positive"),
        ("-1Mi", "must be positive"),
        ("-1%", "must be >= 0%"),
        ("101%", "must be <= 100%"),
        ("a lot%", "invalid syntax"),
        ("1_0%", "invalid syntax"),
        ("much", "quantities must match"),
    ],
)
def test_thresholds_that_the_kubelet_refuses(text: str, words: str) -> None:
    with pytest.raises(KubeletError, match=words):
        parse_threshold(MEMORY, text, quantity.of(1024, quantity.BINARY))


@pytest.mark.parametrize(
    ("field", "text", "is_read"),
    [
        ("evictionHard", "10%", True),
        ("evictionSoft", "much", False),
        ("evictionSoftGracePeriod", "1m30s", True),
        ("evictionSoftGracePeriod", "-1m", False),
        ("evictionSoftGracePeriod", "90", False),
        ("evictionMinimumReclaim", "0", True),
        ("evictionMinimumReclaim", "0%", False),
        ("evictionMinimumReclaim", "-1", False),
    ],
)
def test_entries_are_read_by_their_field(field: str, text: str, is_read: bool) -> None:
    causes = [problem.cause for problem in problems({field: {"pid.available": text}})]
    expected = [] if is_read else [Cause.VALUE]
    if field == "evictionSoft":
        expected.append(Cause.NO_GRACE_PERIOD)
    assert causes == expected


def test_signals_that_do_not_exist() -> None:
    fields = {"evictionHard": {"memory.free": "1Gi"}, "evictionSoft": {"memory.free": "2Gi"}}
    assert [problem.cause for problem in problems(fields)] == [Cause.SIGNAL] * 2
