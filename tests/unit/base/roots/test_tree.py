"""Symbolic links of trees: followed inside, and not for ever."""

import pytest

from cpuplan.base.roots.tree import BadLink, Limits, Tree

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


class Linked(Tree[str]):
    """A tree that has every folder and the links above."""

    def _top(self) -> str:
        return ""

    def _above(self, place: str) -> str | None:
        return place.rpartition("/")[0] if place else None

    def _below(self, place: str, name: str) -> str:
        path = f"{place}/{name}" if place else name
        if path in TARGETS:
            raise NotADirectoryError(path)
        return path

    def _target(self, place: str, name: str) -> str | None:
        return TARGETS.get(f"{place}/{name}" if place else name)


def linked(*, steps: int = 10_000, is_chroot: bool = False) -> Linked:
    return Linked(Limits(names=0, steps=steps, is_chroot=is_chroot))


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
def test_links_inside(path: str, real: str) -> None:
    place, name = linked().found(path)
    assert "/".join(part for part in (place, name) if part not in ("", ".")) == real


@pytest.mark.parametrize(
    ("path", "noun"),
    [
        ("..", "a link that leads out of it"),
        ("../x", "a link that leads out of it"),
        ("d/out", "a link that leads out of it"),
        ("d/out/x", "a link that leads out of it"),
        ("round", "a link that leads to itself"),
        ("long", "a link that is too long"),
    ],
)
def test_refused(path: str, noun: str) -> None:
    with pytest.raises(BadLink) as caught:
        linked().found(path)
    assert caught.value.noun == noun


@pytest.mark.parametrize("path", ["../x", "d/out/x", "d/up/../../x"])
def test_to_a_process_the_root_has_nothing_above_it(path: str) -> None:
    assert linked(is_chroot=True).found(path) == ("", "x")


def test_a_tree_has_so_many_steps_in_all() -> None:
    tree = linked(steps=100)
    path = "x/" * 48 + "y"
    tree.found(path)
    tree.found(f"p/{path}")
    with pytest.raises(BadLink, match="more than 100 names and links") as caught:
        tree.found(f"q/{path}")
    assert caught.value.noun == "too many links"


def test_the_steps_of_links_count_too() -> None:
    assert linked(steps=100).found("d/up/" * 20 + "y") == ("", "y")
    with pytest.raises(BadLink, match="more than 100 names and links"):
        linked(steps=100).found("d/up/" * 30 + "y")


def test_what_was_entered_costs_no_step_again() -> None:
    tree = linked(steps=100)
    for _ in range(1000):
        tree.found("x/" * 48 + "y")
