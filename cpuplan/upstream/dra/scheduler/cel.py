"""The part of CEL in which selectors of devices are written (dynamic-resource-allocation/cel).

Literals, operators, lists, fields, `in`, `has` and the comparison of quantities. What is beyond is
refused when an expression is read, never guessed.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from cpuplan.upstream.dra.devices import Device
from cpuplan.upstream.dra.names import DRIVER
from cpuplan.upstream.dra.scheduler import nodes
from cpuplan.upstream.dra.scheduler.nodes import Node
from cpuplan.upstream.kubelet import quantity

#: What an expression is made of.
_TOKEN = re.compile(
    r"\s*(?:(?P<number>[0-9]+(?![0-9A-Za-z_.]))|(?P<text>\"[^\"\\\n]*\"|'[^'\\\n]*')"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<sign>&&|\|\||[=!<>]=|[-+*%/<>!?:.,()\[\]]))"
)
_COMPARISONS = ("==", "!=", "in", *nodes.ORDERS)
_LITERALS: Mapping[str, Any] = {"true": True, "false": False, "null": None}
_MOST_TOKENS = 5000
_MOST_DEPTH = 50


class SyntaxCelError(Exception):
    """An expression that is wrong, or that cpuplan does not evaluate."""


class _Token(NamedTuple):
    kind: str
    text: str


def matches(expression: str, device: Device) -> bool:
    """Whether a device is meant; SyntaxCelError or CelError where the scheduler gives up."""
    value = compiled(expression)({"device": _scope(device)})
    if not isinstance(value, bool):
        raise SyntaxCelError("the result is neither true nor false")
    return value


def _scope(device: Device) -> dict[str, Any]:
    attributes: dict[str, Any] = nodes.Domains()
    for name, value in device.attributes.items():
        domain, _, short = name.rpartition("/")
        attributes.setdefault(domain, {})[short] = value
    capacity: dict[str, Any] = nodes.Domains()
    if device.capacity is not None:
        capacity[DRIVER] = {"cpu": quantity.of(device.capacity)}
    return {
        "driver": DRIVER,
        "attributes": attributes,
        "capacity": capacity,
        "allowMultipleAllocations": device.capacity is not None,
    }


@lru_cache(maxsize=1024)
def compiled(expression: str) -> Node:
    """What evaluates an expression; SyntaxCelError for what it cannot."""
    reader = _Reader(list(_tokens(expression)))
    node = reader.ternary(0)
    if reader.left():
        raise SyntaxCelError(f"unexpected {reader.next().text!r}")
    return node


def _tokens(expression: str) -> Iterator[_Token]:
    at = count = 0
    while expression[at:].strip():
        match = _TOKEN.match(expression, at)
        if match is None:
            raise SyntaxCelError(f"cannot evaluate {expression[at:].strip()[:20]!r}")
        count += 1
        if count > _MOST_TOKENS:
            raise SyntaxCelError(f"more than {_MOST_TOKENS} words")
        at, kind = match.end(), match.lastgroup or ""
        yield _Token(kind, match[kind])


class _Reader:
    """Recursive descent, one method for each precedence."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._left = tokens[::-1]

    def left(self) -> int:
        return len(self._left)

    def next(self) -> _Token:
        if not self._left:
            raise SyntaxCelError("the expression ends too early")
        return self._left.pop()

    def _take(self, *texts: str) -> str:
        token = self._left[-1] if self._left else _Token("", "")
        if token.kind != "text" and token.text in texts:
            self._left.pop()
            return token.text
        return ""

    def _need(self, text: str) -> None:
        if not self._take(text):
            actual = self._left[-1].text if self._left else "the end"
            raise SyntaxCelError(f"expected {text!r} instead of {actual!r}")

    def ternary(self, depth: int) -> Node:
        if depth > _MOST_DEPTH:
            raise SyntaxCelError(f"nested deeper than {_MOST_DEPTH}")
        condition = self._either(depth)
        if not self._take("?"):
            return condition
        yes = self.ternary(depth + 1)
        self._need(":")
        no = self.ternary(depth + 1)
        return lambda scope: (yes if nodes.truth(condition(scope)) else no)(scope)

    def _either(self, depth: int) -> Node:
        node = self._both(depth)
        while self._take("||"):
            node = nodes.logical(node, self._both(depth), decisive=True)
        return node

    def _both(self, depth: int) -> Node:
        node = self._comparison(depth)
        while self._take("&&"):
            node = nodes.logical(node, self._comparison(depth), decisive=False)
        return node

    def _comparison(self, depth: int) -> Node:
        node = self._sum(depth)
        while sign := self._take(*_COMPARISONS):
            node = nodes.compared(sign, node, self._sum(depth))
        return node

    def _sum(self, depth: int) -> Node:
        node = self._product(depth)
        while sign := self._take("+", "-"):
            node = nodes.arithmetic(sign, node, self._product(depth))
        return node

    def _product(self, depth: int) -> Node:
        node = self._unary(depth)
        while sign := self._take("*", "/", "%"):
            node = nodes.arithmetic(sign, node, self._unary(depth))
        return node

    def _unary(self, depth: int) -> Node:
        if depth > _MOST_DEPTH:
            raise SyntaxCelError(f"nested deeper than {_MOST_DEPTH}")
        if self._take("!"):
            inner = self._unary(depth + 1)
            return lambda scope: not nodes.truth(inner(scope))
        if self._take("-"):
            operand = self._unary(depth + 1)
            return lambda scope: -nodes.number(operand(scope))
        return self._member(depth)

    def _member(self, depth: int) -> Node:
        node = self._primary(depth)
        while sign := self._take(".", "["):
            if sign == "[":
                node = nodes.indexed(node, self.ternary(depth + 1))
                self._need("]")
                continue
            name = self.next()
            if name.kind != "name":
                raise SyntaxCelError(f"cannot evaluate {name.text!r}")
            node = (
                self._method(node, name.text, depth)
                if self._take("(")
                else nodes.field(node, name.text)
            )
        return node

    def _method(self, node: Node, name: str, depth: int) -> Node:
        call = nodes.METHODS.get(name)
        if call is None:
            raise SyntaxCelError(f"cannot evaluate the function {name}")
        argument = self.ternary(depth + 1)
        self._need(")")
        return lambda scope: call(nodes.amount(node(scope)), nodes.amount(argument(scope)))

    def _primary(self, depth: int) -> Node:
        if self._take("("):
            node = self.ternary(depth + 1)
            self._need(")")
            return node
        if self._take("["):
            return self._list(depth)
        token = self.next()
        if token.kind == "number":
            return nodes.constant(int(token.text))
        if token.kind == "text":
            return nodes.constant(token.text[1:-1])
        if token.kind == "name" and self._take("("):
            return self._function(token.text, depth)
        if token.text in _LITERALS:
            return nodes.constant(_LITERALS[token.text])
        if token.text != "device":
            raise SyntaxCelError(f"cannot evaluate {token.text!r}")
        return lambda scope: scope["device"]

    def _list(self, depth: int) -> Node:
        items: list[Node] = []
        while not self._take("]"):
            if items:
                self._need(",")
            items.append(self.ternary(depth + 1))
        return lambda scope: [item(scope) for item in items]

    def _function(self, name: str, depth: int) -> Node:
        argument = self.ternary(depth + 1)
        self._need(")")
        if name == "has":
            return nodes.has(argument)
        if name != "quantity":
            raise SyntaxCelError(f"cannot evaluate the function {name}")
        return lambda scope: nodes.read_quantity(argument(scope))
