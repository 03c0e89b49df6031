"""The oracle of which rules hold together, and its budget.

The budget is a number of calls and not of seconds, so that the answer is always the same. A call
takes long for a machine with many kinds of cores, so fewer are allowed.
"""

from collections.abc import Sequence
from itertools import chain

from cpuplan.solve import alike, effort, model
from cpuplan.solve.alike.forms import names_of
from cpuplan.solve.conflict import Memory, Oracle
from cpuplan.solve.crowds import crowds, is_crowded
from cpuplan.solve.feasibility import greedy
from cpuplan.solve.layout import View
from cpuplan.solve.rules.rule import Problem, Rule

#: About a tenth of a millisecond each: a second for an explanation, and as much for its remedies.
_EFFORT = 10_000
_FEWEST = 8
#: Of more sets than these the unknowns are not counted: that takes the square of them.
_LARGE = 512
#: The seconds of work in which a conflict that was found by counting is made irreducible.
_COUNTED = 0.6
#: What a question takes for each statement beside the search, in units of the limit; and a test of
#: a proposal, which has no others to compare with.
_ASKED, _TRIED = 6e-5, 2e-5
#: A conflict of fewer statements, among few, is found by search in as little time.
_CROWD, _MANY = 10, 100


def budget(problem: Problem) -> int:
    """The number of calls that an explanation of a problem may take."""
    if len(problem.names) > _LARGE:
        return _FEWEST
    return max(_EFFORT // max(model.size(problem), 1), _FEWEST)


def oracle(problem: Problem, calls: int, unfit: Sequence[Rule] = ()) -> Oracle[Rule]:
    """Answers which rules of a problem hold together; a layout answers for other rules too.

    Of the rules `unfit` it is known that they do not.
    """

    def example(rules: Sequence[Rule]) -> View | None:
        effort.current().spend(_ASKED * len(rules))
        if is_crowded(problem.topology, rules):
            return None
        asked = without_idle(problem.having(rules))
        found = greedy.example(asked)
        if found:
            return found
        layout = model.example(asked)
        return None if layout is None else View(problem.topology, layout)

    memory = Memory(problem.rules, example, holds, unfit)

    def first_part(rules: Sequence[Rule], feasible: alike.Feasible) -> list[Rule]:
        for crowd in crowds(problem.topology, rules):
            if len(crowd) >= _CROWD or len(rules) >= _MANY:
                with effort.part(_COUNTED):
                    is_needed = _is_irreducible(crowd, rules, feasible)
                    return crowd if is_needed else alike.minimal(crowd, feasible)
        return alike.minimal(rules, feasible)

    return Oracle(memory.example, holds, calls, first_part, alike.sorts)


def fits(problem: Problem) -> bool:
    """Whether there is a layout, for proposals: False also where that is not known."""
    effort.current().spend(_TRIED * len(problem.rules))
    if is_crowded(problem.topology, problem.rules):
        return False
    return greedy.example(problem) is not None or model.fits(problem)


def holds(rule: Rule, view: object) -> bool:
    """Whether the rule holds for a layout."""
    if not isinstance(view, View):
        return False
    return all(constraint.holds(view) for constraint in rule.constraints)


def _is_irreducible(crowd: Sequence[Rule], rules: Sequence[Rule], feasible: alike.Feasible) -> bool:
    """Whether rules of a crowd, which cannot hold together, can without any one of them.

    Where all rules but this one hold together, so does the crowd, and more is known. Where one is
    not enough for that, no other one is.
    """
    is_enough = [True]

    def feasible_without(some: Sequence[Rule]) -> bool:
        left = set(crowd).difference(some)
        is_enough[0] = is_enough[0] and feasible([rule for rule in rules if rule not in left])
        return is_enough[0] or feasible(some)

    return alike.is_irreducible(crowd, feasible_without)


def without_idle(problem: Problem, *kept: str) -> Problem:
    """The problem without partitions of which no rule speaks: their pools can have their CPUs."""
    named = {*kept, *chain.from_iterable(map(names_of, problem.rules))}
    names = tuple(name for name in problem.names if "." not in name or name in named)
    return problem._replace(names=names)
