"""`fmt` keeps every comment: made documents with comments in every place, and all files here.

The generator writes into each comment what it stands with, so nothing of the formatter is asked.
"""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from cpuplan.language.read import yaml
from cpuplan.write import format  # noqa: A004
from cpuplan.write.comments import Block, Tree, comments, tree
from cpuplan.write.format import NotFormattable, canonical
from tests.projects import REPOSITORY, run_in

ROOT_KEYS = ["spec", "metadata", "kind", "apiVersion", "other"]
#: In another order than in the schema.
SPEC_KEYS = ["pools", "target", "isolation", "kubelet", "memory", "workloads", "hugePages"]


class Made:
    """A made text: `above` and `behind` have the comments of each key."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311
        self.lines: list[str] = []
        self.count = 0
        self.above: dict[str, str] = {}
        self.behind: dict[str, str] = {}
        for number in range(self.random.choice([1, 1, 1, 2, 3])):
            if number or self.chance(0.2):
                self.separate()
            self.mapping(0, self.shuffled(ROOT_KEYS), number)
            self.free(0)
        self.text = "\n".join(self.lines) + "\n"
        if self.chance(0.1):
            self.text = self.text.replace("\n", "\r\n")
        if self.chance(0.05):
            self.text = "\ufeff" + self.text

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def shuffled(self, keys: list[str]) -> list[str]:
        return self.random.sample(keys, self.random.randint(1, len(keys)))

    def name(self) -> str:
        self.count += 1
        return f"k{self.count}"

    def comment(self) -> str:
        self.count += 1
        ending = self.random.choice(
            ["", " a: b", " - x", "\ttab", " # #", " é \U0001f600", " '\"{["]
        )
        return f"#{self.random.choice([' ', '', '! '])}<{self.count}>{ending}"

    def separate(self) -> None:
        if self.lines and self.chance(0.3):
            self.lines.append("..." + self.random.choice(["", f" {self.comment()}"]))
            self.free(0)
        self.lines.append("---" + self.random.choice(["", f" {self.comment()}"]))
        self.free(0)

    def free(self, column: int) -> None:
        """Blank lines and comments that need only be kept."""
        for _ in range(self.random.choice([0, 0, 0, 1, 2])):
            blank = self.chance(0.4)
            self.lines.append("" if blank else " " * column + self.comment())

    def lead(self, column: int, key: str, *, is_first: bool) -> None:
        if self.chance(0.3):
            self.lines.append("")
        if self.chance(0.4):
            comment = self.comment()
            if not is_first or column:
                self.above[comment] = key
            self.lines.append(" " * column + comment)

    def tail(self, key: str) -> str:
        if not self.chance(0.35):
            return ""
        comment = self.comment()
        self.behind[comment] = key
        return " " * self.random.choice([1, 1, 2, 7]) + comment

    def mapping(self, column: int, keys: list[str], depth: int, start: str = "") -> None:
        """A block mapping; the first entry goes on in the line `start`."""
        for number, name in enumerate(keys):
            key = name if name in (*ROOT_KEYS, *SPEC_KEYS) else self.name()
            if number or not start:
                self.lead(column, key, is_first=number == 0)
                start = " " * column
            spelled = self.random.choice([key, key, f"'{key}'", f'"{key}"'])
            self.value(start + spelled + ":", column, key, depth)
            start = ""
        if self.chance(0.2):
            self.free(column)

    def value(self, start: str, column: int, key: str, depth: int) -> None:
        inner = column + self.random.choice([2, 2, 3, 4])
        if key == "kind":
            self.lines.append(f"{start} Intent{self.tail(key)}")
        elif key == "spec":
            self.lines.append(start + self.tail(key))
            self.mapping(inner, self.shuffled(SPEC_KEYS), depth + 1)
        elif depth < 4 and self.chance(0.25):
            self.lines.append(start + self.tail(key))
            self.mapping(inner, ["?"] * self.random.randint(1, 3), depth + 1)
        elif depth < 4 and self.chance(0.35):
            self.lines.append(start + self.tail(key))
            self.list(self.random.choice([column, inner]), depth + 1)
        else:
            self.leaf(start, column, inner, key)

    def list(self, column: int, depth: int) -> None:
        for number in range(self.random.randint(1, 4)):
            key = self.name()
            dash = " " * column + "-"
            self.lead(column, key, is_first=number == 0)
            kind = self.random.choice(["flow", "flow", "scalar", "mapping", "alone"])
            if kind == "flow":
                tail = self.tail(key)
                self.lines.append(f"{dash} {{{key}: 1,  b: '# no'}}{tail}")
            elif kind == "scalar":
                self.lines.append(f"{dash} {key}{self.tail(key)}")
            elif kind == "alone":
                self.lines.append(f"{dash}{self.random.choice(['', ' ' + self.comment()])}")
                self.free(column + 2)
                self.lines.append(" " * (column + 2) + f"{key}: 1{self.tail(key)}")
            else:
                self.lines.append(f"{dash} {key}: x{self.tail(key)}")
                self.mapping(column + 2, ["?"] * self.random.randint(1, 2), depth + 1)
        if self.chance(0.2):
            self.free(column + 2)

    def leaf(self, start: str, column: int, inner: int, key: str) -> None:
        if self.chance(0.5):
            self.line(start, column, key)
        elif self.chance(0.2):
            self.block_text(start, " " * inner, key)
        else:
            self.several_lines(start, " " * inner, key)

    def line(self, start: str, column: int, key: str) -> None:
        values = ["", " 'it''s # {no} comment'", ' "a\\" # no\\n\\u202e"', " a#b", " 12"]
        value = self.random.choice([*values, " [a,b , {c: '#'}, \"x\"]"])
        self.lines.append(start + value + self.tail(key))
        if value == " 12" and self.chance(0.2):
            self.lines.append(" " * (column + 9) + self.comment())

    def several_lines(self, start: str, deep: str, key: str) -> None:
        kind = self.random.randrange(6)
        if kind == 0:
            self.lines += [f"{start} plain", f"{deep}goes on{self.tail('goes on')}"]
        elif kind == 1:
            self.lines += [f"{start} 'a", f"{deep}# no", "", f"{deep}b'{self.tail('b')}"]
        elif kind == 2:
            self.lines += [f'{start} "a \\', f'{deep}# no"{self.tail("no")}']
        elif kind == 3:
            self.lines += [f"{start} [a, {self.comment()}", deep + self.comment(), f"{deep}b, c"]
            self.lines.append(f"{deep}]{self.tail(']')}")
        elif kind == 4:
            self.lines += [f"{start} {{a: 1,", f"{deep}b: [2,", f"{deep}3]}}{self.tail('b')}"]
        else:
            self.lines.append(start + self.tail(key))
            self.free(len(deep))
            self.lines.append(f"{deep}'value'{self.tail('value')}")

    def block_text(self, start: str, deep: str, key: str) -> None:
        style = self.random.choice(["|", ">", "|-", ">-", "|+", ">+"])
        self.lines.append(f"{start} {style}{self.tail(key)}")
        if self.chance(0.2):
            self.lines.append("")
        self.lines.append(f"{deep}# no comment")
        for _ in range(self.random.randint(0, 3)):
            self.lines.append(self.random.choice(["", f"{deep}a: b # no", f"{deep}  more\t"]))


def check(text: str) -> str | None:
    """The canonical form, if there is one; its values, and that it is the end."""
    before, problems = yaml.parse("", text)
    assert not problems, (text, problems)
    once = canonical(text.removeprefix("\ufeff"))
    after, problems = yaml.parse("", once)
    assert not problems
    assert [source.data for source in before] == [source.data for source in after]
    assert canonical(once) == once
    return once


def check_made(seed: int) -> None:
    made = Made(seed)
    once = check(made.text)
    assert once is not None
    lines = once.splitlines()
    all_comments = [line[line.index("<") :] for line in made.text.splitlines() if "<" in line]
    assert sorted(all_comments) == sorted(line[line.index("<") :] for line in lines if "<" in line)
    for comment, key in made.behind.items():
        (line,) = [line for line in lines if line.endswith(comment)]
        assert key in line[: -len(comment)], (seed, comment, line)
    for comment, key in made.above.items():
        (number,) = [number for number, line in enumerate(lines) if line.endswith(comment)]
        below = next(_contents(lines[number + 1 :]))
        assert key in below, (seed, comment, key, below)


def _contents(lines: list[str]) -> Iterator[str]:
    """The lines that are more than a comment and a dash."""
    return (line for line in lines if line.strip(" -") and line.strip(" -")[0] != "#")


LIST = "kind: Nodes\nspec:\n  nodes:\n  - {name: w1}\n  # keep: rack 2\n  - {name: w2} # new disk\n"


def test_a_list_of_mappings_in_braces() -> None:
    """ruamel.yaml 0.19.1 lost the comment above the second item."""
    assert canonical(LIST).endswith(LIST)


def test_comments_move_with_their_key() -> None:
    text = "kind: Intent\nspec:\n  # p\n  pools: {}\n  # t\n  targets: [] # tt\n  # end\n"
    assert canonical(text).endswith(
        "spec:\n  # t\n  targets: [] # tt\n  # p\n  pools: {}\n  # end\n"
    )


def test_made_documents() -> None:
    for seed in range(100):
        check_made(seed)


@pytest.mark.slow
def test_many_made_documents() -> None:
    for seed in range(100, 4_000):
        check_made(seed)


@pytest.mark.parametrize("folder", ["intents", "inventories", "tests/cases", "tests/rejected"])
def test_every_file_here(folder: str) -> None:
    """No comment is lost: else there would be no canonical form."""
    count = 0
    for path in sorted((REPOSITORY / folder).rglob("*.yaml")):
        if "CP114" in str(path) or not path.is_file() or yaml.read(path, "")[1]:
            continue
        check(path.read_bytes().decode("utf-8-sig"))
        count += 1
    assert count


def _forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer that drops comments behind values, as one that nobody knows yet may."""

    def remarked(self: format._Writer, line: str, *_rest: object) -> None:
        self._add(line)

    monkeypatch.setattr(format._Writer, "_remarked", remarked)


