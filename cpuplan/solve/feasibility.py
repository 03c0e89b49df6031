"""The oracle of which rules hold together, and its budget.

The budget is a number of calls and not of seconds, so that the answer is always the same. A call
takes long for a machine with many kinds of cores, so fewer are allowed.
"""

from collections.abc import Sequence

from cpuplan.solve import alike, model
from cpuplan.solve.conflict import Oracle
from cpuplan.solve.layout import View
from cpuplan.solve.rules.rule import Problem, Rule

#: About a tenth of a millisecond each: a second for an explanation, and as much for its remedies.
_EFFORT = 10_000
_FEWEST = 8


def budget(problem: Problem) -> int:
    """The number of calls that an explanation of a problem may take."""
    return max(_EFFORT // max(model.size(problem), 1), _FEWEST)


def oracle(problem: Problem, calls: int) -> Oracle[Rule]:
    """Answers which rules of a problem hold together; a layout answers for other rules too."""
    known: list[tuple[frozenset[Rule], View]] = []

    def example(rules: Sequence[Rule]) -> View | None:
        chosen = frozenset(rules)
        for held, view in known:
            if chosen <= held:
                return view
        layout = model.example(problem.having(rules))
        if layout is None:
            return None
        view = View(problem.topology, layout)
        known.append((frozenset(rule for rule in problem.rules if holds(rule, view)), view))
        return view

    def holds(rule: Rule, view: object) -> bool:
        if not isinstance(view, View):
            return False
        return all(constraint.holds(view) for constraint in rule.constraints)

    return Oracle(example, holds, calls, alike.minimal)
