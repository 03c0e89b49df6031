"""`python -m tests.upstream PROJECT OLD NEW --repo FOLDER`: what a new release means for its port.

Modules below `cpuplan/upstream` say in their heads which files of a project they port. Listed are
those files that differ between two commits, or are renamed or gone, each with its modules. Exit
code 1 where there are any, 2 where the question cannot be answered.
"""

import argparse
import ast
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import cpuplan
from cpuplan.diagnostics import CpuplanError
from cpuplan.git.program import LONG, Done, ask, opened
from cpuplan.git.repository import Repository
from cpuplan.git.trees import commit_of

ROOT = Path(cpuplan.__file__).parent / "upstream"
_START = re.compile(r"^Upstream:", re.MULTILINE)
#: A project, files of it that have the same commit, and the commit.
_HEAD = re.compile(r"([\w.-]+/[\w.-]+) (\S+(?: \S+)*) @ ([0-9a-f]{40})")
_FORM = "`Upstream: owner/project path @ commit`, with the 40 digits of the commit"


class Head(NamedTuple):
    """A file of a project that a module ports, as of a commit."""

    module: str
    project: str
    path: str
    commit: str


class Change(NamedTuple):
    """What became of a ported file; lines are None where Git does not count them."""

    what: str
    path: str
    added: int | None = None
    removed: int | None = None
    new_path: str = ""


class UpstreamError(Exception):
    """The question cannot be answered; the message has the remedy."""


def heads_of(module: str, source: str) -> list[Head]:
    """The heads of a module, which end its docstring; none where it holds a docstring only.

    Raises UpstreamError.
    """
    tree = ast.parse(source)
    docstring = ast.get_docstring(tree) or ""
    _, *heads = _START.split(docstring)
    if not heads and len(tree.body) > 1:
        raise UpstreamError(f"{module} has no head: end its docstring with {_FORM}")
    return [head for text in heads for head in _parsed(module, " ".join(text.split()))]


def _parsed(module: str, text: str) -> list[Head]:
    match = _HEAD.fullmatch(text)
    if match is None:
        raise UpstreamError(f"{module}: `Upstream: {text}` is no head: write {_FORM}, at the end")
    project, paths, commit = match.groups()
    return [Head(module, project, path, commit) for path in paths.split()]


def read_heads(root: Path) -> list[Head]:
    """The heads of all modules below a folder. Raises UpstreamError."""
    if not root.is_dir():
        raise UpstreamError(f"{root} is no folder: run this in a checkout of cpuplan")
    heads = []
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root.parent).with_suffix("").parts
        module = ".".join((root.parent.name, *parts)).removesuffix(".__init__")
        heads += heads_of(module, path.read_text())
    return heads


def heads_for(heads: Sequence[Head], project: str) -> list[Head]:
    """Those of a project, whose owner may be left out. Raises UpstreamError."""
    projects = sorted({head.project for head in heads})
    named = [known for known in projects if project in (known, known.partition("/")[2])]
    if len(named) == 1:
        return [head for head in heads if head.project == named[0]]
    problem = "is the name of several projects" if named else "is no project that is ported"
    known = ", ".join(named or projects)
    raise UpstreamError(f"{project} {problem}: name one of {known}")


def changes(repository: Repository, old: str, new: str, paths: Iterable[str]) -> list[Change]:
    """What became of files between two commits, by path; nothing of those that are the same.

    Raises CpuplanError.
    """
    paths = sorted(set(paths))
    listed = _diff(repository, "--no-renames", "--numstat", old, new, "--", *paths)
    lines = {path: (added, removed) for added, removed, path in map(_columns, listed.parts)}
    before, after = (_present(repository, commit, paths) for commit in (old, new))
    gone = [path for path in paths if path in before and path not in after]
    renamed = {change.path: change for change in _renamed(repository, old, new, gone)}
    outcome = []
    for path in paths:
        if path in renamed:
            outcome.append(renamed[path])
        elif path not in before:
            outcome.append(Change("added" if path in after else "unknown", path))
        elif path not in after:
            outcome.append(Change("gone", path))
        elif path in lines:
            outcome.append(Change("changed", path, *lines[path]))
    return outcome


def _renamed(repository: Repository, old: str, new: str, gone: Sequence[str]) -> list[Change]:
    """Where files went, looked for among the new ones that end alike: all would take minutes."""
    if not gone:
        return []
    brought = _diff(repository, "--no-renames", "--diff-filter=A", "--name-only", old, new)
    endings = {Path(path).suffix for path in gone}
    alike = [path for path in brought.parts if Path(path).suffix in endings]
    words = ("--find-renames", "-l0", "--diff-filter=R", "--numstat")
    parts = iter(_diff(repository, *words, old, new, "--", *gone, *alike).parts)
    renamed = []
    for counts in parts:
        added, removed, _ = _columns(counts)
        renamed.append(Change("renamed", next(parts), added, removed, next(parts)))
    return renamed


def _diff(repository: Repository, *words: str) -> Done:
    return ask(repository, "--literal-pathspecs", "diff-tree", "-r", "-z", *words, limit=LONG)


def _columns(line: str) -> tuple[int | None, int | None, str]:
    """A line of `--numstat`: binary files have no counts, renamed ones no path."""
    added, removed, path = line.split("\t", 2)
    return (None if added == "-" else int(added), None if removed == "-" else int(removed), path)


def _present(repository: Repository, commit: str, paths: Sequence[str]) -> set[str]:
    words = ("ls-tree", "-r", "-z", "--name-only", "--full-tree", commit, "--", *paths)
    return set(ask(repository, *words).parts)


def report(heads: Sequence[Head], outcome: Sequence[Change], old: str, new: str) -> str:
    """The changes as text, each with the modules that port the file."""
    modules: dict[str, list[str]] = {}
    for head in heads:
        modules.setdefault(head.path, []).append(head.module)
    count = f"{len(outcome)} of {len(modules)} ported files"
    lines = [f"{heads[0].project} {old[:12]}..{new[:12]}: {count} changed"]
    for change in outcome:
        where = f" -> {change.new_path}" if change.new_path else ""
        counted = "" if change.added is None else f" (+{change.added} -{change.removed})"
        lines.append(f"{change.what}: {change.path}{where}{counted}")
        lines += (f"    {module}" for module in modules[change.path])
    others = sorted({head.module for head in heads if head.commit != old})
    if others:
        lines.append(f"heads at another commit than {old[:12]}:")
        lines += (f"    {module}" for module in others)
    return "\n".join(lines)


def main(words: Sequence[str], root: Path = ROOT) -> int:
    """Print what changed; see the module."""
    parser = argparse.ArgumentParser(prog="python -m tests.upstream", description=__doc__)
    parser.add_argument("project", metavar="PROJECT", help="as heads name it: owner/project")
    parser.add_argument("old", metavar="OLD", help="the commit or tag that is ported")
    parser.add_argument("new", metavar="NEW", help="the commit or tag to go to")
    parser.add_argument("--repo", type=Path, required=True, help="a clone, with work tree or bare")
    given = parser.parse_args(words)
    try:
        heads = heads_for(read_heads(root), given.project)
        with opened(given.repo, bare=True) as repository:
            old, new = (commit_of(repository, name) for name in (given.old, given.new))
            outcome = changes(repository, old, new, (head.path for head in heads))
    except UpstreamError as error:
        print(error, file=sys.stderr)
        return 2
    except CpuplanError as error:
        for diagnostic in error.diagnostics:
            print(f"{diagnostic.message}: {diagnostic.remedy}", file=sys.stderr)
        return 2
    print(report(heads, outcome, old, new))
    return 1 if outcome else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
