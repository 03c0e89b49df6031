"""Habits within a Python file. Its columns are checked by ruff (E501)."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from tests.habits.finding import Finding, Rule

_FUNCTION_LINES = 60
_MODULE_LINES = 800
#: Names that do not say what the value is.
_EMPTY_NAMES = ("each", "found", "one")

_Comprehension = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_Function = (ast.FunctionDef, ast.AsyncFunctionDef)
#: Most nodes of a tree: nothing to look at, and nothing below.
_WITHOUT_PARTS = (ast.expr_context, ast.Constant, ast.operator, ast.cmpop)
_Binding = (ast.Name, ast.arg, ast.ExceptHandler, ast.MatchAs, ast.MatchStar, ast.MatchMapping)


class _Visit(NamedTuple):
    """A node, and what it is part of."""

    node: ast.AST
    in_comprehension: bool = False
    in_condition: bool = False


def findings(path: str, tree: ast.Module, lines: int) -> list[Finding]:
    """What breaks a habit in a module of so many lines, in the order of its lines."""
    result = []
    if lines > _MODULE_LINES:
        what = f"{lines} lines, at most {_MODULE_LINES}: cut it where another subject begins"
        result.append(Finding(path, 1, 1, "long-module", what))
    for visit in _visits(tree):
        for rule, text in _breaches(visit):
            line = getattr(visit.node, "lineno", 1)
            column = getattr(visit.node, "col_offset", 0) + 1
            result.append(Finding(path, line, column, rule, text))
    return sorted(result)


def _visits(tree: ast.Module) -> Iterator[_Visit]:
    todo = [_Visit(tree)]
    while todo:
        visit = todo.pop()
        yield visit
        node, in_comprehension, in_condition = visit
        in_comprehension = in_comprehension or isinstance(node, _Comprehension)
        conditions = _conditions(node)
        todo += (
            _Visit(child, in_comprehension, in_condition or child in conditions)
            for child in ast.iter_child_nodes(node)
            if not isinstance(child, _WITHOUT_PARTS)
        )


def _conditions(node: ast.AST) -> list[ast.expr]:
    """Where `:=` may stand: conditions of `if`, `elif`, `while`, comprehensions and `case`.

    An `assert` is none: Python can run without it (-O), and then the name is missing.
    """
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        return [node.test]
    if isinstance(node, ast.comprehension):
        return node.ifs
    if isinstance(node, ast.match_case) and node.guard:
        return [node.guard]
    return []


def _breaches(visit: _Visit) -> Iterator[tuple[Rule, str]]:
    node = visit.node
    if isinstance(node, _Binding):
        name = _bound(node)
        if name and name.strip("_") in _EMPTY_NAMES:
            yield "value-name", f"{name!r} does not say what it holds: name the value after that"
    elif isinstance(node, _Comprehension):
        if visit.in_comprehension:
            what = "a comprehension in another: give the inner value a name, or a function"
            yield "nested-comprehension", what
    elif isinstance(node, ast.IfExp):
        parts = (node.test, node.body, node.orelse)
        if any(isinstance(part, ast.IfExp) for part in parts):
            what = "a conditional expression in another: write `if` and `elif`, or a table"
            yield "chained-conditional", what
    elif isinstance(node, ast.NamedExpr):
        if not visit.in_condition:
            what = "`:=` outside the condition of an if or while: assign on a line of its own"
            yield "walrus", what
    elif isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        yield from _breaches_of_definition(node)


def _bound(node: ast.AST) -> str | None:
    """The name that a node gives to a value: variable, parameter, exception, pattern."""
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
            return name
        case ast.ExceptHandler(name=name) | ast.MatchAs(name=name) | ast.MatchStar(name=name):
            return name
        case ast.MatchMapping(rest=name):
            return name
    return None


def _breaches_of_definition(
    node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef,
) -> Iterator[tuple[Rule, str]]:
    summary = (ast.get_docstring(node) or "").partition("\n\n")[0]
    if "\n" in summary:
        what = "the summary has several lines: say it on one, and the rest below an empty line"
        yield "docstring-summary", what
    if isinstance(node, _Function):
        lines = (node.end_lineno or node.lineno) - node.lineno + 1
        if lines > _FUNCTION_LINES:
            what = f"{node.name} has {lines} lines, at most {_FUNCTION_LINES}: split its steps"
            yield "long-function", what
