"""Text of others in Markdown, where it must be read as text."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpuplan.base.text import printable
from cpuplan.render.plan.markdown import cell, code, plain

#: Letters that Markdown and HTML know, and some that they do not.
TEXTS = st.text("ab01 `*_[]()<>#|~$!&\\{}-+.:@/'\"", min_size=1, max_size=12)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("cpu_manager_state", "cpu_manager_state"),
        ("_x_ and *y*", r"\_x\_ and \*y\*"),
        ("a|b <b> [c](d) `e`", r"a\|b \<b> \[c\](d) \`e\`"),
        ("a\nb", r"a\\nb"),
    ],
)
def test_marks_are_letters(text: str, shown: str) -> None:
    assert plain(text) == shown


def test_a_fence_is_longer_than_any_inside() -> None:
    assert code("a`b``c") == "```a`b``c```"
    assert code("`a") == "`` `a ``"
    assert cell("a|b") == r"`a\|b`"
    assert cell("") == ""


def _content(token: Any) -> str:
    return "".join(child.content for child in token.children)


@given(TEXTS.map(str.strip).filter(bool))
def test_a_reader_sees_the_text_itself(text: str) -> None:
    parser = pytest.importorskip("markdown_it").MarkdownIt("commonmark").enable("table")
    rows = f"| a | b |\n| --- | --- |\n| x{plain(text)}x | {cell(text)} |\n"
    inline = [token for token in parser.parse(rows) if token.type == "inline"][2:]
    assert list(map(_content, inline)) == [f"x{printable(text)}x", printable(text)]
