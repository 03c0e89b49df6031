"""A place that breaks a habit, and the names of the habits."""

from typing import Literal, NamedTuple, get_args

Rule = Literal[
    "chained-conditional",
    "columns",
    "docstring-summary",
    "long-function",
    "long-module",
    "lone-module",
    "module-name",
    "nested-comprehension",
    "unreached-module",
    "value-name",
    "walrus",
]
RULES: tuple[Rule, ...] = get_args(Rule)


class Finding(NamedTuple):
    """What is wrong at a place, and what to do instead; `path` is relative to the repository."""

    path: str
    line: int
    column: int
    rule: Rule
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}: {self.rule} {self.text}"
