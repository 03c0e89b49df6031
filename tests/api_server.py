"""What an API server does with the emitted admission policies, as far as they need it.

The expressions are evaluated by cel-python, which knows the language; `quantity`, `join` and
`jsonpatch.escapeKey` are Kubernetes' own (k8s.io/apiserver/pkg/cel/library) and are given here. The
order is the API server's: defaults, mutating policies, defaults, validating ones.
"""

import copy
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import celpy
from celpy import celtypes

_UNITS = {"": Fraction(1), "k": Fraction(10**3), "M": Fraction(10**6), "G": Fraction(10**9)}
_UNITS |= {"n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 10**3)}
_UNITS |= {"Ki": Fraction(1024), "Mi": Fraction(1024**2), "Gi": Fraction(1024**3)}


class JSONPatch(celtypes.MessageType):  # type: ignore[misc]  # celpy has no types
    """An operation of a JSON patch (RFC 6902), as mutating policies make it."""


class Quantity(NamedTuple):
    """An amount; the text does not count."""

    amount: Fraction


class Answer(NamedTuple):
    """What happens to a pod: refusals and warnings by the policies, and the pod as it is then."""

    refusals: list[str]
    warnings: list[str]
    pod: dict[str, Any]


class Request(NamedTuple):
    """A pod that somebody creates or changes; `namespace` is its object."""

    pod: dict[str, Any]
    namespace: dict[str, Any]
    operation: str = "CREATE"
    old: dict[str, Any] | None = None
    resource: str = "pods"
    #: Of who asks: name, and what is known beside it.
    user: Mapping[str, Any] = {}


def admit(objects: Sequence[Mapping[str, Any]], request: Request) -> Answer:
    """Run a request past all bound policies among `objects`."""
    by_name = {(item["kind"], item["metadata"]["name"]): item for item in objects}
    pod = _with_defaults(request.pod)
    for _, policy in _bound(by_name, "MutatingAdmissionPolicy", request):
        pod = _with_defaults(_mutated(policy, request._replace(pod=pod)))
    said: dict[str, list[str]] = {"Deny": [], "Warn": []}
    for binding, policy in _bound(by_name, "ValidatingAdmissionPolicy", request):
        for action in binding["spec"]["validationActions"]:
            said[action] += _problems(policy, request._replace(pod=pod))
    return Answer(said["Deny"], said["Warn"], pod)


def _bound(
    by_name: Mapping[tuple[str, str], Mapping[str, Any]], kind: str, request: Request
) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """(binding, policy) whose constraints take the request."""
    pairs = [
        (binding, by_name[kind, binding["spec"]["policyName"]])
        for (its_kind, _), binding in sorted(by_name.items())
        if its_kind == f"{kind}Binding"
    ]
    return [pair for pair in pairs if _is_for(pair[1], request)]


def _is_for(policy: Mapping[str, Any], request: Request) -> bool:
    rules = policy["spec"]["matchConstraints"]["resourceRules"]
    return any(
        request.operation in rule["operations"] and request.resource in rule["resources"]
        for rule in rules
    )


def _mutated(policy: Mapping[str, Any], request: Request) -> dict[str, Any]:
    activation = _activation(policy, request)
    pod = copy.deepcopy(request.pod)
    if activation is None:
        return pod
    for mutation in policy["spec"]["mutations"]:
        for operation in evaluate(mutation["jsonPatch"]["expression"], activation):
            assert operation["op"] == "add"
            *parents, last = [_unescaped(part) for part in str(operation["path"]).split("/")[1:]]
            place = pod
            for name in parents:
                place = place[name]
            value = operation["value"]
            place[last] = {} if isinstance(value, dict) else str(value)
    return pod


def _problems(policy: Mapping[str, Any], request: Request) -> list[str]:
    activation = _activation(policy, request)
    if activation is None:
        return []
    return [
        _message(validation, activation)
        for validation in policy["spec"]["validations"]
        if not evaluate(validation["expression"], activation)
    ]


def _message(validation: Mapping[str, Any], activation: dict[str, Any]) -> str:
    if "messageExpression" in validation:
        return str(evaluate(validation["messageExpression"], activation))
    return str(validation["message"])


def _activation(policy: Mapping[str, Any], request: Request) -> dict[str, Any] | None:
    """The variables of the policy; None where its conditions pass the request by."""
    given = {
        "object": request.pod,
        "oldObject": request.old,
        "namespaceObject": request.namespace,
        "request": {"operation": request.operation, "userInfo": dict(request.user)},
        "jsonpatch": {},
        "variables": {},
    }
    activation: dict[str, Any] = {name: celpy.json_to_cel(value) for name, value in given.items()}
    spec = policy["spec"]
    if not all(
        evaluate(condition["expression"], activation)
        for condition in spec.get("matchConditions", ())
    ):
        return None
    for variable in spec.get("variables", ()):
        value = evaluate(variable["expression"], activation)
        activation["variables"] = celtypes.MapType(
            {**activation["variables"], variable["name"]: value}
        )
    return activation


def evaluate(expression: str, activation: dict[str, Any]) -> Any:
    """The value of an expression; what is an error in CEL is an exception."""
    return _program(expression).evaluate(activation)


@cache
def _program(expression: str) -> Any:
    environment = celpy.Environment(annotations={"JSONPatch": JSONPatch})
    functions = {
        "dyn": lambda value: value,
        "quantity": _quantity,
        "compareTo": lambda left, right: celtypes.IntType(
            (left.amount > right.amount) - (left.amount < right.amount)
        ),
        "isInteger": lambda quantity: celtypes.BoolType(quantity.amount.denominator == 1),
        "join": lambda texts, between: celtypes.StringType(str(between).join(map(str, texts))),
        "escapeKey": lambda _, key: celtypes.StringType(
            str(key).replace("~", "~0").replace("/", "~1")
        ),
    }
    return environment.program(environment.compile(expression), functions=functions)


def _quantity(text: str) -> Quantity:
    match = re.fullmatch(r"([0-9.]+)(?:e([0-9]+)|([a-zA-Z]*))", str(text))
    assert match, text
    return Quantity(Fraction(match[1]) * 10 ** int(match[2] or 0) * _UNITS[match[3] or ""])


def _unescaped(part: str) -> str:
    return part.replace("~1", "/").replace("~0", "~")


def _with_defaults(pod: dict[str, Any]) -> dict[str, Any]:
    """Requests that are left out come from limits (pkg/apis/core/v1/defaults.go)."""
    made = copy.deepcopy(pod)
    if "containers" not in made.get("spec", {}):  # a binding or a claim
        return made
    for container in [*made["spec"]["containers"], *made["spec"].get("initContainers", [])]:
        resources = container.get("resources", {})
        if limits := resources.get("limits"):
            resources["requests"] = {**limits, **resources.get("requests", {})}
    return made
