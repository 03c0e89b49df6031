"""What rules read of both halves of a pair: settings that differ, values and words."""

from typing import Any

import pytest

from cpuplan.change.impact.rules import inputs
from cpuplan.change.impact.rules.inputs import Half
from cpuplan.change.impact.setting_rules import Changed
from cpuplan.change.impact.snapshot import Pair, Snapshot

KEY = ("site", "du")
Entry = tuple[str, str, Any, str]


def half(*settings: Entry) -> Half:
    """A class with these settings; each with the origin of its second reason."""
    side = Snapshot({})
    entries = [
        {
            "component": component,
            "key": key,
            "value": value,
            "because": [{"text": "", "origin": "rule"}, {"text": "", "origin": origin}],
        }
        for component, key, value, origin in settings
    ]
    side.__dict__["classes"] = {KEY: {"settings": entries}}
    return Half(side, KEY)


def kernel(*words: str) -> list[Entry]:
    pairs = (word.partition("=") for word in words)
    return [("kernel", key, value, f"i:{key}") for key, _, value in pairs]


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        (["a=1"], ["a=1"], []),
        (["a=1"], ["a=2"], [Changed("kernel", "a", "1", "2", "i:a")]),
        ([], ["a=1"], [Changed("kernel", "a", None, "1", "i:a")]),
        (["a=1"], [], [Changed("kernel", "a", "1", None, "i:a")]),
        # Of a key that is there twice, both values; its order is that of its values.
        (["a=1"], ["a=1", "a=2"], [Changed("kernel", "a", "1", ("1", "2"), "i:a")]),
        (["a=1", "a=2"], ["a=2", "a=1"], [Changed("kernel", "a", ("1", "2"), ("2", "1"), "i:a")]),
        (["a=1", "b=2"], ["b=2", "a=1"], [Changed("kernel", "order", ["a", "b"], ["b", "a"])]),
        (
            ["a=1", "b=2"],
            ["b=2", "c=1"],
            [Changed("kernel", "c", None, "1", "i:c"), Changed("kernel", "a", "1", None, "i:a")],
        ),
    ],
)
def test_settings_that_differ(before: list[str], after: list[str], changes: list[Changed]) -> None:
    made = inputs.changed(half(*kernel(*before)), half(*kernel(*after)))
    assert list(made) == changes
    assert [change.is_removed for change in made] == [change.after is None for change in changes]


def test_only_the_command_line_has_an_order() -> None:
    first, second = ("crio", "a", 1, "i:a"), ("crio", "b", 2, "i:b")
    assert inputs.changed(half(first, second), half(second, first)) == ()


def test_a_half_without_a_class_has_nothing() -> None:
    nobody = Half(Snapshot({}), None)
    assert (nobody.plan, nobody.state, nobody.value("kernel", "a")) == ({}, None, None)
    known = half(*kernel("a=1", "b=2"))
    assert [known.value("kernel", key) for key in "abc"] == ["1", "2", None]
    pair = Pair(("site", "gone"), KEY, "site", ("w",))
    before, after = inputs.halves(pair, known.side, known.side)
    assert (before.key, after.key) == (None, KEY)


def test_names_that_are_not_the_same() -> None:
    assert inputs.unequal({"a": 1, "b": 2, "d": None}, {"b": 3, "c": 4}) == ("a", "b", "c")


def test_settings_in_words() -> None:
    many = [Changed("kernel", name, 1, 2, "") for name in "abcdefgh"]
    given = [Changed("crio", "x", 1, 2, ""), *many, Changed("crio", "y", 1, 2, "i:y")]
    assert inputs.told(given) == "crio x, y; kernel a, b, c, d, e, f and 2 more"
    assert inputs.origin_of(given) == "i:y"
    assert inputs.origin_of(many) == ""
