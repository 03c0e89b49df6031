"""Other numbers of a statement."""

from collections.abc import Callable, Container, Iterator, Mapping, Sequence

from cpuplan.plan import NodeClass
from cpuplan.solve import model
from cpuplan.solve.remedies.attempt import Attempt
from cpuplan.solve.remedies.edits import Change, edited, setting, short
from cpuplan.solve.rules import problem_of, workloads
from cpuplan.solve.rules.rule import Rule, Statements, scopes_of
from cpuplan.solve.rules.sizes import size
from cpuplan.solve.said import Said

_NUMBERS = ("count", "cores", "percent", "min", "max")
#: How many tests the search for a number is worth.
_SEARCH = 3
#: A number that fits one machine and not another is looked for so often.
_ROUNDS = 3


def numbers(attempt: Attempt, rule: Rule) -> Iterator[tuple[float, Change]]:
    """For each number of a statement the nearest one that fits, the larger of two: (share of
    change, change).
    """
    node_class = attempt.node_class
    path, _, key = rule.field.rpartition(".")
    each = Statements(node_class).sets.get(rule.name)
    if rule.field.startswith("workloads."):
        written = node_class.spec.workloads[int(key)].pods
        yield from _number(attempt, rule, rule.field, {"pods": written}, range(written - 1, 0, -1))
    elif each and each.is_written and key in (*_NUMBERS, "rest"):
        for name in dict.fromkeys((key, "min", "max")):
            if name != "rest" and getattr(each.pool, name) is not None:
                written = getattr(each.pool, name)
                values = _values(node_class, each, name, written)
                yield from _number(attempt, rule, path, {name: written}, values)


def _number(
    attempt: Attempt, rule: Rule, path: str, said: Mapping[str, int], values: Sequence[int]
) -> Iterator[tuple[float, Change]]:
    """The first of the values with which all fits, instead of what is said."""
    ((key, written),) = said.items()
    searches = [_search(attempt.node_class, rule, path, key, values, attempt.left_out)]
    searches += [_search(each, rule, path, key, values, ()) for each in attempt.kin]
    index = 0
    for _ in range(_ROUNDS):
        attempt.tests[0] -= _SEARCH * len(searches)
        found = [search(index) for search in searches] if attempt.tests[0] >= 0 else [None]
        if None in found:
            return
        index = max(each for each in found if each is not None)
        if set(found) == {index}:
            verb = "raise" if values[index] > written else "lower"
            text = f"{verb} {short(path)}.{key} to {values[index]}"
            change = Change(text, setting(path, **{key: values[index]}))
            if attempt.fits(change):
                yield abs(values[index] - written) / max(written, 1), change
            return


def _search(
    node_class: NodeClass,
    rule: Rule,
    path: str,
    key: str,
    values: Sequence[int],
    left_out: Container[str],
) -> Callable[[int], int | None]:
    """What finds the first of the values, from one on, with which a class has a layout."""
    options: list[Rule] = []
    for value in values:
        changed = Statements(edited(node_class, path, **{key: value}))
        rules = (
            workloads.workloads_fit(changed)
            if key == "pods"
            else size(changed, changed.sets[rule.name])
        )
        options += [other for other in rules if other.name == rule.name]
    problem = problem_of(node_class)
    kept = problem.having(
        each for each in problem.rules if each.field != rule.field and each.field not in left_out
    )

    def first_from(start: int) -> int | None:
        index = model.first_feasible(kept, options[start:]) if options[start:] else None
        return None if index is None else start + index

    return first_from


def _values(node_class: NodeClass, each: Said, key: str, written: int) -> list[int]:
    """The other values that a number could have, nearest first; of a range only those that leave
    more freedom.
    """
    scopes = scopes_of(node_class.topology, each.pool.per)
    most = 100 if key == "percent" else max((len(scope.cpus) for scope in scopes), default=0)
    values = {*range(1, most + 1)} - {written}
    if key == "min":
        values = {value for value in values if value < written}
    elif key == "max":
        values = {value for value in values if value > written}
    return sorted(values, key=lambda value: (abs(value - written), -value))
