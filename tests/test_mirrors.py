"""Each module has its tests, or a reason; and `tests.near` and `tests.mutated_code` find them."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import mutated_code, near
from tests.projects import REPOSITORY


def has_functions(path: str) -> bool:
    """Whether there is something to run: a table is tested by what reads it."""
    kinds = (ast.FunctionDef, ast.ClassDef)
    body = ast.parse((REPOSITORY / path).read_text()).body
    return any(isinstance(statement, kinds) for statement in body)


def test_each_module_has_its_tests_or_a_reason() -> None:
    alone = [path for path in near.modules() if has_functions(path) and not near.named(path)]
    assert alone == [], "a test that mirrors it, or a row with a reason in tests/near.py"


@pytest.mark.parametrize("place", near.ELSEWHERE)
def test_what_is_listed_is_there(place: str) -> None:
    assert (REPOSITORY / place).exists()
    assert [test for test in near.ELSEWHERE[place].tests if not (REPOSITORY / test).exists()] == []


@pytest.mark.parametrize("place", near.ELSEWHERE)
def test_what_is_listed_is_needed(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row goes when the modules have tests without it."""
    monkeypatch.delitem(near.ELSEWHERE, place)
    within = [path for path in near.modules() if path.startswith(place)]
    assert not all(near.named(path) for path in within)


@pytest.mark.parametrize(
    ("path", "test"),
    [
        ("cpuplan/base/cpuset.py", "tests/unit/base/test_cpuset.py"),
        ("tests/near.py", "tests/test_mirrors.py"),
        ("tests/test_mirrors.py", "tests/test_mirrors.py"),
        ("tests/cases/hft/intents/main.yaml", "tests/test_cases.py::test_expected[hft]"),
        (
            "tests/rejected/CP101-tab/case.yaml",
            "tests/test_rejected.py::test_message[CP101-tab]",
        ),
        ("tests/plans/nothing.txt", "tests/test_plans.py"),
        ("docs/reference.md", "tests/test_generated.py"),
        ("templates/bin/place-interrupts.sh", "tests/test_cases.py::test_expected"),
    ],
)
def test_what_concerns_a_file(path: str, test: str) -> None:
    assert (REPOSITORY / path).exists()
    assert test in [found.test for found in near.concerning(path)]


def test_a_part_has_the_tests_of_what_uses_it(monkeypatch: pytest.MonkeyPatch) -> None:
    uses = near.Imports({"cpuplan/a/part.py": {"cpuplan/base/cpuset.py"}}, {})
    for path in ("cpuplan/a/part.py", "cpuplan/base/cpuset.py"):
        uses.tests[path] = set()
    monkeypatch.setattr(near, "imports", lambda: uses)
    (only,) = near.named("cpuplan/a/part.py")
    assert only == (
        "tests/unit/base/test_cpuset.py",
        "mirrors cpuplan/base/cpuset.py, which uses it",
    )


def test_what_very_many_import_has_its_room_only(monkeypatch: pytest.MonkeyPatch) -> None:
    others = {f"tests/unit/other/test_{number}.py" for number in range(near.MANY)}
    path, own = "cpuplan/a/tool.py", "tests/unit/a/test_own.py"
    uses = near.Imports({path: set()}, {path: {own, *others}})
    monkeypatch.setattr(near, "imports", lambda: uses)
    assert [found.test for found in near.named(path)] == [own]


def test_few_tests_of_its_folder_are_run_too() -> None:
    """Not those of a room, which are of one module each."""
    beside = [found.test for found in near.of_module("cpuplan/check/kernel/tunables.py")]
    assert "tests/unit/check/kernel/test_kernel.py" in beside
    assert len(list((REPOSITORY / "tests/unit/backends").glob("test_*.py"))) > near.FEW
    assert "tests/unit/backends/test_pools.py" not in [
        found.test for found in near.of_module("cpuplan/backends/rollouts.py")
    ]


def test_no_test_is_said_with_its_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert near.main(["LICENSE"]) == 2
    assert "no test is known to concern LICENSE" in capsys.readouterr().err


def test_the_list_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    assert near.main(["--list", "cpuplan/base/cpuset.py"]) == 0
    assert (
        "tests/unit/base/test_cpuset.py  (mirrors cpuplan/base/cpuset.py)"
        in capsys.readouterr().out
    )


CODE = """\
LIMIT = 1


def few(numbers: list[int], most: int) -> bool:
    if not numbers and most >= 2:
        return True
    return min(numbers) + most in (3, most)
"""
CHANGED = {
    (5, "and", "or"),
    (5, "not ", ""),
    (5, ">=", ">"),
    (5, "2", "3"),
    (6, "True", "False"),
    (7, "in", "not in"),
    (7, "+", "-"),
    (7, "min", "max"),
    (7, "3", "4"),
}


def test_the_changes_of_a_module() -> None:
    """Those inside functions, of one place each."""
    found = set(mutated_code.changes("a.py", CODE))
    assert {(change.line, change.old, change.new) for change in found} == CHANGED
    for change in found:
        before, after = CODE.splitlines(), change.apply(CODE).splitlines()
        assert [number for number, line in enumerate(after, 1) if line != before[number - 1]] == [
            change.line
        ]
        ast.parse("\n".join(after))


JUDGING = """
import sys
import pytest
from tests.mutant_forks import Judge, Mutant

PATH = "cpuplan/amount.py"
TESTS = {"nearest": ["checks/test_few.py"], "room": ["checks"]}
TEXT = open(PATH).read()


def mutant(old, new):
    before, _, _ = TEXT.partition(old)
    line, column = before.count("\\n") + 1, len(before.rpartition("\\n")[2])
    return Mutant(new, PATH, line, column, TEXT.replace(old, new), TESTS)


def tell(mutant, verdict):
    print(mutant.name, verdict.by, verdict.why, file=sys.stderr)
    assert open(PATH).read() == TEXT


mutants = [mutant(number, number * 2) for number in "1234"]
pytest.main(["checks"], [Judge([mutants], tell)])
"""
FEW = """
from functools import cache


@cache
def few():
    return 0 + 1


def some():
    return 0 + 2


def many():
    return 0 + 3


def none():
    return 0 + 4
"""


def test_what_notices_a_change(tmp_path: Path) -> None:
    """A test that fails without the change too does not count, and results are not kept."""
    files = {
        "pytest.ini": "[pytest]",
        "cpuplan/__init__.py": "",
        "cpuplan/amount.py": FEW.lstrip("\n"),
        "checks/test_few.py": "from cpuplan.amount import few\n\nAT_ONCE = few()\n\n\n"
        "def test_few():\n    assert few() == 1\n",
        "checks/test_some.py": "from cpuplan.amount import some\n\n\n"
        "def test_some():\n    assert some() == 2\n",
        "checks/test_wrong.py": "from cpuplan.amount import many\n\n\n"
        "def test_many():\n    assert many() == 5\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    judged = subprocess.run(
        [sys.executable, "-c", JUDGING],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{REPOSITORY}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert judged.stderr.splitlines() == [
        "11 nearest checks/test_few.py::test_few",
        "22 room checks/test_some.py::test_some",
        "33 nothing 0 tests come there",
        "44 nothing 0 tests come there",
    ]
