"""ruamel.yaml as the judge of what is written over a user's file."""

from pathlib import Path
from typing import Any, NoReturn

import pytest

from cpuplan.diagnostics import CpuplanError
from cpuplan.language.read import yaml
from cpuplan.write import comments as second_reader
from cpuplan.write import format  # noqa: A004
from cpuplan.write.comments import comments
from cpuplan.write.format import NotFormattable, canonical
from cpuplan.write.inventory.merge import splice
from tests.unit.write.inventory.test_update import NIC, run, server
from tests.unit.write.test_comments import LIST, Made

MESSY = "b:   1 # one\na: true # two\n"


@pytest.mark.parametrize(
    "text",
    [
        "%YAML 1.2 # directive\n--- # start\na: 1\n... # end\n# between\n---\n---\nb: 2\n# last",
        "a: | # header\n  # text\n\n # below\nb: >+\n  x\n   # text\n  y\n\n# c\nc: [1, # in\n2]\n",
        "a: 'x # y' # c\nb: \"x\n  # y\" # d\nc: x#y\nd: 0x1f#z #\n#\n",
        "- not\n# a\n- mapping\n",
    ],
)
def test_it_finds_what_libyaml_finds(text: str) -> None:
    reading = second_reader.read(text)
    assert reading.comments == list(comments(text))
    assert reading.comments
    sources, _ = yaml.parse("", text)
    assert not sources or second_reader.same(reading.documents, [source.data for source in sources])


def test_it_finds_it_in_made_documents() -> None:
    for seed in range(100):
        text = Made(seed).text.removeprefix("\ufeff").replace("\r\n", "\n")
        reading = second_reader.read(text)
        assert reading.comments == list(comments(text)), seed
        sources, problems = yaml.parse("", text)
        assert not problems
        assert reading.documents == [source.data for source in sources], seed


@pytest.mark.parametrize(
    ("value", "other"), [(True, 1), (0, False), ("1", 1), ({"a": [1]}, {"a": [True]}), (None, "")]
)
def test_values_of_two_types_differ(value: object, other: object) -> None:
    assert not second_reader.same(value, other)
    assert second_reader.same(value, value)


def _writes(monkeypatch: pytest.MonkeyPatch, old: str, new: str) -> None:
    """A writer with a fault that our own reader does not see."""
    write, parse = format._Writer.write, yaml.parse
    first: list[Any] = []

    def written(self: format._Writer, ordered: Any) -> str:
        return write(self, ordered).replace(old, new)

    def parsed(path: str, text: str) -> Any:
        first.append(parse(path, text))
        return first[0]

    monkeypatch.setattr(format._Writer, "write", written)
    monkeypatch.setattr(yaml, "parse", parsed)


@pytest.mark.parametrize(("old", "new"), [("true", "1"), ("true", "'true'"), ("1", "2")])
def test_a_value_that_only_it_sees(monkeypatch: pytest.MonkeyPatch, old: str, new: str) -> None:
    _writes(monkeypatch, old, new)
    with pytest.raises(NotFormattable, match=r"its values would change, as ruamel\.yaml reads"):
        canonical(MESSY)


def test_a_text_that_it_does_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    _writes(monkeypatch, "b: ", "'b: ")
    monkeypatch.setattr(format, "_rewritten", lambda text: (None, text.replace("b: ", "'b: ")))
    with pytest.raises(NotFormattable, match=r"ruamel\.yaml does not read it: while scanning"):
        canonical(MESSY)


def test_comments_keep_their_order_if_no_key_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    _writes(monkeypatch, "1 # one\na: true # two", "1 # two\na: true # one")
    with pytest.raises(NotFormattable, match="would stand with something else") as refused:
        canonical(MESSY)
    assert refused.value.comment == (1, 8, "# one")


def _unasked(_text: str) -> NoReturn:
    raise AssertionError


def test_it_is_not_asked_of_a_file_that_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    formatted = canonical(LIST)
    monkeypatch.setattr(second_reader, "read", _unasked)
    assert canonical(formatted) == formatted


def test_a_large_file_is_judged_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(second_reader, "read", _unasked)
    monkeypatch.setattr(second_reader, "MAX_CHARACTERS", len(MESSY) - 1)
    assert canonical(MESSY) == "b: 1 # one\na: true # two\n"
    _writes(monkeypatch, " # two", "")
    with pytest.raises(NotFormattable, match="a comment would be lost"):
        canonical(MESSY)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("name: lab", "name: moved", "other values would change too"),
        ("# remark", "# remark # twice", "the comment '# remark # twice' would stand"),
        ("# remark", "[remark", "ruamel.yaml does not read it"),
    ],
)
def test_an_import_changes_what_it_found_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, old: str, new: str, problem: str
) -> None:
    machines = {"w1": server(NIC)}
    run(tmp_path, machines)
    nodes = tmp_path / "nodes-lab.yaml"
    other = "\n---\n# remark\napiVersion: cpuplan.io/v1alpha1\nkind: Cluster\n"
    before = nodes.read_text() + other + "metadata:\n  name: lab\nspec:\n  version: '4.21'\n"
    nodes.write_text(before)
    parse = yaml.parse

    def spliced(text: str, number: int, was: Any, wanted: Any) -> str:
        head, mark, tail = splice(text, number, was, wanted).partition("\n---\n")
        assert old in tail
        return head + mark + tail.replace(old, new)

    def parsed(path: str, text: str) -> Any:
        return parse(path, text.replace(new, old))

    monkeypatch.setattr("cpuplan.write.inventory.update.splice", spliced)
    monkeypatch.setattr(yaml, "parse", parsed)
    with pytest.raises(CpuplanError) as refused:
        run(tmp_path, {**machines, "w2": server(NIC)})
    (diagnostic,) = refused.value.diagnostics
    assert diagnostic.code == "CP114"
    assert problem in diagnostic.message
    assert nodes.read_text() == before
