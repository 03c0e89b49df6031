"""What expressions are made of: functions from a scope to a value, with the errors of CEL."""

import operator
from collections.abc import Callable, Mapping
from typing import Any

from cpuplan.upstream.kubelet.errors import KubeletError
from cpuplan.upstream.kubelet.quantity import Quantity, parse

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
            if truth(left(scope)) is decisive:
                return decisive
        except CelError:
            if truth(right(scope)) is decisive:
                return decisive
            raise
        return truth(right(scope))

    return evaluate


def compared(sign: str, left: Node, right: Node) -> Node:
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
        return _computed(sign, number(first), number(second))

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


def number(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise CelError("no such overload")
    return value


def truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise CelError("no such overload")
    return value


def amount(value: Any) -> int:
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


def field(node: Node, name: str) -> Node:
    return lambda scope: _value_of(node(scope), name)


def indexed(node: Node, key: Node) -> Node:
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


def has(node: Node) -> Node:
    def evaluate(scope: Scope) -> bool:
        try:
            node(scope)
        except _MissingError:
            return False
        return True

    return evaluate