def test_what_would_be_lost_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    _forgetful(monkeypatch)
    with pytest.raises(NotFormattable, match="a comment would be lost") as refused:
        canonical(LIST)
    assert refused.value.comment == (6, 16, "# new disk")


@pytest.mark.parametrize("arguments", [["fmt"], ["fmt", "--check"]])
def test_nothing_is_written_then(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    arguments: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    _forgetful(monkeypatch)
    path = tmp_path / "inventories/nodes.yaml"
    path.parent.mkdir()
    path.write_text(LIST)
    code, _, error = run_in(tmp_path, arguments, capsys)
    assert code == 1
    assert "error[CP114]" in error
    assert "inventories/nodes.yaml:6:16" in error
    assert path.read_text() == LIST


def test_what_would_stand_elsewhere_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def swapped(text: str) -> Tree:
        made = tree(text)
        if "b: 1" in text and not text.startswith("#"):
            block = made.documents[0].value
            assert isinstance(block, Block)
            first, second = block.entries
            first.tail, second.tail = second.tail, first.tail
        return made

    monkeypatch.setattr(format, "tree", swapped)
    with pytest.raises(NotFormattable, match="a comment would stand with something else"):
        canonical("a: 1 # one\nb: 1\n")


def test_comments_are_found_without_the_tree() -> None:
    text = "# a\nb: 'x # y' # c\nd: | # e\n  # text\n# f\ng: [1, # h\n 2]\n"
    assert list(comments(text)) == [
        (1, 1, "# a"),
        (2, 12, "# c"),
        (3, 6, "# e"),
        (5, 1, "# f"),
        (6, 8, "# h"),
    ]
