"""The part of CEL in which selectors of devices are written.

Literals, operators, lists, fields, `in`, `has` and the comparison of quantities. What is beyond is
refused when an expression is read, never guessed. An expression becomes functions from a scope to a
value.

Upstream: kubernetes/kubernetes staging/src/k8s.io/dynamic-resource-allocation/cel/compile.go
  @ 24e2b02af5543d7910c2bb074c7264df5a8f0467
"""

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from cpuplan.upstream.dra.api import DRIVER
from cpuplan.upstream.dra.builder import Device
from cpuplan.upstream.kubernetes import quantity
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.quantity import Quantity, parse

ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
#: Functions of a quantity and another one.
METHODS: dict[str, Callable[[int, int], Any]] = {
    "compareTo": lambda left, right: (left > right) - (left < right),
    "isGreaterThan": operator.gt,
    "isLessThan": operator.lt,
}
Scope = Mapping[str, Any]
Node = Callable[[Scope], Any]


class CelError(Exception):
    """An expression that fails on a device; the text is that of the evaluator."""


class Domains(dict[str, Any]):
    """Attributes by domain: those of an unknown domain are none."""

    def __missing__(self, domain: str) -> dict[str, Any]:
        return {}


def constant(value: Any) -> Node:
    return lambda scope: value


def logical(left: Node, right: Node, *, decisive: bool) -> Node:
    """One side is enough where it decides, even if the other one fails."""

    def evaluate(scope: Scope) -> bool:
        try:
            if to_truth(left(scope)) is decisive:
                return decisive
        except CelError:
            if to_truth(right(scope)) is decisive:
                return decisive
            raise
        return to_truth(right(scope))

    return evaluate


def comparison(sign: str, left: Node, right: Node) -> Node:
    if sign == "in":
        return lambda scope: _is_in(left(scope), right(scope))
    if sign in ("==", "!="):
        return lambda scope: _equal(left(scope), right(scope)) is (sign == "==")
    order = ORDERS[sign]
    return lambda scope: order(*_alike(left(scope), right(scope)))


def _equal(left: Any, right: Any) -> bool:
    return type(left) is type(right) and bool(left == right)


def _is_in(item: Any, container: Any) -> bool:
    if not isinstance(container, list | dict):
        raise CelError("no such overload")
    return any(_equal(item, member) for member in container)


def _alike(left: Any, right: Any) -> tuple[Any, Any]:
    if type(left) is not type(right) or not isinstance(left, int | str):
        raise CelError("no such overload")
    return left, right


def arithmetic(sign: str, left: Node, right: Node) -> Node:
    def evaluate(scope: Scope) -> Any:
        first, second = left(scope), right(scope)
        if sign == "+" and isinstance(first, str) and isinstance(second, str):
            return first + second
        return _computed(sign, to_number(first), to_number(second))

    return evaluate


def _computed(sign: str, first: int, second: int) -> int:
    if sign == "+":
        return first + second
    if sign == "-":
        return first - second
    if sign == "*":
        return first * second
    if not second:
        raise CelError("division by zero" if sign == "/" else "modulus by zero")
    # Go rounds towards zero, Python down.
    quotient = abs(first) // abs(second) * (1 if (first < 0) == (second < 0) else -1)
    return quotient if sign == "/" else first - quotient * second


