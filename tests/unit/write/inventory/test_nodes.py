"""Imported nodes put into a Nodes document: as few groups change as can be."""

from typing import Any

import pytest

from cpuplan.write.inventory.merge import plain
from cpuplan.write.inventory.nodes import Wanted, merge_nodes

GOLD, SILVER = Wanted("gold", {}), Wanted("silver", {})


def wanted(text: str) -> dict[str, Wanted]:
    """`a=gold b=silver/role:du` as nodes."""
    documents = {}
    for word in text.split():
        name, _, facts = word.partition("=")
        hardware, _, labels = facts.partition("/")
        documents[name] = Wanted(
            hardware, dict(label.split(":") for label in labels.split(",") if label)
        )
    return documents


def spec(*nodes: dict[str, Any], **facts: Any) -> dict[str, Any]:
    return {"cluster": "lab", **facts, "nodes": list(nodes)}


W02 = {"name": "w[0-2]"}


@pytest.mark.parametrize(
    ("old", "facts", "added", "expected"),
    [
        # nothing changed; nodes that were not read; labels by hand
        (spec(W02, hardware="gold"), "w0=gold w1=gold w2=gold", "", None),
        (spec(W02, hardware="gold"), "w1=gold", "", None),
        (
            spec({**W02, "labels": {"by": "hand"}}, hardware="gold"),
            "w0=gold/by:hand w1=gold",
            "",
            None,
        ),
        (spec({"name": "w[5-"}, hardware="gold"), "w0=gold", "", None),
        # all of a document, all of a group, some of a group
        (
            spec(W02, {"name": "x"}, hardware="gold"),
            "w0=silver w1=silver w2=silver x=silver",
            "",
            spec(W02, {"name": "x"}, hardware="silver"),
        ),
        (
            spec(W02, {"name": "x"}, hardware="gold"),
            "w0=silver w1=silver w2=silver x=gold",
            "",
            spec({**W02, "hardware": "silver"}, {"name": "x"}, hardware="gold"),
        ),
        (
            spec({**W02, "offline": "5"}, {"name": "x"}, hardware="gold"),
            "w1=silver",
            "",
            spec(
                {"name": "w0", "offline": "5"},
                {"name": "w2", "offline": "5"},
                {"name": "w1", "offline": "5", "hardware": "silver"},
                {"name": "x"},
                hardware="gold",
            ),
        ),
        # labels
        (
            spec(W02, hardware="gold", labels={"a": "1"}),
            "w0=gold/a:1,b:2 w1=gold/a:1,b:2 w2=gold/a:1,b:2",
            "",
            spec(W02, hardware="gold", labels={"a": "1", "b": "2"}),
        ),
        (
            spec(W02, hardware="gold"),
            "w0=gold/b:2 w1=gold/b:2 w2=gold/b:2",
            "",
            {"cluster": "lab", "hardware": "gold", "labels": {"b": "2"}, "nodes": [W02]},
        ),
        (
            spec({**W02, "labels": {"a": "1"}}, {"name": "x"}, hardware="gold"),
            "w0=gold/a:2 w1=gold/a:2 w2=gold/a:2",
            "",
            spec({**W02, "labels": {"a": "2"}}, {"name": "x"}, hardware="gold"),
        ),
        # new nodes: in the range that they continue, else by themselves
        (
            spec(W02, hardware="gold"),
            "w3=gold w4=gold",
            "w3 w4",
            spec({"name": "w[0-4]"}, hardware="gold"),
        ),
        (spec(W02, hardware="gold"), "w7=gold", "w7", spec(W02, {"name": "w7"}, hardware="gold")),
        (
            spec(W02, hardware="gold"),
            "w3=silver",
            "w3",
            spec(W02, {"name": "w3", "hardware": "silver"}, hardware="gold"),
        ),
        (
            spec({**W02, "offline": "5"}, hardware="gold"),
            "w3=gold",
            "w3",
            spec({**W02, "offline": "5"}, {"name": "w3"}, hardware="gold"),
        ),
        (
            spec({**W02, "labels": {"a": "1"}}, hardware="gold"),
            "w3=gold/a:1 w5=gold/a:1",
            "w3 w5",
            spec(
                {"name": "w[0-3]", "labels": {"a": "1"}},
                {"name": "w5", "labels": {"a": "1"}},
                hardware="gold",
            ),
        ),
        # a label of all nodes that a new one is not known to have is lent to none
        (
            spec(W02, hardware="gold", labels={"role": "w", "site": "a"}),
            "w0=gold/role:w m0=gold/role:m,site:a",
            "m0",
            spec(
                W02,
                {"name": "m0", "labels": {"role": "m"}},
                hardware="gold",
                labels={"role": "w", "site": "a"},
            ),
        ),
        (
            spec(W02, hardware="gold", labels={"w": ""}),
            "m0=gold",
            "m0",
            {"cluster": "lab", "hardware": "gold"}
            | {"nodes": [{**W02, "labels": {"w": ""}}, {"name": "m0"}]},
        ),
        # nor one that all the others got
        (
            spec(W02, hardware="gold"),
            "w0=gold/w: w1=gold/w: w2=gold/w: m0=gold",
            "m0",
            spec({**W02, "labels": {"w": ""}}, {"name": "m0"}, hardware="gold"),
        ),
        (
            spec(W02, hardware="gold", labels={"w": "", "site": "a"}),
            "w0=gold/w: m0=gold/m:",
            "m0",
            spec(
                {**W02, "labels": {"w": "", "site": "a"}},
                {"name": "m0", "labels": {"m": ""}},
                hardware="gold",
            ),
        ),
    ],
)
def test_merge(
    old: dict[str, Any], facts: str, added: str, expected: dict[str, Any] | None
) -> None:
    result = plain(merge_nodes(old, wanted(facts), added.split()))
    assert result == (old if expected is None else expected)
    assert list(result) == list(old if expected is None else expected)
