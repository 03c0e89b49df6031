"""The emitted policies against the fields of their API, and what its server checks before CEL.

Fields and limits are those of admissionregistration.k8s.io (kubernetes: api/openapi-spec/v3, and
pkg/apis/admissionregistration/validation), which are the same in v1, v1beta1 and v1alpha1. An API
server drops what it does not know in silence; here that is a mistake.
"""

from typing import Any

import jsonschema
import pytest

from cpuplan.backends import admission
from cpuplan.facts import platforms
from tests.machines.plans import plan

_NAME = {"type": "string", "pattern": r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$", "maxLength": 253}
_QUALIFIED = {
    "type": "string",
    "pattern": r"^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$",
    "maxLength": 63,
}
_EXPRESSION = {"type": "string", "pattern": r"\S"}
_MESSAGE = {"type": "string", "pattern": r"^[^\r\n]*\S[^\r\n]*$"}
_RESERVED = (
    "as break const continue else false for function if "
    "import in let loop namespace null package return true"
)
_IDENTIFIER = {
    "type": "string",
    "pattern": r"^[_a-zA-Z][_a-zA-Z0-9]*$",
    "not": {"enum": [*_RESERVED.split(), "var", "void", "while"]},
}


def fields(required: dict[str, Any], **optional: Any) -> dict[str, Any]:
    """An object with these fields and no others."""
    return {
        "type": "object",
        "properties": required | optional,
        "required": list(required),
        "additionalProperties": False,
    }


def some(items: Any, most: int = 64) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": 1, "maxItems": most}


def one_of(*words: str) -> dict[str, Any]:
    return {"enum": list(words)}


_WORDS = some({"type": "string"})
_RULE = fields(
    {
        "apiGroups": _WORDS,
        "apiVersions": _WORDS,
        "operations": some(one_of("CREATE", "UPDATE", "DELETE", "CONNECT")),
        "resources": _WORDS,
    },
    scope=one_of("*", "Cluster", "Namespaced"),
)
_POLICY: dict[str, Any] = {
    "failurePolicy": one_of("Fail", "Ignore"),
    "matchConditions": some(fields({"name": _QUALIFIED, "expression": _EXPRESSION})),
    "variables": some(fields({"name": _IDENTIFIER, "expression": _EXPRESSION})),
}
_CONSTRAINTS = {"matchConstraints": fields({"resourceRules": some(_RULE)})}
_REASON = one_of("Unauthorized", "Forbidden", "Invalid", "RequestEntityTooLarge")
_VALIDATION = fields(
    {"expression": _EXPRESSION}, message=_MESSAGE, messageExpression=_EXPRESSION, reason=_REASON
)
_MUTATION = fields(
    {"patchType": one_of("JSONPatch"), "jsonPatch": fields({"expression": _EXPRESSION})}
)
#: Deny and Warn together are refused: the same would be said twice.
_ACTIONS = {"enum": [["Deny"], ["Warn"], ["Audit"], ["Deny", "Audit"], ["Warn", "Audit"]]}
_SPECS = {
    "ValidatingAdmissionPolicy": fields(
        _CONSTRAINTS | {"validations": some(_VALIDATION)}, **_POLICY
    ),
    "ValidatingAdmissionPolicyBinding": fields(
        {"policyName": _NAME, "validationActions": _ACTIONS}
    ),
    "MutatingAdmissionPolicy": fields(
        _CONSTRAINTS
        | {"mutations": some(_MUTATION), "reinvocationPolicy": one_of("Never", "IfNeeded")},
        **_POLICY,
    ),
    "MutatingAdmissionPolicyBinding": fields({"policyName": _NAME}),
}


def problems(data: dict[str, Any]) -> list[str]:
    """What an API server of the object's version would say of it."""
    metadata = {"type": "object", "properties": {"name": _NAME}, "required": ["name"]}
    version = {"pattern": r"^admissionregistration\.k8s\.io/v1(alpha1|beta1)?$"}
    kind = {"const": data["kind"]}
    schema = fields(
        {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": _SPECS[data["kind"]]}
    )
    paths = [error.json_path for error in jsonschema.Draft202012Validator(schema).iter_errors(data)]
    names = [
        entry["name"]
        for key in ("matchConditions", "variables")
        for entry in data["spec"].get(key, ())
    ]
    return paths + [name for name in names if names.count(name) > 1]


def objects(platform: str, version: str) -> list[dict[str, Any]]:
    spec = {"runtime": {"mixedCpus": True}}
    configured = plan(shared="2-3", platform=platform, version=version, spec=spec)
    return [manifest.data for manifest in admission.manifests([configured])]


@pytest.mark.parametrize(
    ("platform", "version"),
    [
        (platform, version)
        for platform, of in platforms.PLATFORMS.items()
        for version in of.releases
    ],
)
def test_fields(platform: str, version: str) -> None:
    written = objects(platform, version)
    assert {
        policy["metadata"]["name"]: wrong for policy in written if (wrong := problems(policy))
    } == {}
    policies = {(policy["kind"], policy["metadata"]["name"]) for policy in written}
    for policy in written:
        if policy["kind"].endswith("Binding"):
            assert (
                policy["kind"].removesuffix("Binding"),
                policy["spec"]["policyName"],
            ) in policies


@pytest.mark.parametrize(
    ("kind", "key", "value"),
    [
        ("ValidatingAdmissionPolicy", "validation", []),
        ("ValidatingAdmissionPolicy", "failurePolicy", "Deny"),
        ("ValidatingAdmissionPolicy", "variables", [{"name": "namespace", "expression": "1"}]),
        ("ValidatingAdmissionPolicy", "validations", [{"expression": "true", "message": "a\nb"}]),
        ("ValidatingAdmissionPolicy", "matchConditions", [{"name": "a b", "expression": "true"}]),
        ("ValidatingAdmissionPolicyBinding", "validationActions", ["Deny", "Warn"]),
        ("MutatingAdmissionPolicy", "reinvocationPolicy", "Always"),
        ("MutatingAdmissionPolicy", "mutations", [{"patchType": "ApplyConfiguration"}]),
        ("MutatingAdmissionPolicyBinding", "validationActions", ["Deny"]),
    ],
)
def test_a_wrong_field_is_found(kind: str, key: str, value: Any) -> None:
    right = next(policy for policy in objects("kubernetes", "1.36") if policy["kind"] == kind)
    assert not problems(right)
    assert problems({**right, "spec": {**right["spec"], key: value}})
