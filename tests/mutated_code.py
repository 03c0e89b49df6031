"""`python -m tests.mutated_code --seed N --count N`: changes one place of the code at a time, and
says which tests notice: the nearest of `tests.near`, those of the room, or none.

A change is one that a slip of the hand makes: a comparison, a number, `and` for `or`, a `not` less.
All is done in a copy of the repository, by processes that have imported and collected already: in
a fork, the functions of the changed module get their changed code. A first run of the tests tells
which of them come to the statement of a change; only these and the others of their files can notice
it. A test that fails without the change too counts for nothing.
"""

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import pytest

from tests import near
from tests.mutant_forks import Judge, Mutant, Verdict
from tests.projects import SHARED

_COMPARED: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
}
_CALCULATED: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "//"),
    ast.FloorDiv: ("//", "*"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
}
_NAMES = {"min": "max", "max": "min", "any": "all", "all": "any"}


class Change(NamedTuple):
    """A text on one line of a module, and what is put in its place."""

    path: str
    line: int
    start: int
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.old} -> {self.new}"

    def apply(self, text: str) -> str:
        """The module with the change."""
        lines = text.splitlines(keepends=True)
        line = lines[self.line - 1]
        end = self.start + len(self.old)
        lines[self.line - 1] = f"{line[: self.start]}{self.new}{line[end:]}"
        return "".join(lines)


def changes(path: str, text: str) -> Iterator[Change]:
    """Every change of a module that can be made."""
    lines = text.splitlines()
    for function in ast.walk(ast.parse(text)):
        if isinstance(function, ast.FunctionDef):
            for node in (inner for part in function.body for inner in ast.walk(part)):
                yield from _of_node(path, lines, node)


def _of_node(path: str, lines: Sequence[str], node: ast.AST) -> Iterator[Change]:
    match node:
        case ast.Compare(left, [operator], [right]) if type(operator) in _COMPARED:
            yield from _between(path, lines, left, right, *_COMPARED[type(operator)])
        case ast.BinOp(left, operator, right) if type(operator) in _CALCULATED:
            yield from _between(path, lines, left, right, *_CALCULATED[type(operator)])
        case ast.BoolOp(operator, [left, right, *_]):
            words = ("and", "or") if isinstance(operator, ast.And) else ("or", "and")
            yield from _between(path, lines, left, right, *words)
        case ast.UnaryOp(ast.Not()):
            yield Change(path, node.lineno, node.col_offset, "not ", "")
        case ast.Constant(bool() as value):
            yield Change(path, node.lineno, node.col_offset, str(value), str(not value))
        case ast.Constant(int() as value):
            old = lines[node.lineno - 1][node.col_offset : node.end_col_offset]
            yield Change(path, node.lineno, node.col_offset, old, str(value + 1))
        case ast.Call(ast.Name(name)) if name in _NAMES:
            yield Change(path, node.lineno, node.col_offset, name, _NAMES[name])
        case ast.Continue():
            yield Change(path, node.lineno, node.col_offset, "continue", "break")


def _between(
    path: str, lines: Sequence[str], left: ast.expr, right: ast.expr, old: str, new: str
) -> Iterator[Change]:
    """The change of an operator, where both its sides stand on one line."""
    if left.end_lineno == right.lineno and left.end_col_offset is not None:
        line = lines[right.lineno - 1]
        start = line.find(f" {old} ", left.end_col_offset, right.col_offset + 1)
        if start >= 0 and line.isascii():
            yield Change(path, right.lineno, start + 1, old, new)


def sample(seed: int, count: int, below: str = "cpuplan/") -> list[Change]:
    """Some changes of all that can be made, the same for the same code."""
    possible = [
        change
        for path in near.modules()
        if path.startswith(below)
        for change in dict.fromkeys(changes(path, (near.REPOSITORY / path).read_text()))
    ]
    return random.Random(seed).sample(possible, min(count, len(possible)))  # noqa: S311


def judge(chosen: Sequence[Change], temporary: Path) -> None:
    """Print, in a copy, what notices each change, and for each room how many were noticed."""
    by_room = defaultdict(list)
    for change in chosen:
        by_room[_room(change)].append(mutant(change))
    wanted = [
        test
        for room in by_room.values()
        for change in room
        for test in chain(*change.tests.values())
    ]
    numbers: dict[str, Counter[str]] = defaultdict(Counter)
    with os.fdopen(os.dup(sys.stdout.fileno()), "w") as output, Path(os.devnull).open("w") as null:

        def tell(change: Mutant, verdict: Verdict) -> None:
            numbers[change.path.split("/")[1]][verdict.by] += 1
            print(f"{verdict.by:>8}  {change.name}  ({verdict.why})", file=output, flush=True)

        with redirect_stdout(null):
            files = dict.fromkeys(test.partition("::")[0] for test in wanted)
            options = ["-p", "no:cacheprovider", f"--basetemp={temporary}"]
            pytest.main([*options, *files], [Judge(list(by_room.values()), tell)])
    for room, counted in sorted(numbers.items()):
        print(f"{room}: {_counted(counted)}")
    print(f"all: {_counted(sum(numbers.values(), Counter()))}")


def _counted(numbers: Counter[str]) -> str:
    return ", ".join(f"{numbers[name]} {name}" for name in ("nearest", "room", "nothing"))


def mutant(change: Change) -> Mutant:
    """A change in a copy of the repository, and the tests that are to notice it."""
    text = change.apply((near.REPOSITORY / change.path).read_text())
    room = _room(change)
    nearest = [test.test for test in near.concerning(change.path)]
    of_room = [f"{near.UNIT}/{room}", f"{near.UNIT}/test_{room}.py"]
    tests = {"nearest": nearest, "room": [test for test in of_room if Path(test).exists()]}
    return Mutant(str(change), change.path, change.line, change.start, text, tests)


def _room(change: Change) -> str:
    return change.path.split("/")[1].removesuffix(".py")


def copy(folder: Path) -> None:
    """What Git does not ignore, and beside it the recorded data that some tests read."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "-co", "--exclude-standard"],
        cwd=near.REPOSITORY,
        capture_output=True,
        check=True,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(near.REPOSITORY / name, folder / name, follow_symlinks=False)
    if SHARED.is_dir():
        (folder.parent / SHARED.name).symlink_to(SHARED)


def main(words: Sequence[str]) -> int:
    """Print what notices each change, and how many were noticed by what."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutated_code", description=__doc__)
    parser.add_argument("--seed", type=int, default=20261128)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--from", type=int, default=0, dest="first", help="leave out that many")
    parser.add_argument("--below", default="cpuplan/", help="a folder or a module")
    parser.add_argument("--only", default="", help="a text that a change has, as --list prints it")
    parser.add_argument("--list", action="store_true", help="only say which changes")
    parser.add_argument("--copied", type=Path, help="this is the copy; a folder for its tests")
    given = parser.parse_args(words)
    chosen = sample(given.seed, given.count, given.below)[given.first :]
    chosen = [change for change in chosen if given.only in str(change)]
    if given.list:
        print("\n".join(map(str, chosen)))
    elif given.copied:
        judge(chosen, given.copied)
    else:
        _judge_in_copy(words)
    return 0


def _judge_in_copy(words: Sequence[str]) -> None:
    """Judge in a process that imports what is judged from the copy."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "repository")
        copy(folder)
        command = [sys.executable, "-m", "tests.mutated_code", *words]
        subprocess.run(
            [*command, "--copied", str(Path(name, "temporary"))],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(folder)},
            check=True,
        )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
