"""The canonical form keeps every value, and a second run changes nothing.

What has no such form is said.
"""

import pytest

from cpuplan.language.read import yaml
from cpuplan.write import format  # noqa: A004
from cpuplan.write.format import NotFormattable, canonical

ODD = [
    "",
    "# only\n",
    "kind: [a]\n",
    "kind: {a: b}\nmetadata: x\n",
    "---\n\nkind: Intent\nspec: {}\n",
    "---\n\n# c\n\nkind: Intent\nmetadata:\n  name: x\n",
    "---\n\n\n---\n\nkind: Nodes\n\n\n---\n",
    "# a\n\n---\n\n# b\nspec:\n\n  # c\n  pools: {}\n\n# d\nkind: Intent\n# e\n",
    "kind: Intent\r\nspec:\r\n  pools: {}\r\n",
    "a: |\n  x\n\n\n# c\nb: >-\n\n  y\n\n   z\n",
    "a: '\t'\nb: \"\t\"\nc: |\n  x\ty\n# d\te\n",
]


@pytest.mark.parametrize("text", ODD)
def test_a_second_run_changes_nothing(text: str) -> None:
    before, problems = yaml.parse("a.yaml", text)
    assert not problems
    once = canonical(text)
    after, problems = yaml.parse("a.yaml", once)
    assert not problems
    assert [source.data for source in before] == [source.data for source in after]
    assert canonical(once) == once


@pytest.mark.parametrize("text", ["{a?1\nb---\n>\n\n}", "? a\n  b\n: 1\n"])
def test_a_key_of_two_lines_has_no_form(text: str) -> None:
    assert not yaml.parse("a.yaml", text)[1]
    with pytest.raises(NotFormattable, match="a key has more than one line"):
        canonical(text)


def test_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is too large is said before a tree is made of it."""
    monkeypatch.setattr(format, "_MAX_VALUES", 8)
    canonical("a: [1, 2, 3]\nb: 1\n")
    with pytest.raises(NotFormattable, match="more than 8 keys and values"):
        canonical("a: [1, 2, 3]\n---\nb: [1]\n")
    monkeypatch.setattr(format, "_MAX_TEXT", 8)
    with pytest.raises(NotFormattable, match="more than 8 characters"):
        canonical("# comment\n")


def test_schemas_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Found by fuzzing: 5 ms for each document of a file."""
    made: list[str] = []

    def schema(kind: str) -> dict[str, object]:
        made.append(kind)
        return {}

    monkeypatch.setattr(format, "schema", schema)
    format._schema.cache_clear()
    canonical("---\nkind: Intent\n" * 3)
    format._schema.cache_clear()
    assert made == ["Intent"]


def test_escapes_stay_escapes() -> None:
    """What an author wrote as an escape is not written as the character that nobody sees."""
    text = 'kind: Other\na: "x\\u202ey\\u200b"\nb: "caf\u00e9 \\e[31m"\n'
    assert canonical(text) == text
