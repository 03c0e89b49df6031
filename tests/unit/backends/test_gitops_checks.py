"""What a project's rollouts and its Delivery document ask for together."""

import re
from typing import Any

import pytest

from cpuplan.backends import configure
from cpuplan.backends.rollouts import check_delivery, check_names
from cpuplan.diagnostics.source import Position
from cpuplan.language.model.operations import DeliverySpec
from cpuplan.plan import ConfiguredPlan, NodePlan, Pool
from tests.machines.plans import class_of, regular

REPOSITORY = "https://git.example.com/a.git"
ARGO_CD = DeliverySpec(repository=REPOSITORY)
FLUX = DeliverySpec.model_validate({"repository": REPOSITORY, "tools": ["flux"]})
NIGHT = {"schedule": "0 22 * * sat", "duration": "4h", "timeZone": "Europe/Berlin"}
DAY = NIGHT | {"schedule": "0 8 * * sat"}
ALL: dict[str, Any] = {"name": "all"}


def wave(name: str, *clusters: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "clusters": list(clusters), **more}


def intent(
    name: str, rollout: dict[str, Any], cluster: str = "site-a", **target: Any
) -> ConfiguredPlan:
    """A class of an intent of its own."""
    topology = regular()
    given = {"platform": "openshift", "version": "4.20", "pool": f"worker-{name}", **target}
    spec = {"targets": [given], "pools": {"reserved": {"cores": 1}}, "rollout": rollout}
    node_class = class_of(topology, name, spec, hardware="server", nodes=("n",), cluster=cluster)
    return configure(NodePlan(node_class, (Pool("reserved", topology.online, ()),), ()))


def codes(*plans: ConfiguredPlan, delivery: DeliverySpec | None = ARGO_CD) -> list[str]:
    """Codes, with the fields of the rollout that they are about."""
    return [
        f"{problem.code} {re.findall(r'rollout[.]([a-z]+(?:[.][0-9]+)?)', problem.message)[0]}"
        for problem in check_delivery(plans, delivery, lambda _: None)
    ]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([], [], []),
        ([wave("a", "site-a")], [wave("a", "site-a")], []),
        # the cluster is in wave a of one intent and in wave b of the other
        ([wave("a", "site-a")], [wave("b", "site-a")], ["CP676 waves"]),
        # one intent gives it no turn
        ([wave("a", "site-a")], [], ["CP676 waves"]),
        ([], [wave("a", "site-a")], ["CP676 waves"]),
        # a wave of other clusters is no turn of this one
        ([wave("a", "site-a")], [wave("a", "site-b")], ["CP676 waves"]),
        ([], [wave("a", "site-b")], []),
        # the turn is the same where only the number at a time differs
        ([wave("a", "site-a", maxUnavailable=1)], [wave("a", "site-a", maxUnavailable=2)], []),
        ([wave("a", "site-a")], [wave("a", "site-a", "site-b")], []),
    ],
)
def test_intents_of_one_cluster_have_one_wave(
    first: list[Any], second: list[Any], expected: list[str]
) -> None:
    plans = [intent(name, {"waves": waves}) for name, waves in (("x", first), ("y", second))]
    assert codes(*plans) == expected


def test_intents_of_one_cluster_have_the_same_windows() -> None:
    night, day = (intent(name, {"windows": [at]}) for name, at in (("x", NIGHT), ("y", DAY)))
    assert codes(night, intent("z", {"windows": [NIGHT]})) == []
    assert codes(night, day) == ["CP676 windows"]
    assert codes(night, intent("z", {"windows": [DAY]}, cluster="site-b")) == []


def test_each_intent_that_differs_from_the_first_is_told() -> None:
    plans = [intent(name, {"windows": [at]}) for name, at in (("x", NIGHT), ("y", DAY), ("z", DAY))]
    problems = list(check_delivery(plans, ARGO_CD, lambda _: None))
    assert [problem.message.partition(" differs")[0] for problem in problems] == [
        "rollout.windows of intent y",
        "rollout.windows of intent z",
    ]


def test_waves_have_one_order_in_all_clusters() -> None:
    a, b = wave("a", "site-a", "site-b"), wave("b", "site-c")
    first = intent("x", {"waves": [a, b]})
    assert codes(first, intent("y", {"waves": [a, b]}, cluster="site-b")) == []
    assert codes(first, intent("y", {"waves": [b, a]}, cluster="site-b")) == ["CP676 waves"]


ROLLOUT = {"windows": [NIGHT], "waves": [wave("a", "site-a"), {"name": "n", "nodes": ["n*"]}]}


@pytest.mark.parametrize("delivery", [None, FLUX])
def test_without_argo_cd_nobody_reads_clusters_and_times(delivery: DeliverySpec | None) -> None:
    """The second wave is of nodes: other tools read it."""
    plans = [intent("x", ROLLOUT), intent("x", ROLLOUT, cluster="site-b")]
    assert codes(*plans, delivery=delivery) == ["CP663 windows", "CP663 waves.0"]


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ({}, []),
        ({"platform": "kubernetes", "version": "1.34", "pool": None}, ["CP663 windows"]),
        (
            {"platform": "kubernetes", "version": "1.34", "pool": None, "delivery": ["ansible"]},
            ["CP663 windows"],
        ),
        (
            {"platform": "kubernetes", "version": "1.34", "pool": None, "delivery": ["nodeWright"]},
            [],
        ),
    ],
)
def test_windows_are_kept_where_argo_cd_syncs_what_changes_nodes(
    target: dict[str, Any], expected: list[str]
) -> None:
    assert codes(intent("x", {"windows": [NIGHT]}, **target)) == expected


HERE = Position("intents/git.yaml", 1, 1)


@pytest.mark.parametrize(
    ("size", "tracking", "expected"),
    [
        (55, "label", []),  # with `cpuplan-`, 63 characters
        (56, "label", ["CP677"]),
        (56, "annotation", []),
    ],
)
def test_a_label_has_room_for_the_application(
    size: int, tracking: str, expected: list[str]
) -> None:
    delivery = DeliverySpec.model_validate({"repository": REPOSITORY, "tracking": tracking})
    plans = [intent("x", {}, cluster="c" * size)]
    assert [finding.code for finding in check_names(plans, delivery, HERE)] == expected
