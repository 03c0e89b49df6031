"""`python -m tests.near FILE...`: runs the tests that concern files; `--list` says which and why.

A module's tests are those that mirror it below `tests/unit/` or import it; of a part without any,
those of the modules that use it. Further ones are few tests in the folder that mirrors its own, and
the rejected projects whose codes it reports. A case, a plan or a rejected project is a test itself;
a helper has the tests that import it, and a template the tests of the modules that name it.
"""

import argparse
import ast
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).parents[1]
UNIT = "tests/unit"
#: A module that more test files import is a tool of theirs: those of its own room are run.
MANY = 12
#: A folder with more tests than these is a room, whose tests are of one module each.
FEW = 6
#: Rooms whose modules decide what is in compiled files.
COMPILED = ("backends", "components", "defaults", "emit", "plan", "solve")
EXPECTED = "tests/test_cases.py::test_expected"
_CODE = re.compile(r'"(CP\d{3,4})"')


class Row(NamedTuple):
    """Tests that stand elsewhere than paths and imports say, and why."""

    why: str
    tests: tuple[str, ...]


#: By module or folder of `cpuplan/`: a row goes when its modules have tests without it.
ELSEWHERE: dict[str, Row] = {
    "cpuplan/__main__.py": Row(
        "it runs as a process of its own",
        ("tests/unit/cli/test_process.py",),
    ),
    "cpuplan/check/cluster/": Row(
        "the parts of one look at a cluster",
        ("tests/unit/check/cluster/test_steps.py",),
    ),
    "cpuplan/check/interrupts/": Row(
        "seen only where an interrupt has moved",
        ("tests/unit/check/services/test_steps.py",),
    ),
    "cpuplan/check/kubelet/": Row(
        "a kubelet is judged by all that configures it",
        ("tests/unit/check/kubelet/test_configuration.py",),
    ),
    "cpuplan/check/pods/": Row(
        "changes of running pods, one after the other",
        ("tests/unit/check/pods/test_mutations.py",),
    ),
    "cpuplan/check/runtimes/": Row(
        "a runtime is judged on a whole node",
        ("tests/unit/check/test_host.py",),
    ),
    "cpuplan/change/impact/rules/": Row(
        "a rule is judged by changes of compiled files",
        (
            "tests/unit/change/impact/rules/test_changes.py",
            "tests/unit/change/impact/rules/test_costs.py",
        ),
    ),
    "cpuplan/importers/": Row(
        "each format is found among the others",
        ("tests/unit/importers/test_formats.py",),
    ),
    "cpuplan/upstream/koordinator/webhook/": Row(
        "the parts of one webhook",
        ("tests/unit/upstream/koordinator/test_sloconfig.py",),
    ),
    "cpuplan/upstream/kubelet/memorymanager/": Row(
        "the parts of one policy",
        ("tests/unit/upstream/kubelet/memorymanager/test_policy_static.py",),
    ),
    "cpuplan/upstream/mco/ignition/": Row(
        "the parts of one parser, by version",
        (
            "tests/unit/upstream/mco/ignition/test_parse.py",
            "tests/unit/upstream/mco/ignition/test_validate.py",
        ),
    ),
    "cpuplan/upstream/nri/": Row(
        "what two policies share",
        (
            "tests/unit/upstream/nri/balloons/test_policy.py",
            "tests/unit/upstream/nri/topologyaware/test_answers.py",
        ),
    ),
    "cpuplan/render/answers/": Row(
        "how a command prints",
        ("tests/unit/cli/commands/test_check_many.py",),
    ),
    "cpuplan/render/map/": Row(
        "the parts of one drawing",
        ("tests/unit/render/map/test_hardware.py",),
    ),
    "cpuplan/render/plan/": Row(
        "whole reports are compared",
        (
            "tests/test_plans.py",
            "tests/unit/render/plan/test_report.py",
        ),
    ),
    "cpuplan/render/simulation/": Row(
        "how a command prints",
        ("tests/unit/cli/commands/test_simulate.py",),
    ),
}


class Near(NamedTuple):
    """What pytest is given, and why it concerns a file."""

    test: str
    why: str


class Imports(NamedTuple):
    """Who imports what, by paths of the repository."""

    modules: dict[str, set[str]]
    tests: dict[str, set[str]]


def concerning(path: str) -> list[Near]:
    """The tests of a file, the nearest first, each once."""
    nearest: dict[str, Near] = {}
    for near in _concerning(path):
        nearest.setdefault(near.test, near)
    return list(nearest.values())


def of_module(path: str) -> list[Near]:
    """The tests of a module."""
    return [*named(path), *_beside(path)]


def named(path: str) -> list[Near]:
    """The tests that mirror or import a module; of a part without any, those of its users."""
    own = [*_mirrors(path), *_importing(path)]
    if own:
        return own
    users = sorted(imports().modules[path])
    return [
        near._replace(why=f"{near.why}, which uses it")
        for user in users
        for near in (*_mirrors(user), *_importing(user))
    ]


