"""What is told of many classes: a line for each, or for what they have in common."""

from itertools import product

import pytest

from cpuplan.render.text import MOST, Member, interval, together


def _members(clusters: int, intents: int, models: int) -> list[Member]:
    return [
        Member(f"lab-{cluster}", f"role-{intent}", f"role-{intent}-model-{model}")
        for cluster, intent, model in product(range(clusters), range(intents), range(models))
    ]


def _titles(members: list[Member], *, every: bool = False) -> list[str]:
    lines = together(members, lambda member: member, every=every)
    assert [member for items in lines.values() for member in items].sort() == members.sort()
    return [line.title for line in lines]


def test_few_classes_have_a_line_each() -> None:
    titles = _titles(_members(2, 3, 5))
    assert len(titles) == MOST
    assert titles[0] == "lab-0/role-0-model-0"


def test_of_many_classes_each_intent_of_a_cluster_has_one() -> None:
    titles = _titles(_members(2, 3, 6))
    assert len(titles) == 6
    assert titles[0] == "lab-0/role-0 (6 classes)"
    assert len(_titles(_members(2, 3, 6), every=True)) == 36


@pytest.mark.parametrize(
    ("clusters", "intents", "title", "number"),
    [
        (20, 2, "role-0, 20 clusters (40 classes)", 2),
        (2, 40, "lab-0, 40 intents (80 classes)", 2),
        (35, 40, "lab-0, 40 intents (80 classes)", 35),  # the shortest
    ],
)
def test_of_many_intents_and_clusters_the_fewer(
    clusters: int, intents: int, title: str, number: int
) -> None:
    titles = _titles(_members(clusters, intents, 2))
    assert (titles[0], len(titles)) == (title, number)


def test_the_same_intent_in_other_clusters_is_another_line() -> None:
    lines = together(_members(3, 2, 10), lambda member: member)
    assert sorted(len(line.members) for line in lines) == [10] * 6


def test_numbers_from_the_least_to_the_most() -> None:
    assert [interval(numbers) for numbers in ([], [7, 7], [9, 5, 7])] == ["-", "7", "5 to 9"]
