"""All rows of all components, and all defaults."""

from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import chain
from types import ModuleType

from cpuplan.facts.settings import (
    containerd,
    crio,
    host,
    kernel,
    kubelet,
    objects,
    openshift,
    tuned,
)
from cpuplan.facts.settings.costs import UNREAD, Rule
from cpuplan.facts.settings.row import Default, Row

_MODULES: tuple[ModuleType, ...] = (
    kubelet,
    crio,
    containerd,
    openshift,
    kernel,
    host,
    tuned,
    objects,
)


def _named() -> tuple[Row | Default, ...]:
    """What the modules name, in their order; once, since they name each other's too."""
    return tuple(dict.fromkeys(chain.from_iterable(map(_named_in, _MODULES))))


def _named_in(module: ModuleType) -> Iterator[Row | Default]:
    for value in vars(module).values():
        if isinstance(value, Row | Default):
            yield value
        elif isinstance(value, objects.Policy):
            yield from value


def _defaults(value: Row | Default) -> tuple[Default, ...]:
    return value.defaults if isinstance(value, Row) else (value,)


ROWS: tuple[Row, ...] = tuple(value for value in _named() if isinstance(value, Row))
DEFAULTS: tuple[Default, ...] = tuple(dict.fromkeys(chain.from_iterable(map(_defaults, _named()))))
#: What `defaults` of an intent switches.
SWITCHES: dict[str, Default] = {default.name: default for default in DEFAULTS if not default.off_by}


@cache
def row_of(component: str, key: str) -> Row | None:
    """The row of a setting; None for one that the intent says itself."""
    return next((row for row in ROWS if row.is_of(component, key)), None)


@cache
def keys_of(component: str) -> tuple[str, ...]:
    """The keys of a component that no plan fills in."""
    return tuple(row.key for row in ROWS if row.component == component and row.key == row.pattern)


@cache
def defaults_of(component: str, key: str) -> tuple[Default, ...]:
    """The defaults that may be the reason for a setting."""
    row = row_of(component, key)
    return row.defaults if row else ()


@cache
def shown(default: Default) -> tuple[str, ...]:
    """The settings of a default with their values, for people; all of one table as one."""
    rows = [row for row in ROWS if default in row.defaults]
    tables = Counter(_table(row) for row in rows if not row.usually)
    return tuple(dict.fromkeys(_shown(row, tables[_table(row)] > 1) for row in rows))


def _table(row: Row) -> str:
    """The key as far as the first name that plans fill in."""
    head, star, _ = row.pattern.partition("*")
    return f"{row.component} {head}{star}"


def _shown(row: Row, of_table: bool) -> str:
    if row.usually:
        return f"{row.component} {row.pattern} = {row.usually}"
    return _table(row) if of_table else f"{row.component} {row.pattern}"


def rows_in(*modules: ModuleType) -> tuple[Row, ...]:
    """The rows that modules name."""
    named = chain.from_iterable(map(_named_in, modules))
    return tuple(value for value in named if isinstance(value, Row))


def rules(*modules: ModuleType) -> tuple[Rule, ...]:
    """What a change of their settings costs, by rule."""
    made = chain.from_iterable(map(_rules, rows_in(*modules)))
    return tuple(dict.fromkeys(rule for rule in made if rule and rule is not UNREAD))


def _rules(row: Row) -> tuple[Rule | None, ...]:
    return (row.cost, row.when_gone, *(row.program or ()))