def _concerning(path: str) -> Iterator[Near]:
    parts = path.split("/")
    match parts:
        case ["cpuplan", *_] if path.endswith(".py"):
            yield from of_module(path)
            yield from _provoking(path)
            if parts[1].removesuffix(".py") in COMPILED:
                yield Near(EXPECTED, "it decides what is compiled")
        case ["tests", "rejected", name, _, *_]:
            yield Near(f"tests/test_rejected.py::test_message[{name}]", "it is part of it")
        case ["tests", "cases", name, _, *_]:
            yield Near(f"{EXPECTED}[{name}]", "it is part of it")
            yield Near(f"tests/test_cases.py::test_case[{name}]", "it is part of it")
        case ["tests", "plans", _]:
            yield Near("tests/test_plans.py", "it is part of it")
        case ["tests", *_, name] if name.startswith("test_") and name.endswith(".py"):
            yield Near(path, "it is that test")
        case ["tests", *_] if path.endswith(".py"):
            yield from (Near(test, f"imports {path}") for test in sorted(imports().tests[path]))
        case ["templates", *rest]:
            yield from _naming("/".join(rest))
            yield Near(EXPECTED, "it may be compiled")
        case ["docs" | "schemas", *_]:
            yield Near("tests/test_generated.py", "it may be generated")
            yield Near("tests/test_pages.py", "it may be a page")


def _mirrors(path: str) -> Iterator[Near]:
    """Tests in the place below `tests/unit/` that a module, or its folder, has below `cpuplan/`."""
    folder, name = _place(path)
    package = folder.removesuffix("/").rpartition("/")[2]
    above = folder.removesuffix(f"{package}/")
    mirrors = (f"{folder}test_{name}.py", f"{folder}test_{package}.py", f"{above}test_{package}.py")
    for mirror in dict.fromkeys(mirrors):
        if (REPOSITORY / UNIT / mirror).exists():
            yield Near(f"{UNIT}/{mirror}", f"mirrors {path}")
    for place, row in ELSEWHERE.items():
        if path == place or (place.endswith("/") and path.startswith(place)):
            yield from (Near(test, f"{place}: {row.why}") for test in row.tests)


def _importing(path: str) -> Iterator[Near]:
    """Tests that import a module; of one that very many import, those of its own room."""
    tests = sorted(imports().tests[path])
    room = f"{UNIT}/{_folder(path)}"
    if len(tests) > MANY:
        tests = [test for test in tests if room != f"{UNIT}/" and test.startswith(room)]
    yield from (Near(test, f"imports {path}") for test in tests)


def _beside(path: str) -> Iterator[Near]:
    """The tests in the folder that mirrors a module's own, where these are few."""
    folder = _folder(path)
    tests = sorted((REPOSITORY / UNIT / folder).glob("test_*.py")) if folder else []
    if len(tests) <= FEW:
        yield from (Near(f"{UNIT}/{folder}{test.name}", f"is of {folder}") for test in tests)


def _provoking(path: str) -> Iterator[Near]:
    """Rejected projects that provoke what a module reports."""
    codes = set(_CODE.findall((REPOSITORY / path).read_text()))
    for folder in sorted((REPOSITORY / "tests/rejected").glob("CP*")):
        code = folder.name.partition("-")[0]
        if code in codes:
            yield Near(f"tests/test_rejected.py::test_message[{folder.name}]", f"provokes {code}")


def _naming(template: str) -> Iterator[Near]:
    """The tests of the modules that name a template."""
    for module in modules():
        if template in (REPOSITORY / module).read_text():
            yield from of_module(module)


def _folder(path: str) -> str:
    """The folder of a module below `cpuplan/`, with its slash; a package is in its own."""
    return path.removeprefix("cpuplan/").rpartition("/")[0] + "/" if path.count("/") > 1 else ""


def _place(path: str) -> tuple[str, str]:
    """Folder and name of a module below `cpuplan/`; of a package, those of its folder."""
    folder, _, name = path.removeprefix("cpuplan/").removesuffix(".py").rpartition("/")
    if name == "__init__":
        folder, _, name = folder.rpartition("/")
    return f"{folder}/" if folder else "", name


@cache
def modules() -> list[str]:
    """The modules of cpuplan."""
    paths = (REPOSITORY / "cpuplan").rglob("*.py")
    return sorted(path.relative_to(REPOSITORY).as_posix() for path in paths)


@cache
def imports() -> Imports:
    """Who imports what directly, in cpuplan and in its tests."""
    helpers = sorted((REPOSITORY / "tests").rglob("*.py"))
    files = [*modules(), *(path.relative_to(REPOSITORY).as_posix() for path in helpers)]
    known = {_dotted(path): path for path in files}
    users: Imports = Imports(defaultdict(set), defaultdict(set))
    for path in files:
        by_kind = users.tests if Path(path).name.startswith("test_") else users.modules
        for name in _imported((REPOSITORY / path).read_text(), known):
            by_kind[known[name]].add(path)
    return users


def _dotted(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _imported(text: str, known: dict[str, str]) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name for name in names if name in known)
            if node.module in known and not all(name in known for name in names):
                yield node.module


def main(words: Sequence[str]) -> int:
    """Run or list the tests of the files; what pytest says, or 2 where there is none."""
    parser = argparse.ArgumentParser(prog="python -m tests.near", description=__doc__)
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--list", action="store_true", help="only say which tests, and why")
    given = parser.parse_args(words)
    paths = [Path(file).resolve().relative_to(REPOSITORY).as_posix() for file in given.files]
    tests = list(dict.fromkeys(near for path in paths for near in concerning(path)))
    if given.list:
        print("\n".join(f"{near.test}  ({near.why})" for near in tests))
    if not tests:
        print(f"no test is known to concern {', '.join(paths)}", file=sys.stderr)
        return 2
    if given.list:
        return 0
    names = dict.fromkeys(near.test for near in tests)
    command = [sys.executable, "-m", "pytest", *names]
    return subprocess.run(command, cwd=REPOSITORY, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
