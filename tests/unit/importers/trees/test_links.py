"""Symbolic links of trees: followed inside, and not for ever."""

import pytest

from cpuplan.importers.trees import links
from cpuplan.importers.trees.links import LeavesTreeError, Links

TARGETS = {
    "a": "b/c",
    "b": "/d",
    "d/up": "..",
    "d/out": "../..",
    "round": "trip",
    "trip": "round",
    "long": "x/" * 600,
    **{f"n{number}": f"n{number + 1}" for number in range(40)},
}


@pytest.mark.parametrize(
    ("path", "real"),
    [
        ("x/y", "x/y"),
        ("./x//y/.", "x/y"),
        ("a", "d/c"),
        ("a/z", "d/c/z"),
        ("d/up/q", "q"),
        ("n0", "n40"),
    ],
)
def test_resolve(path: str, real: str) -> None:
    assert Links().resolve(path, TARGETS.get) == real


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("..", "a link that leads out of it"),
        ("d/out", "a link that leads out of it"),
        ("round", "a link that leads to itself"),
        ("long", "a link that is too long"),
    ],
)
def test_refused(path: str, reason: str) -> None:
    with pytest.raises(LeavesTreeError, match=f"^{reason}$"):
        Links().resolve(path, TARGETS.get)


def test_a_tree_has_so_many_steps_in_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "_MAX_STEPS", 100)
    found = Links()
    assert [found.resolve("x/" * 48, TARGETS.get) for _ in range(2)] == ["x/" * 47 + "x"] * 2
    with pytest.raises(LeavesTreeError, match="too many links"):
        found.resolve("x/y/z", TARGETS.get)
