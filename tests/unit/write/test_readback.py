"""A text that is read entry by entry says what it says as a whole."""

import random
from pathlib import Path
from typing import Any

import pytest
import yaml

from cpuplan.base.emit import Flow, to_yaml
from cpuplan.write import emitted
from tests.projects import REPOSITORY

FILES = sorted((REPOSITORY / "out").rglob("*.yaml"))
#: Parts of values: what could be taken for an entry, a comment, an end or a marker of a document.
TEXTS = (
    "a",
    "- a",
    "a:",
    "# a",
    "---\n",
    "a: b\n- c\nd:\n",
    "x\n\n",
    "x\n# y\n",
    "'",
    '"',
    "7",
    "",
)


@pytest.fixture(autouse=True, params=[0, 40], ids=["divided to the end", "divided"])
def short(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emitted, "_SHORT", request.param)
    emitted.read.cache_clear()


def whole(text: str) -> tuple[Any, bool]:
    """What a text says, and whether it is what is written of that."""
    value = yaml.load(text, yaml.CSafeLoader)
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    written = to_yaml(value).splitlines()
    return value, lines == [line for line in written if not line.lstrip().startswith("#")]


def some_value(choose: random.Random, depth: int) -> Any:
    kind = choose.randrange(4) if depth else 3
    if kind == 0:
        count = choose.randrange(4)
        return {choose.choice(TEXTS) + str(n): some_value(choose, depth - 1) for n in range(count)}
    if kind == 1:
        return [some_value(choose, depth - 1) for _ in range(choose.randrange(4))]
    return choose.choice((*TEXTS, 7, True, None, Flow({"a": [1, "b"]}) if kind == 2 else "c d"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_files(path: Path) -> None:
    value = yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)
    assert emitted.document(path.read_bytes()) == (value, True)


def test_values_of_any_shape() -> None:
    choose = random.Random(7)  # noqa: S311 - the same texts each time
    for _ in range(500):
        text = to_yaml(some_value(choose, 5), "a comment:")
        assert emitted.document(text.encode()) == whole(text), text


def test_nothing_wrong_is_taken_for_right() -> None:
    """Of a file one line is lost, moved to the right or left, doubled, or opens quotes."""
    choose = random.Random(7)  # noqa: S311 - the same texts each time
    wrong = 0
    for path in FILES:
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        for _ in range(20):
            at = choose.randrange(len(lines))
            line = lines[at]
            changed = choose.choice(("", "  " + line, line[1:], line * 2, line[:-1] + '"\n'))
            text = "".join([*lines[:at], changed, *lines[at + 1 :]])
            try:
                expected = whole(text)
            except (yaml.YAMLError, TypeError):
                expected = None, False
            try:
                written = emitted.document(text.encode())
            except ValueError:
                assert not expected[1], text
            else:
                assert written.is_canonical == expected[1], text
                assert not expected[1] or written.value == expected[0], text
            wrong += not expected[1]
    assert wrong > 100


def test_a_document_begins_at_the_first_column() -> None:
    assert not emitted.document(b" a: 1\n").is_canonical


def test_a_key_that_is_there_twice_is_not_what_is_written() -> None:
    assert not emitted.document(b"a:\n  b: 1\na:\n  b: 1\n").is_canonical


def test_the_line_of_a_mistake_is_that_of_the_whole_text() -> None:
    with pytest.raises(ValueError, match="line 3, column"):
        emitted.document(b'a:\n  b: 1\n  c: "\n')


def test_a_file_of_several_documents() -> None:
    first, second = {"kind": "A", "text": "x\n---\ny\n"}, {"kind": "B"}
    text = f"{to_yaml(first)}---\n{to_yaml(second)}"
    assert emitted.documents(text.encode()) == ([first, second], True)
    assert not emitted.documents(f"---\n{text}".encode()).is_canonical