def to_number(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise CelError("no such overload")
    return value


def to_truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise CelError("no such overload")
    return value


def to_nano(value: Any) -> int:
    if not isinstance(value, Quantity):
        raise CelError("no such overload")
    return value.nano


def read_quantity(value: Any) -> Quantity:
    try:
        return parse(value)
    except (KubeletError, TypeError) as error:
        raise CelError(str(error)) from None


class _MissingError(CelError):
    """A key that is not there, which `has` asks about."""


def field_of(node: Node, name: str) -> Node:
    return lambda scope: _value_of(node(scope), name)


def item_of(node: Node, key: Node) -> Node:
    return lambda scope: _value_of(node(scope), key(scope))


def _value_of(container: Any, key: Any) -> Any:
    if isinstance(container, Domains) and isinstance(key, str):
        return container[key]
    if not isinstance(container, dict):
        raise CelError("no such overload")
    if key not in container:
        raise _MissingError(f"no such key: {key}")
    value = container[key]
    if value is None:
        raise CelError(f"attribute {key}: a random one of several values")
    return value


def has_field(node: Node) -> Node:
    def evaluate(scope: Scope) -> bool:
        try:
            node(scope)
        except _MissingError:
            return False
        return True

    return evaluate


#: What an expression is made of.
_TOKEN = re.compile(
    r"\s*(?:(?P<number>[0-9]+(?![0-9A-Za-z_.]))|(?P<text>\"[^\"\\\n]*\"|'[^'\\\n]*')"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<sign>&&|\|\||[=!<>]=|[-+*%/<>!?:.,()\[\]]))"
)
_COMPARISONS = ("==", "!=", "in", *ORDERS)
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
    attributes: dict[str, Any] = Domains()
    for name, value in device.attributes.items():
        domain, _, short = name.rpartition("/")
        attributes.setdefault(domain, {})[short] = value
    capacity: dict[str, Any] = Domains()
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
        return lambda scope: (yes if to_truth(condition(scope)) else no)(scope)

    def _either(self, depth: int) -> Node:
        node = self._both(depth)
        while self._take("||"):
            node = logical(node, self._both(depth), decisive=True)
        return node

    def _both(self, depth: int) -> Node:
        node = self._comparison(depth)
        while self._take("&&"):
            node = logical(node, self._comparison(depth), decisive=False)
        return node

    def _comparison(self, depth: int) -> Node:
        node = self._sum(depth)
        while sign := self._take(*_COMPARISONS):
            node = comparison(sign, node, self._sum(depth))
        return node

    def _sum(self, depth: int) -> Node:
        node = self._product(depth)
        while sign := self._take("+", "-"):
            node = arithmetic(sign, node, self._product(depth))
        return node

    def _product(self, depth: int) -> Node:
        node = self._unary(depth)
        while sign := self._take("*", "/", "%"):
            node = arithmetic(sign, node, self._unary(depth))
        return node

    def _unary(self, depth: int) -> Node:
        if depth > _MOST_DEPTH:
            raise SyntaxCelError(f"nested deeper than {_MOST_DEPTH}")
        if self._take("!"):
            inner = self._unary(depth + 1)
            return lambda scope: not to_truth(inner(scope))
        if self._take("-"):
            operand = self._unary(depth + 1)
            return lambda scope: -to_number(operand(scope))
        return self._member(depth)

    def _member(self, depth: int) -> Node:
        node = self._primary(depth)
        while sign := self._take(".", "["):
            if sign == "[":
                node = item_of(node, self.ternary(depth + 1))
                self._need("]")
                continue
            name = self.next()
            if name.kind != "name":
                raise SyntaxCelError(f"cannot evaluate {name.text!r}")
            node = (
                self._method(node, name.text, depth)
                if self._take("(")
                else field_of(node, name.text)
            )
        return node

    def _method(self, node: Node, name: str, depth: int) -> Node:
        call = METHODS.get(name)
        if call is None:
            raise SyntaxCelError(f"cannot evaluate the function {name}")
        argument = self.ternary(depth + 1)
        self._need(")")
        return lambda scope: call(to_nano(node(scope)), to_nano(argument(scope)))

    def _primary(self, depth: int) -> Node:
        if self._take("("):
            node = self.ternary(depth + 1)
            self._need(")")
            return node
        if self._take("["):
            return self._list(depth)
        token = self.next()
        if token.kind == "number":
            return constant(int(token.text))
        if token.kind == "text":
            return constant(token.text[1:-1])
        if token.kind == "name" and self._take("("):
            return self._function(token.text, depth)
        if token.text in _LITERALS:
            return constant(_LITERALS[token.text])
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
            return has_field(argument)
        if name != "quantity":
            raise SyntaxCelError(f"cannot evaluate the function {name}")
        return lambda scope: read_quantity(argument(scope))
