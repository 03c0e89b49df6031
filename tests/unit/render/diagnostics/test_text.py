"""Diagnostics as text: places, source lines and markers."""

import re
from collections.abc import Sequence

import pytest

from cpuplan.diagnostics import Diagnostic, Label, Severity
from cpuplan.diagnostics.source import Position
from cpuplan.render.diagnostics import text as text_format
from cpuplan.render.diagnostics.report import Report, ordered

from .examples import RAN, TWICE

FILES = {
    RAN: [
        "spec:",
        "  pools:",
        '    shared: "2"',
        "",
        "    # two threads",
        '    shared: "4"',
        "    isolated: rest",
    ],
    "inventories/a.yaml": ["cores: 28"],
    "wide.yaml": [
        "\tname\t: 1",
        "日本語: ko\u0301nig",
        "x: " + "0123456789" * 20,
        "a: \x1b[31m\u202eb\u200dc",
        "crlf: 1\r\n",
        "日本語" * 40 + " x",
    ],
}


def read_lines(path: str) -> Sequence[str]:
    if path not in FILES:
        raise FileNotFoundError(path)
    return FILES[path]


def text(*diagnostics: Diagnostic, colour: bool = False) -> str:
    return text_format.render(Report(ordered(diagnostics)), colour=colour, read_lines=read_lines)


def frame(position: Position, *labels: Label) -> list[str]:
    """Only the place and the source lines."""
    rows = text(Diagnostic("CP102", "m", "", position, "here", labels)).splitlines()
    return rows[1:-3]


def test_text() -> None:
    assert (
        text(
            TWICE, Diagnostic("CP109", "two\nlines", "do this\nor that", severity=Severity.WARNING)
        )
        == """\
error[CP102]: key 'shared' appears twice in one mapping
  --> intents/ran.yaml:6:5
   3 |     shared: "2"
     |     ------ first here
 ...
   6 |     shared: "4"
     |     ^^^^^^ again here
  ::: inventories/a.yaml:1:8
   1 | cores: 28
     |        -- 28 cores
  ::: gone.yaml:3:1: also here
  help: keep only one of them
  docs: cpuplan explain CP102

warning[CP109]: two
  lines
  help: do this
        or that
  docs: cpuplan explain CP109

1 error, 1 warning
"""
    )


def test_nothing() -> None:
    assert text() == ""


def test_colour_only_adds() -> None:
    coloured = text(TWICE, colour=True)
    assert coloured.splitlines()[0] == (
        "\x1b[1;31merror[CP102]\x1b[0m\x1b[1m: key 'shared' appears twice in one mapping\x1b[0m"
    )
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == text(TWICE)


@pytest.mark.parametrize(
    ("position", "rows"),
    [
        pytest.param(
            Position("wide.yaml", 1, 9, 10),
            ["   1 |     name    : 1", "     |               ^ here"],
            id="tab",
        ),
        pytest.param(
            Position("wide.yaml", 1, 1, 2),
            ["   1 |     name    : 1", "     | ^^^^ here"],
            id="on a tab",
        ),
        pytest.param(
            Position("wide.yaml", 2, 6, 12),
            ["   2 | 日本語: ko\u0301nig", "     |         ^^^^^ here"],
            id="wide",
        ),
        pytest.param(
            Position("wide.yaml", 2, 2, 3),
            ["   2 | 日本語: ko\u0301nig", "     |   ^^ here"],
            id="on a wide one",
        ),
        pytest.param(
            Position("wide.yaml", 3, 104, 107),
            [
                "   3 | …" + ("0123456789" * 10)[:98] + "…",
                "     | " + " " * 31 + "^^^ here",
            ],
            id="long",
        ),
        pytest.param(
            Position("wide.yaml", 3, 1, 2),
            ["   3 | x: " + ("0123456789" * 10)[:95] + "…", "     | ^ here"],
            id="start of a long one",
        ),
        pytest.param(
            Position("wide.yaml", 3, 203, 204),
            ["   3 | …" + ("0123456789" * 10)[2:], "     | " + " " * 98 + "^ here"],
            id="end of a long one",
        ),
        pytest.param(
            Position("wide.yaml", 6, 122, 123),
            ["   6 | …" + "日本語" * 16 + " x", "     | " + " " * 98 + "^ here"],
            id="wide long",
        ),
        pytest.param(
            Position("wide.yaml", 4, 9, 10),
            ["   4 | a: \\x1b[31m\\u202eb\\u200dc", "     |            ^^^^^^ here"],
            id="unsafe",
        ),
        pytest.param(
            Position("wide.yaml", 5, 7, 8), ["   5 | crlf: 1", "     |       ^ here"], id="line end"
        ),
        pytest.param(
            Position("wide.yaml", 5, 99, 120),
            ["   5 | crlf: 1", "     |        ^ here"],
            id="beyond the line",
        ),
        pytest.param(Position(RAN, 2, 3), ["   2 |   pools:", "     |   ^ here"], id="no end"),
        pytest.param(
            Position(RAN, 2, 3, 99),
            ["   2 |   pools:", "     |   ^^^^^^ here"],
            id="end beyond the line",
        ),
        pytest.param(Position(RAN, 4, 1, 2), ["   4 |", "     | ^ here"], id="empty line"),
    ],
)
def test_markers(position: Position, rows: list[str]) -> None:
    assert frame(position) == [f"  --> {position}", *rows]


def test_place_that_cannot_be_read() -> None:
    assert frame(Position(RAN, 99, 1)) == [f"  --> {RAN}:99:1: here"]
    assert frame(Position("gone.yaml", 1, 1)) == ["  --> gone.yaml:1:1: here"]


