"""Problems of a YAML file's text: characters that readers take differently, and bad syntax."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import yaml
from yaml.reader import ReaderError

from cpuplan.base.composer import LOADER

#: What libyaml counts as the end of a line.
BREAK = re.compile(r"\r\n|[\n\r\x85\u2028\u2029]")
_TAB_OR_BREAK = re.compile(r"\t|\r\n|[\n\r\x85\u2028\u2029]")
_COMMENT = re.compile(r"(?<=[ \t\n\r\x85\u2028\u2029])#")
_CONFLICT = re.compile(r"^<{7} ", re.MULTILINE)

#: Line, first and last column, from 0.
Place = tuple[int, int, int]


class Problem(NamedTuple):
    """A diagnostic without the file's name; `labels` are places with a few words."""

    code: str
    place: Place
    values: dict[str, Any]
    labels: Sequence[tuple[Place, str]] = ()
    ends_reading: bool = False


def oddities(text: str) -> Iterator[Problem]:
    """Byte order marks and line ends of YAML 1.1 (section 4.2), which libyaml takes, 1.2 not."""
    if text.isascii():
        return
    line = start = 0
    for match in re.finditer("\r\n|[\n\r\x85\u2028\u2029\ufeff\ud800-\udfff]", text):
        code = ord(match[0][0])
        shown, column = f"U+{code:04X}", match.start() - start
        place = (line, column, column + 1)
        if 0xD800 <= code <= 0xDFFF:
            yield Problem(
                "CP101", place, {"problem": f"{shown} is half of a character"}, ends_reading=True
            )
        if code == 0xFEFF:
            problem = f"{shown}, a byte order mark, is allowed only at the start of a file"
            yield Problem("CP101", place, {"problem": problem})
            continue
        if code > 0x7F:
            meant = {
                "quoted": f'"\\u{code:04x}"',
                "alternative": "; otherwise end the line as usual",
            }
            yield Problem(
                "CP103",
                place,
                {"text": shown, "first": "the end of a line", "second": "text", **meant},
            )
        line, start = line + 1, match.end()


def tabs(text: str) -> Iterator[Problem]:
    """Tabs outside of quotes, block texts and comments: libyaml takes them, some readers do not."""
    if "\t" not in text:
        return
    kept = [
        (token.start_mark.index, token.end_mark.index)
        for token in yaml.scan(text, LOADER)
        if isinstance(token, yaml.ScalarToken) and not token.plain
    ]
    line = start = index = 0
    for match in _TAB_OR_BREAK.finditer(text):
        at = match.start()
        while index < len(kept) and kept[index][1] <= at:
            index += 1
        if match[0] != "\t":
            line, start = line + 1, match.end()
        elif not (index < len(kept) and kept[index][0] <= at) and not _is_comment(
            text, start, at, kept, index
        ):
            yield Problem("CP113", (line, at - start, at - start + 1), {})


def _is_comment(
    text: str, start: int, at: int, kept: Sequence[tuple[int, int]], index: int
) -> bool:
    """Whether a comment begins in the line from `start` before `at`, after the last quoted text."""
    begin = max(start, kept[index - 1][1]) if index else start
    return bool(_COMMENT.search(text, begin, at)) or text[begin : begin + 1] == "#"


def syntax_problem(text: str, error: yaml.YAMLError) -> Problem:
    """What stopped the parser."""
    if conflict := _CONFLICT.search(text):
        return Problem(
            "CP101", _place(text, conflict.start()), {"problem": "Git left a merge conflict here"}
        )
    if isinstance(error, ReaderError):
        index = error.position
        if error.encoding != "unicode":  # libyaml counts bytes
            index = len(text.encode()[:index].decode(errors="ignore"))
        return Problem(
            "CP101", _place(text, index), {"problem": f"{error.reason} (U+{error.character:04X})"}
        )
    if (
        not isinstance(error, yaml.MarkedYAMLError)
        or (mark := error.problem_mark or error.context_mark) is None
    ):
        return Problem("CP101", (0, 0, 0), {"problem": str(error)})
    labels = []
    context = re.sub("^while (parsing|scanning) ", "", error.context or "")
    if error.context_mark and error.context_mark.index < mark.index:
        labels.append((_place(text, error.context_mark.index), f"{context} starts here"))
    problem = error.problem or context
    character = text[mark.index : mark.index + 1]
    if "flow" in context and character in ("[", "{"):
        problem += f"; a text with {character} in it, such as a range of names, needs quotes here"
    if "cannot start any token" in problem:
        problem = (
            "a tab is not allowed as indentation"
            if character == "\t"
            else f"an unquoted value cannot start with {character!r}"
        )
    index = min(mark.index, len(text.rstrip()))
    return Problem("CP101", _place(text, index), {"problem": problem}, labels)


def _place(text: str, index: int) -> Place:
    """The place of the character at `index` of the text."""
    lines = BREAK.split(text[:index])
    return len(lines) - 1, len(lines[-1]), len(lines[-1]) + 1
