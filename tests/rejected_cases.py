"""The cases of `tests/rejected/`: a project that is wrong in one way, and what a command prints.

A folder `CPnnn-<slug>` holds the files that differ from `base`, `case.yaml` and `expected.txt`. A
`case.yaml` has the `arguments` of the command and its `exit` code; before them, what is done to the
project, in `steps` (`tests/case_steps.py`), and what lasts `while` the command runs
(`tests/case_contexts.py`).
"""

import re
from collections.abc import Sequence
from contextlib import AbstractContextManager, chdir, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import click.testing
import yaml

from tests.case_contexts import CONTEXTS
from tests.case_steps import STEPS, Step, call
from tests.projects import REJECTED, make_project


class Case(NamedTuple):
    """One folder of `tests/rejected/`."""

    folder: Path
    arguments: list[str]
    exit_code: int
    steps: Sequence[Step] = ()
    context: Step | None = None

    @property
    def code(self) -> str:
        return self.folder.name.partition("-")[0]


def cases() -> list[Case]:
    """All cases, by name."""
    return [_read(folder) for folder in sorted(REJECTED.glob("CP*"))]


def _read(folder: Path) -> Case:
    data: dict[str, Any] = yaml.safe_load((folder / "case.yaml").read_text())
    arguments, exit_code = data.pop("arguments").split(), data.pop("exit")
    case = Case(folder, arguments, exit_code, data.pop("steps", ()), data.pop("while", None))
    assert not data, f"{folder.name}/case.yaml: what is {', '.join(data)}?"
    return case


def around(case: Case, project: Path) -> AbstractContextManager[object]:
    """Do the steps of a case; what it gives is held while the command runs."""
    for step in case.steps:
        call(STEPS, step, project)
    return call(CONTEXTS, case.context, project) if case.context else nullcontext()


def compile_first(case: Case, target: Path) -> None:
    """Compile the project of a case that compares a node with what was compiled."""
    from cpuplan.cli.main import run

    if case.arguments[0] == "check" and not (target / "out").exists():
        with chdir(target), click.testing.CliRunner().isolation():
            run(["compile"])


def outcome(case: Case, target: Path) -> tuple[int, str]:
    """Run the case in `target`: the exit code, and what a user sees of diagnostics."""
    from cpuplan.cli.main import run

    make_project(target, case.folder)
    for name in ("case.yaml", "expected.txt"):
        (target / name).unlink(missing_ok=True)
    # Without what earlier runs of the user kept: all work is done here.
    env = {"NO_COLOR": "1", "COLUMNS": "100", "CPUPLAN_NO_CACHE": "1"}
    runner = click.testing.CliRunner(env=env)
    compile_first(case, target)
    arranged = around(case, target)
    with chdir(target), arranged, runner.isolation() as (_, error, _both):
        # The numbers of facts grow with what is checked, and say nothing about the case.
        quiet = ["-q"] if case.arguments[0] == "check" else []
        exit_code = run([*case.arguments, *quiet])
        error.flush()
        printed = error.getvalue().decode()
    printed = printed.replace(str(target), "PROJECT")
    # The file of a bug's traceback has a name that nobody else has.
    return exit_code, re.sub(r"/cpuplan-\w+\.txt", "/cpuplan-TRACEBACK.txt", printed)
