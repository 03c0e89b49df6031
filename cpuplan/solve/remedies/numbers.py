"""Other numbers of a statement."""

from collections.abc import Callable, Container, Iterator, Sequence

from cpuplan.language.model.base import attributes
from cpuplan.language.model.pools import Pool
from cpuplan.plan import NodeClass
from cpuplan.solve import feasibility, model
from cpuplan.solve.budget import UndecidedError
from cpuplan.solve.constraints import Amount
from cpuplan.solve.layout import SetSpec
from cpuplan.solve.pigeonhole import is_crowded
from cpuplan.solve.remedies.attempt import Attempt, Change, changed_problem, edited, setting, short
from cpuplan.solve.rules import sizes
from cpuplan.solve.rules.rule import Problem, Rule, Statements, scopes_of
from cpuplan.solve.rules.sizes import is_share, size

_NUMBERS = ("count", "cores", "wholeCaches", "percent", "min", "max")
#: The tests that a search for a number counts as.
_SEARCH = 3
#: The rounds of searches for a number that fits all machines.
_ROUNDS = 3
#: So many numbers are worth a test of whether any of them fits.
_MANY = 100

#: The index of the first value, from one on, with which a class has a layout.
Search = Callable[[int], int | None]


def numbers(attempt: Attempt, rule: Rule) -> Iterator[tuple[float, Change]]:
    """For each number of a statement the nearest one that fits, with the share of the change.

    Of two equally near numbers it is the larger one.
    """
    node_class = attempt.node_class
    path, _, key = rule.field.rpartition(".")
    spec = Statements(node_class).sets.get(rule.name)
    if rule.field.partition(".")[0] == "workloads":
        for index, workload in enumerate(node_class.spec.workloads):
            if workload.pool == rule.name or workload.pool.startswith(f"{rule.name}."):
                most = min(workload.pods - 1, len(node_class.topology.online))
                fewer = range(most, 0, -1)
                field = f"workloads.{index}", "pods"
                yield from _number(attempt, rule, field, workload.pods, fewer)
    elif spec and spec.is_written and key in (*_NUMBERS, "rest"):
        for name in dict.fromkeys((key, "min", "max")):
            number = None if name == "rest" else getattr(spec.pool, attributes(Pool)[name])
            if number is not None:
                values = _values(node_class, spec, name, number)
                yield from _number(attempt, rule, (path, name), number, values)


def _number(
    attempt: Attempt, rule: Rule, field: tuple[str, str], written: int, values: Sequence[int]
) -> Iterator[tuple[float, Change]]:
    """The first of the values of a field (path, key) with which all fits, instead of `written`."""
    cost = _SEARCH * (1 + len(attempt.kin))
    if attempt.tests[0] < cost:  # not even the first round
        attempt.tests[0] -= cost
        return
    searches = [_search(attempt.node_class, rule, field, values, attempt.left_out)]
    searches += [_search(node_class, rule, field, values, ()) for node_class in attempt.kin]
    index = 0
    for _ in range(_ROUNDS):
        attempt.tests[0] -= cost
        if attempt.tests[0] < 0:
            return
        firsts = {search(index) for search in searches}
        if None in firsts:
            return
        index = max(first for first in firsts if first is not None)
        if firsts == {index}:
            change = changed(field, written, values[index])
            if attempt.fits(change):
                yield abs(values[index] - written) / max(written, 1), change
            return


def changed(field: tuple[str, str], written: int, value: int) -> Change:
    """The number at a field (path, key) changed to a value."""
    path, key = field
    verb = "raise" if value > written else "lower"
    text = f"{verb} {short(path)}.{key} to {value}"
    return Change(text, setting(path, **_update(key, value)), f"{path}.{key}")


def _update(key: str, value: int) -> dict[str, int]:
    return {"pods" if key == "pods" else attributes(Pool)[key]: value}


