"""How many changes are found, by family."""

from collections.abc import Iterator, Sequence

from tests.mutation import neutral
from tests.mutation.families import FAMILIES
from tests.mutation.mutation import Case, Outcome

_WIDTH = 14


def outcomes(case: Case) -> Iterator[Outcome]:
    """Of all changes of a node, those that do not matter last."""
    for mutations in (*FAMILIES.values(), neutral.mutations):
        for mutation in mutations(case):
            yield case.judge(mutation)


def render(outcomes: Sequence[Outcome]) -> str:
    """A line for each family, and one for all."""
    families = list(dict.fromkeys(outcome.mutation.family for outcome in outcomes))
    head = _line("changes of", "changed", "found", "missed", "wrongly")
    lines = [_counted(family, _of(family, outcomes)) for family in families]
    return "\n".join([head, *lines, _counted("all", outcomes)])


def _of(family: str, outcomes: Sequence[Outcome]) -> list[Outcome]:
    return [outcome for outcome in outcomes if outcome.mutation.family == family]


def _counted(name: str, outcomes: Sequence[Outcome]) -> str:
    seen = sum(outcome.is_found for outcome in outcomes)
    wrongly = sum(bool(outcome.wrongly) for outcome in outcomes)
    return _line(name, len(outcomes), seen, len(outcomes) - seen, wrongly)


def _line(name: str, *columns: object) -> str:
    return name.ljust(_WIDTH) + "".join(f"{column:>9}" for column in columns)
