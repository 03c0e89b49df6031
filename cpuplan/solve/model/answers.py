"""Layouts of problems that several classes have: machines of one model, under equal statements.

Such classes differ in names and words, on which no layout depends. A problem that has no layout is
not remembered: what explains that does.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from cpuplan.base.cpuset import CpuSet
from cpuplan.solve import effort
from cpuplan.solve.goals import Aim, Gap
from cpuplan.solve.rules.rule import Problem

#: Answers that are remembered; each has a layout, and the constraints that asked for it.
_MOST = 1 << 12


class Best(NamedTuple):
    """The best layout that was found, and what is not proven of it; nothing, as a rule."""

    layout: dict[str, CpuSet]
    gaps: tuple[Gap, ...]


class _Answer(NamedTuple):
    best: Best
    #: Of the limit.
    spent: float


_answers: dict[Hashable, _Answer] = {}
_are_shared: ContextVar[bool] = ContextVar("are_shared", default=False)


@contextmanager
def shared() -> Iterator[None]:
    """Answers inside are remembered, and taken from those inside of others."""
    token = _are_shared.set(True)
    try:
        yield
    finally:
        _are_shared.reset(token)


def answer(
    problem: Problem,
    aims: Sequence[Aim],
    find: Callable[[Problem, Sequence[Aim]], Best | None],
) -> Best | None:
    """What `find` says; or said, where answers are shared and the limit has as much left."""
    if not _are_shared.get():
        return find(problem, aims)
    limit = effort.current()
    left = limit.left
    key = _key(problem, aims, left)
    known = _answers.get(key)
    if known is None:
        best = find(problem, aims)
        if best:
            _remember(key, _Answer(_copy(best), left - limit.left))
        return best
    limit.spend(known.spent)
    return _copy(known.best)


def _copy(best: Best) -> Best:
    return best._replace(layout=dict(best.layout))


def _key(problem: Problem, aims: Sequence[Aim], left: float) -> Hashable:
    """All that an answer depends on; the topology by its identity, as classes share it."""
    constraints = tuple(rule.constraints for rule in problem.rules)
    return problem.topology, problem.names, constraints, tuple(aims), left


def _remember(key: Hashable, answer: _Answer) -> None:
    if len(_answers) >= _MOST:
        _answers.clear()
    _answers[key] = answer
