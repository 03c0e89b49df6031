"""`python -m tests.mutated_code --seed N --count N`: changes one place of the code at a time, and
says which tests notice: the nearest of `tests.near`, those of the room, or none.

A change is one that a slip of the hand makes: a comparison, a number, `and` for `or`, a `not` less.
Each is made in a copy of the repository. A test that fails without the change too counts for
nothing.
"""

import argparse
import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tests import near
from tests.projects import SHARED

#: A change may make a loop endless.
_SECONDS = 300
_FAILED = re.compile(r"^(?:FAILED|ERROR) ([^\n]+?)(?: - .*)?$", re.MULTILINE)
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


def caught(folder: Path, change: Change) -> str:
    """Which tests notice a change that is made in a copy of the repository."""
    path = folder / change.path
    text = path.read_text()
    room = "/".join(change.path.split("/")[1:2]).removesuffix(".py")
    nearest = [test.test for test in near.concerning(change.path)]
    of_room = [f"{near.UNIT}/{room}", f"{near.UNIT}/test_{room}.py"]
    by = {"nearest": nearest, "room": [test for test in of_room if (folder / test).exists()]}
    for name, tests in by.items():
        _write(path, change.apply(text))
        failed = _failing(folder, tests)
        _write(path, text)
        if failed and not _failing(folder, failed):
            return name
    return "nothing"


def _write(path: Path, text: str) -> None:
    """A module; bytecode of another text can have its size and its second."""
    path.write_text(text)
    for bytecode in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        bytecode.unlink()


def _failing(folder: Path, tests: Sequence[str]) -> list[str]:
    """The first test that fails, or a name for what did not even begin or end."""
    if not tests:
        return []
    command = [sys.executable, "-m", "pytest", "-x", "-rfE", "-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    try:
        result = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return list(tests[:1])
    return _FAILED.findall(result.stdout)[:1] if result.returncode else []


def copy(folder: Path) -> None:
    """The files that Git knows, and beside them the recorded data that some tests read."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=near.REPOSITORY, capture_output=True, check=True
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
    parser.add_argument("--list", action="store_true", help="only say which changes")
    given = parser.parse_args(words)
    chosen = sample(given.seed, given.count, given.below)[given.first :]
    if given.list:
        print("\n".join(map(str, chosen)))
        return 0
    numbers: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "repository")
        copy(folder)
        for change in chosen:
            by = caught(folder, change)
            numbers[by] += 1
            print(f"{by:>8}  {change}", flush=True)
    print(", ".join(f"{name}: {number}" for name, number in numbers.most_common()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
