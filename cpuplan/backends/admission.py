"""Objects for pods that ask for shared CPUs, once for a cluster: policies and namespaces.

ValidatingAdmissionPolicy, on every platform: OpenShift's own plugin lets pods through that get
nothing or more than they ask for (`components.admission_rules`). MutatingAdmissionPolicy on
Kubernetes only, since the plugin does its work there.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from cpuplan.backends.base import MAY_BE_MISSING, NAMESPACE_WAVE, POLICY_WAVE, Manifest, metadata
from cpuplan.components import admission_rules, mixedcpus
from cpuplan.components.admission_rules import Rule
from cpuplan.facts import versions
from cpuplan.facts.versions import Version
from cpuplan.plan import ConfiguredPlan

GROUP = "admissionregistration.k8s.io"
NAME = "cpuplan-mixed-cpus"
HINTS = f"{NAME}-hints"
BINDINGS = f"{NAME}-bindings"
RESIZES = f"{NAME}-resizes"
#: Annotations of a pod can be changed with its status too.
_WITH_STATUS = ("pods", "pods/status")
_CONDITIONS = {
    "concerns-shared-cpus": admission_rules.CONCERNS_SHARED_CPUS,
    "is-new-or-annotated": admission_rules.IS_NEW_OR_ANNOTATED,
}
_ASKS = {"asks-for-shared-cpus": admission_rules.ASKS_FOR_SHARED_CPUS}


def manifests(plans: Sequence[ConfiguredPlan]) -> Iterator[Manifest]:
    """What a cluster needs for its plans; nothing where no container can share CPUs."""
    sharing = [plan for plan in plans if mixedcpus.are_used(plan)]
    known = [
        version
        for plan in sharing
        if (version := versions.kubernetes_version(plan.node_class.target))
    ]
    if not known:
        return
    # An API server is never older than a kubelet (Kubernetes' version skew policy), so that the
    # newest target tells what it serves: an API of the oldest may be behind a gate there, or gone.
    server = max(filter(None, map(admission_rules.api_server, plans)), default=max(known))
    if server >= versions.FEATURES["api.validating_policy"]:
        classes = sorted({f"performance-{plan.node_class.profile}" for plan in sharing})
        throttled = any(map(admission_rules.keeps_quota, sharing))
        yield from _validating(server, classes, throttled=throttled)
    api = versions.maturity(versions.MUTATING_POLICY, server)
    if api and any(map(admission_rules.adds_annotation, sharing)):
        yield from _objects(mutating(api), {})
    for name in sorted({name for plan in sharing for name in plan.spec.runtime.shared_namespaces}):
        yield Manifest(f"30-namespace-{name}.yaml", namespace(name))


def _validating(server: Version, names: list[str], *, throttled: bool) -> Iterator[Manifest]:
    """What the API server refuses, and what it warns of, which depends on the kubelets."""
    rules = list(admission_rules.rules(server))
    hints = list(admission_rules.hints(throttled=throttled))
    refusing = validating(NAME, rules, _CONDITIONS, ("CREATE", "UPDATE"), resources=_WITH_STATUS)
    yield from _objects(refusing, {"validationActions": ["Deny"]})
    yield from _objects(binding(), {"validationActions": ["Deny"]})
    hinting = validating(HINTS, hints, _ASKS, ("CREATE",), admission_rules.runtime_classes(names))
    yield from _objects(hinting, {"validationActions": ["Warn"]})
    if server >= versions.FEATURES["api.pod_resize"]:
        yield from _objects(resize(), {"validationActions": ["Deny"]})


def _objects(policy: dict[str, Any], binding: dict[str, Any]) -> Iterator[Manifest]:
    """A policy, and the binding that puts it in force in all namespaces."""
    kind, name = policy["kind"], policy["metadata"]["name"]
    yield Manifest(f"20-{kind.lower()}-{name}.yaml", policy)
    spec = {"policyName": name, **binding}
    yield Manifest(
        f"20-{kind.lower()}binding-{name}.yaml",
        policy | {"kind": f"{kind}Binding", "spec": spec},
    )


def _policy(api: str, kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    # The API may be behind a gate.
    made = metadata(name, POLICY_WAVE, options="" if api == "v1" else MAY_BE_MISSING)
    return {"apiVersion": f"{GROUP}/{api}", "kind": kind, "metadata": made, "spec": spec}


def _matches(
    conditions: dict[str, str], operations: Iterable[str], resources: Sequence[str] = ("pods",)
) -> dict[str, Any]:
    """Pods, but only those with shared CPUs: nobody else depends on these policies."""
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": list(operations),
        "resources": list(resources),
    }
    return {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [rule]},
        "matchConditions": [
            {"name": name, "expression": text} for name, text in conditions.items()
        ],
    }


def _variables(texts: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "expression": text} for name, text in texts.items()]


def validating(
    name: str,
    rules: Sequence[Rule],
    conditions: dict[str, str],
    operations: Iterable[str],
    own: Mapping[str, str] | None = None,
    resources: Sequence[str] = ("pods",),
) -> dict[str, Any]:
    """A policy that refuses what breaks a rule, or warns of it, as its binding says.

    `own` are further variables.
    """
    offenders = [{"name": rule.variable, "expression": rule.offenders} for rule in rules]
    validations = [
        {
            "expression": f"variables.{rule.variable}.size() == 0",
            "message": rule.message,
            "messageExpression": rule.text,
            "reason": "Forbidden",
        }
        for rule in rules
    ]
    spec = _matches(conditions, operations, resources) | {
        "variables": [*_variables(admission_rules.VARIABLES | dict(own or {})), *offenders],
        "validations": validations,
    }
    return _policy("v1", "ValidatingAdmissionPolicy", name, spec)


def binding() -> dict[str, Any]:
    """The policy that lets no scheduler give a pod shared CPUs by its binding."""
    conditions = {"annotates-shared-cpus": admission_rules.BINDING_ANNOTATES}
    matches = _matches(conditions, ("CREATE",), ("pods/binding", "bindings"))
    return _refusing(BINDINGS, matches, admission_rules.BINDING_REFUSED)


def resize() -> dict[str, Any]:
    """The policy that keeps the exclusive CPUs of containers with shared ones."""
    matches = _matches(_ASKS, ("UPDATE",), ("pods/resize",))
    return _refusing(RESIZES, matches, admission_rules.RESIZE_REFUSED)


def _refusing(name: str, matches: dict[str, Any], message: str) -> dict[str, Any]:
    """A policy that refuses whatever it matches."""
    never = {"expression": "false", "message": message, "reason": "Forbidden"}
    return _policy("v1", "ValidatingAdmissionPolicy", name, matches | {"validations": [never]})


def mutating(api: str) -> dict[str, Any]:
    """The policy that annotates containers for CRI-O, also those that other policies add."""
    spec = _matches(_ASKS, ("CREATE",)) | {
        "reinvocationPolicy": "IfNeeded",
        "variables": _variables(admission_rules.VARIABLES),
        "mutations": [
            {"patchType": "JSONPatch", "jsonPatch": {"expression": admission_rules.ANNOTATE}}
        ],
    }
    return _policy(api, "MutatingAdmissionPolicy", NAME, spec)


def namespace(name: str) -> dict[str, Any]:
    """A namespace whose pods may ask."""
    made = metadata(name, NAMESPACE_WAVE)
    made["annotations"][admission_rules.ALLOWED] = ""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": made}
