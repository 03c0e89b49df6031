"""Where CP-SAT runs: every search starts here, and ends with the limit of its layout.

Its module is loaded when a layout is first solved, without what no layout needs: OR-Tools imports
pandas, which is most of the time and memory that it takes to load, and NumPy, whose linear algebra
starts threads, and a process with threads cannot be copied for workers.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import accumulate, repeat
from math import ceil
from threading import Event, Thread
from types import ModuleType
from typing import Any, NamedTuple

from cpuplan.solve import budget
from cpuplan.solve.budget import Effort, UndecidedError

_PANDAS = "pandas"
#: Of the libraries for linear algebra that NumPy is built with.
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


@cache
def cp_model() -> Any:
    """The module `ortools.sat.python.cp_model`."""
    with _without_pandas(), _one_thread():
        from ortools.sat.python import cp_model as module
    # Each model would get a second name for each method, which takes as long as a small search.
    module.CpModel._add_pre_pep8_methods = lambda _model: None
    return module


class _Types(ModuleType):
    """A module of types that no value has."""

    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


@contextmanager
def _without_pandas() -> Iterator[None]:
    """CP-SAT asks only whether it is given values of pandas, which it never is here."""
    if _PANDAS in sys.modules:
        yield
        return
    sys.modules[_PANDAS] = _Types(_PANDAS)
    try:
        yield
    finally:
        del sys.modules[_PANDAS]


@contextmanager
def _one_thread() -> Iterator[None]:
    """What the environment says of threads is as before afterwards."""
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ |= dict.fromkeys(_THREADS, "1")
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


#: The deterministic time for an attempt whose failure says nothing: about half a second.
_EASY = 0.3
#: The deterministic time of the first turn of each way to search, and how much longer the next is.
_TURN, _LONGER = 0.25, 4
#: How much longer the first turn is for each unknown: what it takes to begin.
_BEGIN = 3e-5


class Way(NamedTuple):
    """How the solver searches: the levels of four of its parameters.

    Most models are small and so tight that cutting planes and probing cost more than they save.
    """

    sums: int = 2  # over many kinds: branching alone does not bound them
    cuts: int = 0
    probing: int = 0
    simplify: bool = True
    symmetry: int = 0  # models are small and solved often: looking for it mostly costs more


#: A solution with all aims at their bounds is found sooner without a linear program.
_EASILY = Way(sums=0)
#: Parts that nothing distinguishes are proven by probing: what holds of none of them holds.
WAYS = (Way(), Way(probing=2), Way(cuts=1, probing=2))
#: A first turn, in deterministic time, for models that are solved sooner than made simpler.
AT_ONCE, _MOMENT = Way(simplify=False), 0.02
#: The same where the proof is the work: with probing first.
PROOFS = (Way(probing=2), Way(sums=1, probing=2), Way(), Way(cuts=1, probing=2))
#: The same for the choice among equally good layouts, where equal sets and parts can be exchanged.
TIE_PROOFS = (Way(cuts=1, probing=2, symmetry=2), *PROOFS)
#: The way and the time for a proof that is mostly short, and that something else can stand in for.
SHORT_PROOF = (TIE_PROOFS[0],)
_SHORT = 0.1
#: The share of what is left that one aim may take: something must be left for those after it.
SHARE = 0.5
#: What each unknown and each constraint of a model costs before the search: making the model.
_MADE = 4e-6
#: What a float of the solver may be above the integer that it means.
_ROUNDED = 1e-6


class Solution(NamedTuple):
    """A solution, and how good solutions can be."""

    solver: Any  # has the values
    is_best: bool
    least: int  # no solution has a smaller objective


def easy(cp_model: Any, model: Any) -> Any | None:
    """The solver with some solution, if one is easily found."""
    limit = budget.current()
    if limit.is_over:
        return None
    status, solver = _run(cp_model, model, limit, min(_EASY, limit.left), _EASILY)
    return solver if status in (cp_model.FEASIBLE, cp_model.OPTIMAL) else None


def search(
    cp_model: Any,
    model: Any,
    share: float = 1,
    ways: Sequence[Way] = WAYS,
    *,
    is_short: bool = False,
) -> Solution | None:
    """The best solution within a share of what is left of the limit; None if there is none.

    The solver's ways to search take turns, in deterministic time, so that the answer comes the same
    way on every machine. A short search has one turn for each. Raises UndecidedError where that, or
    the limit, ends before a solution is found.
    """
    limit = budget.current()
    reserve = limit.left * (1 - share)
    best: Solution | None = None
    for time, way in _short(ways) if is_short else _turns(model, ways):
        left = limit.left - reserve
        if left <= 0:
            break
        status, solver = _run(cp_model, model, limit, min(time, left), way)
        if status == cp_model.INFEASIBLE:
            return None
        if status == cp_model.OPTIMAL:
            return Solution(solver, is_best=True, least=_least(solver))
        if status == cp_model.FEASIBLE:
            best = _better(best, Solution(solver, is_best=False, least=_least(solver)))
            _start_from(model, best.solver)
    if best is None:
        raise UndecidedError
    return best


def _turns(model: Any, ways: Sequence[Way]) -> Iterator[tuple[float, Way]]:
    first = _TURN + _BEGIN * len(model.proto.variables)
    if AT_ONCE in ways:
        yield _MOMENT, AT_ONCE
    for time in accumulate(repeat(first), lambda turn, _: turn * _LONGER):
        yield from ((time, way) for way in ways if way != AT_ONCE)


def _short(ways: Sequence[Way]) -> Iterator[tuple[float, Way]]:
    yield from ((_SHORT, way) for way in ways)


def _start_from(model: Any, solver: Any) -> None:
    """Let the next turn begin with the values of a solution."""
    values = solver.response_proto.solution
    model.clear_hints()
    model.proto.solution_hint.vars.extend(range(len(values)))
    model.proto.solution_hint.values.extend(values)


def new_solver(cp_model: Any) -> Any:
    """A solver that does the same on every machine."""
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    solver.parameters.catch_sigint_signal = False
    return solver


def _run(cp_model: Any, model: Any, limit: Effort, time: float, way: Way) -> tuple[Any, Any]:
    """The status of one run, which is counted, and the solver with what it found."""
    solver = new_solver(cp_model)
    solver.parameters.linearization_level = way.sums
    solver.parameters.cut_level = way.cuts
    solver.parameters.cp_model_probing_level = way.probing
    solver.parameters.cp_model_presolve = way.simplify
    solver.parameters.symmetry_level = way.symmetry
    solver.parameters.max_deterministic_time = time
    status = _solve(solver, model)
    made = _MADE * (len(model.proto.variables) + len(model.proto.constraints))
    limit.spend(made + solver.response_proto.deterministic_time)
    if status == cp_model.MODEL_INVALID:
        raise RuntimeError(f"the solver refuses its model: {model.validate()}")
    return status, solver


def _solve(solver: Any, model: Any) -> Any:
    """Solve in another thread, for which this one waits: it still gets signals, such as Ctrl-C.

    The solver would take Ctrl-C for a wish to have what was found so far.
    """
    statuses: list[Any] = []
    ended = Event()  # a thread that was waited for in vain cannot be joined again

    def work() -> None:
        try:
            statuses.append(solver.solve(model))
        finally:
            ended.set()

    Thread(target=work, daemon=True).start()
    try:
        ended.wait()
    except BaseException:
        solver.stop_search()
        ended.wait()
        raise
    return statuses[0]


def _least(solver: Any) -> int:
    bound: float = solver.best_objective_bound
    return ceil(bound - _ROUNDED)


def _better(best: Solution | None, other: Solution) -> Solution:
    """The better of two solutions, with the higher of both bounds."""
    if best is None:
        return other
    least = max(best.least, other.least)
    is_better = other.solver.objective_value < best.solver.objective_value
    return (other if is_better else best)._replace(least=least)