def test_not_utf_8() -> None:
    def refuse(path: str) -> Sequence[str]:
        raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, path)

    report = Report((Diagnostic("CP108", "m", "", Position("a", 1, 1)),))
    assert text_format.render(report, read_lines=refuse) == (
        "error[CP108]: m\n  --> a:1:1\n  docs: cpuplan explain CP108\n\n1 error\n"
    )


def test_one_line_between_is_shown() -> None:
    assert frame(Position(RAN, 5, 7, 10), Label(Position(RAN, 7, 5, 13), "there")) == [
        "  --> intents/ran.yaml:5:7",
        "   5 |     # two threads",
        "     |       ^^^ here",
        '   6 |     shared: "4"',
        "   7 |     isolated: rest",
        "     |     -------- there",
    ]


def test_two_markers_on_one_line() -> None:
    assert frame(Position(RAN, 7, 5, 13), Label(Position(RAN, 7, 15, 19), "there")) == [
        "  --> intents/ran.yaml:7:5",
        "   7 |     isolated: rest",
        "     |     ^^^^^^^^ here",
        "     |               ---- there",
    ]


def test_two_markers_on_a_long_line_have_a_window_each() -> None:
    rows = frame(Position("wide.yaml", 3, 150, 151), Label(Position("wide.yaml", 3, 1, 2), "key"))
    assert rows == [
        "  --> wide.yaml:3:150",
        "   3 | x: " + ("0123456789" * 10)[:95] + "…",
        "     | - key",
        "   3 | …" + ("0123456789" * 11)[2:100],
        "     | " + " " * 45 + "^ here",
    ]


def test_far_label_of_the_same_file_has_its_own_frame() -> None:
    def read(path: str) -> Sequence[str]:
        return [f"line {number}" for number in range(1, 30)]

    diagnostic = Diagnostic(
        "CP102", "m", "", Position("a", 20, 1, 5), labels=(Label(Position("a", 11, 6, 8), "far"),)
    )
    assert text_format.render(Report((diagnostic,)), read_lines=read).splitlines()[1:-3] == [
        "  --> a:20:1",
        "  20 | line 20",
        "     | ^^^^",
        "  ::: a:11:6",
        "  11 | line 11",
        "     |      -- far",
    ]


def test_sorted_by_place_then_code() -> None:
    places = [
        Diagnostic("CP102", "none", ""),
        Diagnostic("CP102", "5", "", Position("b", 1, 1)),
        Diagnostic("CP103", "4", "", Position("a", 10, 1)),
        Diagnostic("CP102", "3", "", Position("a", 10, 1)),
        Diagnostic("CP109", "2", "", Position("a", 9, 8)),
        Diagnostic("CP109", "1", "", Position("a", 9, 7)),
    ]
    assert re.findall(r"]: (\w+)", text(*places)) == ["1", "2", "3", "4", "5", "none"]


def _numbered(number: int, of: str = "a", *, line: int = 0) -> Diagnostic:
    place = Position(of, line or number, 1)
    return Diagnostic("CP103", f"number {number}", "", place, severity=Severity.WARNING)


def test_few_of_a_code_are_all_shown() -> None:
    shown = text(*(_numbered(number) for number in range(1, 13)))
    assert shown.count("warning[CP103]: number") == 12
    assert " more" not in shown


def test_of_many_of_a_code_three_are_shown() -> None:
    shown = text(*(_numbered(number) for number in range(1, 10_001)), TWICE)
    assert shown.count("warning[CP103]: number") == 3
    rest = "warning[CP103]: and 9997 more in a, lines 4 to 10000; -v shows them"
    assert shown.endswith(f"\n\n{rest}\n\n1 error, 10000 warnings\n")
    assert "error[CP102]" in shown


def test_of_many_files_those_with_the_most_are_named() -> None:
    of_files = [_numbered(n, f"{file}.yaml") for file in "abcdef" for n in range(1, ord(file))]
    shown = text(*of_files)
    total = len(of_files)
    assert (
        f"and {total - 3} more in 6 files: f.yaml (101), e.yaml (100), d.yaml (99) and 3 more; "
        "-v shows them" in shown
    )


def test_findings_at_one_place_are_shown_once_for_all_classes() -> None:
    on_classes = [
        _numbered(number, line=7)._replace(classes=(f"lab/class-{number}",)) for number in range(9)
    ]
    shown = text(*on_classes, _numbered(1, "b"))
    assert shown.count("warning[CP103]: number") == 2
    assert (
        "  more: and 8 more here, on lab/class-1, lab/class-2, lab/class-3 and 5 more; -v shows "
        "them\n" in shown
    )
    assert shown.endswith("\n\n10 warnings\n")
    verbose = text_format.render(Report(ordered(on_classes), verbose=True), read_lines=read_lines)
    assert verbose.count("warning[CP103]: number") == 9


def test_other_findings_at_one_place_differ_in_what_they_say() -> None:
    shown = text(*(_numbered(number, line=7) for number in range(9)))
    assert shown.count("warning[CP103]: number") == 3
    assert "  more: and 6 more here; -v shows them\n" in shown


def test_of_very_many_places_the_first_ones_are_drawn() -> None:
    position = Position("other.yaml", 100, 1, 2)
    labels = tuple(Label(position._replace(path=f"{n}.yaml"), "one") for n in range(300))
    finding = Diagnostic("CP102", "m", "", position, "here", labels)
    shown = text(finding).splitlines()
    assert sum(":::" in line for line in shown) == 20
    assert "  ... and 280 more places; -v shows them" in shown
    every = text_format.render(Report((finding,), verbose=True), read_lines=read_lines)
    assert every.count(":::") == 300
