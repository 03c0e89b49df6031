"""Policies that keep claims to partitions: without them, a claim of the class of the driver's chart
takes any CPU of any node.

A template is checked where it is written, and the claims that are made of it once more. Only new
ones are: the devices of a claim never change.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cpuplan.backends.base import POLICY_WAVE, Manifest, metadata
from cpuplan.components.dra import classes, names
from cpuplan.language.model.words import PARTITION
from cpuplan.plan import ConfiguredPlan
from cpuplan.upstream.dra.api import GROUPED

GROUP = "admissionregistration.k8s.io"
KIND = "ValidatingAdmissionPolicy"
NAME = "cpuplan-dra-partitions"
#: The resources with requests, the name of each policy, and where an object has its devices.
_RESOURCES = (
    ("resourceclaims", NAME, "object.spec"),
    ("resourceclaimtemplates", f"{NAME}-templates", "object.spec.spec"),
)


def manifests(plans: Sequence[ConfiguredPlan]) -> Iterator[Manifest]:
    """A policy for claims and one for templates, with their bindings; none without partitions."""
    if not any(plan.settings.of(classes.NAME) for plan in plans):
        return
    has_groups = any(names.mode(plan) == GROUPED for plan in plans)
    allowed = _allowed(plans)
    for resource, name, spec in _RESOURCES:
        yield from _objects(name, _policy(resource, spec, allowed, has_groups=has_groups))


def _allowed(plans: Sequence[ConfiguredPlan]) -> dict[str, tuple[str, ...]]:
    """The namespaces of each DeviceClass that not all may name."""
    return {
        classes.name(plan, f"{PARTITION}{partition}"): tuple(sorted(namespaces))
        for plan in plans
        for partition, namespaces in sorted(plan.node_class.target.dra.namespaces.items())
    }


def _objects(name: str, spec: dict[str, Any]) -> Iterator[Manifest]:
    head = {"apiVersion": f"{GROUP}/v1", "metadata": metadata(name, POLICY_WAVE)}
    yield Manifest(f"20-{KIND.lower()}-{name}.yaml", {**head, "kind": KIND, "spec": spec})
    bound = {"policyName": name, "validationActions": ["Deny"]}
    binding = {**head, "kind": f"{KIND}Binding", "spec": bound}
    yield Manifest(f"20-{KIND.lower()}binding-{name}.yaml", binding)


def _policy(
    resource: str, spec: str, allowed: Mapping[str, Sequence[str]], *, has_groups: bool
) -> dict[str, Any]:
    rule = {
        "apiGroups": ["resource.k8s.io"],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": [resource],
    }
    return {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [rule]},
        "variables": [
            {"name": name, "expression": text}
            for name, text in _variables(spec, allowed, has_groups=has_groups).items()
        ],
        "validations": list(_validations()),
    }


def _variables(
    spec: str, allowed: Mapping[str, Sequence[str]], *, has_groups: bool
) -> dict[str, str]:
    """Offending requests by rule; a request has a class itself, or one in each alternative."""
    general = f"r.deviceClassName == '{names.GENERAL}'"
    if has_groups:
        # Devices of single CPUs have no capacity: only grouped ones fit such a request.
        general += " && !has(r.capacity)"
    foreign = (
        "r.deviceClassName in variables.allowed && "
        "!(namespaceObject.metadata.name in variables.allowed[r.deviceClassName])"
    )
    entries = (f"'{name}': {_list(of)}" for name, of in allowed.items())
    devices = f"has({spec}.devices) && has({spec}.devices.requests)"
    return {
        "requests": f"{devices} ? {spec}.devices.requests : []",
        "allowed": f"{{{', '.join(entries)}}}",
        "general": _offending(general),
        "foreign": _offending(foreign) if allowed else "[]",
    }


def _list(items: Sequence[str]) -> str:
    quoted = (f"'{item}'" for item in items)
    return f"[{', '.join(quoted)}]"


def _offending(test: str) -> str:
    """The names of requests of which something named `r` passes a test."""
    return (
        f"variables.requests.filter(q, (has(q.exactly) && [q.exactly].exists(r, {test})) || "
        f"(has(q.firstAvailable) && q.firstAvailable.exists(r, {test}))).map(q, q.name)"
    )


def _validations() -> Iterator[dict[str, str]]:
    general = (
        f"asks for the class {names.GENERAL}, which takes CPUs of partitions too: name another"
    )
    foreign = "asks for the DeviceClass of a partition that this namespace may not use"
    rows = (("general", general), ("foreign", foreign))
    for variable, text in rows:
        yield {
            "expression": f"variables.{variable}.size() == 0",
            "message": f"a request {text}",
            "messageExpression": f"'request ' + variables.{variable}.join(', ') + ' {text}'",
            "reason": "Forbidden",
        }
