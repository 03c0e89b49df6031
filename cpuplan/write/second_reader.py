"""What ruamel.yaml reads in a text: the judge of what is written over a user's file.

Our reader and both writers see a text through libyaml, and would share a mistake of it or of how
they use it. ruamel.yaml has a scanner of its own, for YAML 1.2. Comments are taken where that
scanner sees them: its round trip loses some of them, and hangs others on the entry before.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

from cpuplan.write.comments import Comment

if TYPE_CHECKING:
    from collections.abc import Iterator

#: What is larger is judged by libyaml alone. ruamel.yaml is written in Python and takes 4 to 17 µs
#: for each character: 400,000 keys and values before and after would take 36 s, this 4 to 18 s.
MAX_CHARACTERS = 512 * 1024


class Reading(NamedTuple):
    """The values of each document that is not empty, and the comments of the whole text."""

    documents: list[Any]
    comments: list[Comment]


class UnreadableError(Exception):
    """A text that ruamel.yaml refuses; says why."""


def read(text: str) -> Reading:
    """What ruamel.yaml reads in a text that `read.yaml` accepts. Raises UnreadableError."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError
    from ruamel.yaml.scanner import RoundTripScanner, Scanner

    comments: list[Comment] = []

    class CommentScanner(RoundTripScanner):
        """Notes comments and hands on the tokens of values only."""

        def scan_to_next_token(self) -> None:
            comment = super().scan_to_next_token()
            while comment:
                comments.extend(_comment(comment[0], comment[1]))
                comment = super().scan_to_next_token()

        def scan_block_scalar(self, style: Any, rt: bool | None = False) -> Any:
            # For its round trip a folded text gets marks where its lines end.
            return Scanner.scan_block_scalar(self, style, rt=False)

        def scan_block_scalar_ignored_line(self, start_mark: Any) -> Any:
            mark = self.reader.get_mark()
            comment = super().scan_block_scalar_ignored_line(start_mark)
            comments.extend(_comment(comment or "", mark))
            return comment

        def scan_directive_ignored_line(self, start_mark: Any) -> None:
            # It says of no comment that it has skipped here.
            mark = self.reader.get_mark()
            super().scan_directive_ignored_line(start_mark)
            comments.extend(_comment(text[mark.index : self.reader.get_mark().index], mark))

    reader = YAML(typ="safe", pure=True)
    reader.Scanner = CommentScanner
    try:
        documents = [document for document in reader.load_all(text) if document is not None]
    except (YAMLError, ValueError, OverflowError, RecursionError) as error:
        raise UnreadableError(str(error).partition("\n")[0]) from error
    return Reading(documents, comments)


def same(one: Any, other: Any) -> bool:
    """Whether two values are the same; unlike for Python, `true` and 1 differ."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return repr(one) == repr(other)


def _comment(written: str, mark: Any) -> "Iterator[Comment]":
    """The comment in what was skipped from a mark on; blank lines are skipped the same way."""
    before, sign, after = written.partition("#")
    if sign:
        words = (sign + after.partition("\n")[0]).rstrip()
        yield Comment(mark.line + 1, mark.column + len(before) + 1, words)