def _search(
    node_class: NodeClass,
    rule: Rule,
    field: tuple[str, str],
    values: Sequence[int],
    left_out: Container[str],
) -> Search:
    problem = changed_problem(node_class)
    others = (other for other in problem.rules if other.field != rule.field)
    kept = problem.having(other for other in others if other.field not in left_out)
    kept = feasibility.without_idle(kept, rule.name)
    options: list[Rule] = []

    def first_from(start: int) -> int | None:
        if not options:
            if _is_in_vain(node_class, rule, field, values, kept):
                return None
            options.extend(_options(node_class, rule, field, values))
        if not options[start:]:
            return None
        try:
            index = model.first_feasible(kept, options[start:])
        except UndecidedError:
            return None
        return None if index is None else start + index

    return first_from


def _options(
    node_class: NodeClass, rule: Rule, field: tuple[str, str], values: Sequence[int]
) -> Iterator[Rule]:
    """The rule with each of the values, in their order.

    Numbers of CPUs, cores and caches are proportional to the value, unless they are shares.
    """
    statements = Statements(node_class)
    first, last = min(values), max(values)
    low, high = (list(with_number(statements, rule, field, end)) for end in (first, last))
    if len(low) != 1 or first == last or _is_share(statements, rule):
        for value in values:
            yield from with_number(statements, rule, field, value)
        return
    pairs = list(zip(low[0].amounts, high[0].amounts, strict=True))
    others = low[0].beside_amounts
    for value in values:
        amounts = [_between(*pair, value - first, last - first) for pair in pairs]
        yield low[0]._replace(constraints=(*amounts, *others))


def _is_share(statements: Statements, rule: Rule) -> bool:
    spec = statements.sets.get(rule.name)
    return spec is None or is_share(spec.pool)


def _between(low: Amount, high: Amount, part: int, whole: int) -> Amount:
    """The amount a part of the way from one to the other."""
    least = low.least + (high.least - low.least) * part // whole
    most = low.most + (high.most - low.most) * part // whole
    return low._replace(least=least, most=most)


def with_number(
    statements: Statements, rule: Rule, field: tuple[str, str], value: int
) -> Iterator[Rule]:
    """The rule with another number in its field."""
    path, key = field
    update = _update(key, value)
    if key == "pods":
        changed = Statements(edited(statements.node_class, path, **update))
        rules = sizes.workloads_fit(changed)
    else:
        changed = statements.with_numbers(rule.name, update)
        rules = size(changed, changed.sets[rule.name])
    return (other for other in rules if other.name == rule.name)


def _is_in_vain(
    node_class: NodeClass,
    rule: Rule,
    field: tuple[str, str],
    values: Sequence[int],
    kept: Problem,
) -> bool:
    """Whether no number from the least to the greatest fits: by counting, or one test for many."""
    if not values:
        return True
    statements = Statements(node_class)
    ends = [with_number(statements, rule, field, end(values)) for end in (min, max)]
    for low, high in zip(*ends, strict=True):
        if low.shares:
            return False
        between = [
            least._replace(least=min(least.least, most.least), most=max(least.most, most.most))
            for least, most in zip(low.amounts, high.amounts, strict=True)
        ]
        widest = low._replace(constraints=(*between, *low.beside_amounts))
        kept = kept.having((*kept.rules, widest))
    if is_crowded(kept.topology, kept.rules):
        return True
    try:
        return len(values) >= _MANY and not model.feasible(kept)
    except UndecidedError:
        return True  # of all of them together less is known than of each


def _values(node_class: NodeClass, spec: SetSpec, key: str, written: int) -> list[int]:
    """The other values that a number could have, nearest first."""
    least, most = limits_of(node_class, spec, key, written)
    values = set(range(least, most + 1)) - {written}
    return sorted(values, key=lambda value: (abs(value - written), -value))


def limits_of(node_class: NodeClass, spec: SetSpec, key: str, written: int) -> tuple[int, int]:
    """The least and the most that a number could be, no more than the machine has.

    Bounds only become looser.
    """
    if key == "percent":
        most = 100
    else:
        level = "numaNode" if spec.pool.per_device else spec.pool.per
        scopes = scopes_of(node_class.topology, level)
        most = max((len(scope.cpus) for scope in scopes), default=0)
    if key == "max":
        return written, max(most, written)
    return 1, min(most, written) if key == "min" else most
