"""Which profile the node tuning operator chooses."""

from collections.abc import Mapping

import pytest

from cpuplan.upstream.nto.controller import recommended
from cpuplan.upstream.nto.profilecalculator import (
    Match,
    Recommendation,
    defaults,
    in_order,
    is_by_labels,
    is_for,
    profile_matches,
    uses_pods,
)

LABELS = {"rack": "7", "row": ""}


@pytest.mark.parametrize(
    ("match", "is_met"),
    [
        ((), True),
        ((Match(),), True),
        ((Match("rack"),), True),
        ((Match("rack", "7"),), True),
        ((Match("rack", "8"),), False),
        ((Match("row", ""),), True),
        ((Match("room"), Match("rack")), True),
        ((Match("rack", match=(Match("room"),)),), False),
        ((Match("rack", match=(Match("room"), Match("row"))),), True),
        ((Match("rack", is_pod=True),), False),
        ((Match(is_pod=True),), True),
    ],
)
def test_labels_of_nodes(match: tuple[Match, ...], is_met: bool) -> None:
    assert profile_matches(match, LABELS) is is_met


def test_levels_have_an_end() -> None:
    match = Match("rack")
    for _ in range(100):
        match = Match("rack", match=(match,))
    assert not profile_matches((match,), LABELS)


def test_pods_within() -> None:
    assert uses_pods((Match("a", match=(Match("b", is_pod=True),)),))
    assert not uses_pods((Match("a", match=(Match("b"),)),))


@pytest.mark.parametrize(
    ("match", "labels", "is_meant", "by_labels"),
    [
        (None, None, True, False),
        ((), None, True, False),
        ((), {"role": "other"}, True, False),
        (None, {"role": "du"}, True, True),
        (None, {"role": "other"}, False, True),
        (None, {}, False, True),
        ((Match("room"),), {"role": "du"}, True, True),
        ((Match("room"),), None, False, True),
    ],
)
def test_which_nodes_a_recommendation_is_for(
    match: tuple[Match, ...] | None,
    labels: Mapping[str, str] | None,
    is_meant: bool,
    by_labels: bool,
) -> None:
    given = Recommendation("a", 0, "p", 1, match, labels)
    assert is_for(given, LABELS, lambda wanted: wanted.get("role") == "du") is is_meant
    assert is_by_labels(given, LABELS) is by_labels


def test_order() -> None:
    given = [
        Recommendation("b", 0, "4", 20),
        Recommendation("a", 1, "3", 20),
        Recommendation("a", 0, "2", 20),
        Recommendation("z", 0, "1", 19),
    ]
    ordered = in_order([*defaults(), *given])
    own = ["openshift-control-plane", "openshift-node"]
    assert [made.profile for made in ordered] == ["1", "2", "3", "4", *own]


@pytest.mark.parametrize(
    ("text", "name"), [("[a]\n", "a"), (" [a-b] ", "a-b"), ("", ""), ("a\n", "a")]
)
def test_the_file_of_a_node(text: str, name: str) -> None:
    assert recommended(text) == name
