"""Words for people."""

import pytest

from cpuplan.base.text import (
    at_most,
    counted,
    did_you_mean,
    first_of,
    joined,
    listed,
    nearest,
    plural,
)


def test_numbers_and_nouns() -> None:
    assert [counted(number, "core") for number in (0, 1, 2)] == ["0 cores", "1 core", "2 cores"]
    assert [plural(noun, 2) for noun in ("class", "box", "node")] == ["classes", "boxes", "nodes"]


@pytest.mark.parametrize(
    ("words", "all_of_them", "first", "list_of_them"),
    [
        ("", "", "", ""),
        ("a", "a", "a", "a"),
        ("ab", "a and b", "a and b", "a, b"),
        ("abc", "a, b and c", "a, b and 1 more", "a, b, c"),
        ("abcd", "a, b, c and d", "a, b and 2 more", "a, b and 2 more"),
    ],
)
def test_lists(words: str, all_of_them: str, first: str, list_of_them: str) -> None:
    names = list(words)
    assert (joined(names), first_of(names, 2), listed(names, 2)) == (
        all_of_them,
        first,
        list_of_them,
    )


def test_names_that_were_perhaps_meant() -> None:
    assert nearest("reservd", ["isolated", "Reserved"]) == "Reserved"
    assert nearest("x", ["isolated"]) is None
    assert did_you_mean("Isolatd", ["shared", "isolated"]) == "did you mean 'isolated'?"
    assert did_you_mean("x", ["shared", "isolated"]) == "known: isolated, shared"
    assert did_you_mean("x", []) == "remove it"


def test_a_name_that_the_word_begins_comes_before_a_similar_one() -> None:
    nodes = ["worker-1", "worker1-spare.internal", "worker1.internal", "worker10"]
    assert nearest("worker1", nodes) == "worker1.internal"
    assert nearest("worker1", ["worker-1", "worker100", "worker10"]) == "worker10"
    assert nearest("is", ["isolated"]) is None
    assert nearest("", ["isolated"]) is None


def test_no_more_words_than_there_is_room_for() -> None:
    """`listed` shows one word more where that is as short as to count it."""
    shown = [at_most(names, 2) for names in ([], ["a"], ["a", "b"], ["a", "b", "c"])]
    assert shown == ["", "a", "a, b", "a, b and 1 more"]
