"""What is loaded with the solver, and what is left as it was."""

import os
import subprocess
import sys

import pytest

_LOADED = """
import os, sys
from cpuplan.solve.model import engine
module = engine.cp_model()
model = module.CpModel()
model.add(model.new_int_var(0, 5, "x") >= 3)
threads = len(os.listdir("/proc/self/task"))
print(module.CpSolver().solve(model) == module.OPTIMAL, threads, "pandas" in sys.modules)
print(os.environ.get("OPENBLAS_NUM_THREADS"))
"""


def _run(program: str, **environment: str) -> list[str]:
    kept = {key: text for key, text in os.environ.items() if key != "OPENBLAS_NUM_THREADS"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**kept, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


@pytest.mark.skipif(sys.platform != "linux", reason="counts threads in /proc")
def test_no_threads_and_no_pandas() -> None:
    assert _run(_LOADED) == ["True", "1", "False", "None"]


def test_what_the_environment_says_stays() -> None:
    assert _run(_LOADED, OPENBLAS_NUM_THREADS="2")[-1] == "2"


def test_a_program_that_has_pandas_keeps_it() -> None:
    assert _run(f"import pandas\n{_LOADED}assert pandas is sys.modules['pandas']")[2] == "True"
