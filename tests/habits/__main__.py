"""Say where the code and the pages break a habit (`python -m tests.habits`); part of `.ci/run`.

Exit code 1: something was found that `allowed.yaml` does not allow, or allows no more.
"""

import argparse
import ast
import gc
import sys
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from tests.habits import allowed, code, modules, prose
from tests.habits.finding import Finding
from tests.projects import REPOSITORY

#: Where files are looked for, and which.
_PATTERNS = (
    "cpuplan/**/*.py",
    "tests/**/*.py",
    "benchmarks/**/*.py",
    "docs/**/*.md",
    "*.md",
)


def files(root: Path) -> list[str]:
    """The paths of all files that have habits."""
    paths = {path for pattern in _PATTERNS for path in root.glob(pattern)}
    return sorted(path.relative_to(root).as_posix() for path in paths)


def findings(root: Path, chosen: Collection[str]) -> Iterator[Finding]:
    """What breaks a habit in these files; what modules are to each other is read from them all."""
    whole_package = any(path.startswith(f"{modules.PACKAGE}/") for path in chosen)
    package = {}
    for path in files(root):
        is_part = whole_package and path.startswith(f"{modules.PACKAGE}/")
        if path not in chosen and not is_part:
            continue
        text = (root / path).read_text()
        if path.endswith(".md"):
            yield from prose.findings(path, text)
            continue
        tree = ast.parse(text, path)
        if path in chosen:
            yield from code.findings(path, tree, text.count("\n"))
        if is_part:
            package[path] = tree
    yield from (finding for finding in modules.findings(package) if finding.path in chosen)


def run(root: Path, words: Sequence[str]) -> int:
    """The tool on a repository: prints what is red, and returns the exit code."""
    parser = argparse.ArgumentParser("python -m tests.habits", description=__doc__)
    parser.add_argument("paths", metavar="PATH", nargs="*", help="files and folders; default: all")
    parser.add_argument("--accept", action="store_true", help="write the lower numbers")
    given = parser.parse_args(words)
    if given.accept and given.paths:
        parser.error("--accept counts all files: give no PATH")
    numbers = allowed.read(root)
    if given.accept:
        return _accept(root, numbers)
    if given.paths:
        chosen = _below(root, given.paths)
        numbers = allowed.Allowed(
            {(rule, path): number for (rule, path), number in numbers.items() if path in chosen}
        )
    else:
        chosen = set(files(root))
    red = allowed.judged(findings(root, chosen), numbers)
    for finding in red:
        print(finding)
    return int(bool(red))


def _below(root: Path, paths: Sequence[str]) -> set[str]:
    """The files that these words of the command line name."""
    named = [Path(path).resolve() for path in paths]
    result = set()
    for path in files(root):
        place = (root / path).resolve()
        if any(place.is_relative_to(folder) for folder in named):
            result.add(path)
    return result


def _accept(root: Path, numbers: allowed.Allowed) -> int:
    counts = allowed.count(findings(root, set(files(root))))
    is_first = not (root / allowed.FILE).exists()
    grown = {} if is_first else allowed.grown(numbers, counts)
    for rule, (before, now) in grown.items():
        print(f"{rule}: {now} places, {before} are allowed: mend what is new")
    if not grown:
        allowed.write(root, counts)
    return int(bool(grown))


if __name__ == "__main__":
    gc.disable()  # the trees of all modules stay until the end: a third of the time
    sys.exit(run(REPOSITORY, sys.argv[1:]))
