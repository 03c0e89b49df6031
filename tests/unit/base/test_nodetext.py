"""Numbers and lines as the kernel writes them, and what Python would take for one."""

import pytest

from cpuplan.base.nodetext import integer, lines, natural, seconds

STRANGE = [
    "512\x1c",
    "1" * 5000,
    "9" * 21,
    "\uff11\uff12",
    "\xb2",
    "1_0",
    "+5",
    "1e9",
    "nan",
    "inf",
    "",
    "1 2",
    "7\x85",
    "7\u2028",
]


@pytest.mark.parametrize("text", STRANGE)
def test_what_is_no_number(text: str) -> None:
    assert natural(text) is None
    assert integer(text) is None
    assert seconds(text) is None


def test_what_is_a_number() -> None:
    assert natural(" 512\n") == 512
    assert natural("0007") == 7
    assert natural("-1") is None
    assert integer("-1\n") == -1
    assert integer("0x1F") == 31
    assert natural(str(2**64 - 1)) == 2**64 - 1
    assert seconds("12.50") == 12.5


def test_only_line_ends_end_lines() -> None:
    assert lines("a\x1cb\x85c\u2028d\ne\r\n") == ["a\x1cb\x85c\u2028d", "e"]
    assert lines("") == []
    assert lines("a\n\nb") == ["a", "", "b"]
