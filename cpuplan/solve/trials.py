"""How much is tried to explain a conflict: so many tests, not so many seconds, so that the answer
is always the same.

A test of a machine whose cores are of many kinds takes long, so fewer are allowed.
"""

from collections.abc import Sequence

from cpuplan.solve import conflict, model
from cpuplan.solve.layout import View
from cpuplan.solve.rules.rule import Problem, Rule

#: About a tenth of a millisecond each: a second is left to an explanation, and as much to its
#: remedies.
_EFFORT = 10_000
_FEWEST = 8


def allowed(problem: Problem) -> int:
    """How many tests of a problem an explanation may take."""
    return max(_EFFORT // max(model.size(problem), 1), _FEWEST)


def of_rules(problem: Problem, most: int) -> conflict.Trials[Rule]:
    """Trials of which rules of a problem hold together: a layout shows it, for others than the
    chosen ones too.
    """
    known: list[tuple[frozenset[Rule], View]] = []

    def example(rules: Sequence[Rule]) -> View | None:
        chosen = frozenset(rules)
        if view := next((view for held, view in known if chosen <= held), None):
            return view
        layout = model.example(problem.having(rules))
        if layout is None:
            return None
        view = View(problem.topology, layout)
        known.append((frozenset(rule for rule in problem.rules if holds(rule, view)), view))
        return view

    def holds(rule: Rule, view: object) -> bool:
        return isinstance(view, View) and all(
            constraint.holds(view) for constraint in rule.constraints
        )

    return conflict.Trials(example, holds, most)
