"""Objects and files for clusters in which the DRA CPU driver gives CPUs to containers.

Policies keep claims to partitions: without them, a claim of the class of the driver's chart gets
any CPU of the node.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cpuplan.backends.base import (
    DRA_POLICY,
    NODE_WAVE,
    POLICY_WAVE,
    Files,
    Key,
    Manifest,
    metadata,
    to_file,
)
from cpuplan.base.emit import to_yaml
from cpuplan.components.dra import claims, classes, driver
from cpuplan.language.model.vocabulary import PARTITION
from cpuplan.plan import ConfiguredPlan, NodeClass
from cpuplan.upstream.dra.api import GROUPED

POLICY_GROUP = "admissionregistration.k8s.io"
POLICY_KIND = "ValidatingAdmissionPolicy"
#: The resources with requests, the name of each policy, and where an object has its devices.
_RESOURCES = (
    ("resourceclaims", DRA_POLICY, "object.spec"),
    ("resourceclaimtemplates", f"{DRA_POLICY}-templates", "object.spec.spec"),
)


def policy_manifests(plans: Sequence[ConfiguredPlan]) -> Iterator[Manifest]:
    """A policy for claims and one for templates, with their bindings; none without partitions."""
    if not any(plan.settings.of(classes.NAME) for plan in plans):
        return
    has_groups = any(driver.published_mode(plan) == GROUPED for plan in plans)
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
    head = {"apiVersion": f"{POLICY_GROUP}/v1", "metadata": metadata(name, POLICY_WAVE)}
    yield Manifest(
        f"20-{POLICY_KIND.lower()}-{name}.yaml", {**head, "kind": POLICY_KIND, "spec": spec}
    )
    bound = {"policyName": name, "validationActions": ["Deny"]}
    binding = {**head, "kind": f"{POLICY_KIND}Binding", "spec": bound}
    yield Manifest(f"20-{POLICY_KIND.lower()}binding-{name}.yaml", binding)


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
    general = f"r.deviceClassName == '{driver.CLASS}'"
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
    general = f"asks for the class {driver.CLASS}, which takes CPUs of partitions too: name another"
    foreign = "asks for the DeviceClass of a partition that this namespace may not use"
    rows = (("general", general), ("foreign", foreign))
    for variable, text in rows:
        yield {
            "expression": f"variables.{variable}.size() == 0",
            "message": f"a request {text}",
            "messageExpression": f"'request ' + variables.{variable}.join(', ') + ' {text}'",
            "reason": "Forbidden",
        }


#: Below the folder of a cluster in `out/`.
FOLDER = "dra"


def are_in(plans: Sequence[ConfiguredPlan]) -> list[ConfiguredPlan]:
    """The plans whose pods get their CPUs from the driver."""
    return [plan for plan in plans if plan.node_class.target.has_dra]


def node_labels(node_class: NodeClass) -> dict[str, str]:
    """The label by which the driver and pods find the nodes of a class."""
    return {driver.CLASS_LABEL: node_class.name} if node_class.target.has_dra else {}


def manifests(plan: ConfiguredPlan) -> Iterator[Manifest]:
    """The DeviceClass of each partition."""
    for setting in plan.settings.of(classes.NAME):
        data = classes.document(setting)
        data["metadata"] = metadata(setting.key, NODE_WAVE)
        yield Manifest(f"20-deviceclass-{setting.key}.yaml", data)


def cluster_manifests(plans: Sequence[ConfiguredPlan]) -> Iterator[Manifest]:
    """The policies that guard partitions, once for a cluster."""
    yield from policy_manifests(are_in(plans))


def files(plans: Sequence[ConfiguredPlan], going: Sequence[ConfiguredPlan]) -> dict[Key, Files]:
    """The files of the classes of a cluster that are not paused, by path below its folder."""
    members = are_in(plans)
    made: dict[Key, Files] = {}
    for plan in are_in(going):
        of_class = _files(plan, is_first=plan is members[0])
        name = plan.node_class.name
        made[plan.node_class.key] = {f"{name}/{path}": data for path, data in of_class.items()}
    return made


def _files(plan: ConfiguredPlan, *, is_first: bool) -> Files:
    settings = plan.settings.of(driver.NAME)
    made = {"values.yaml": to_file(driver.values(plan, settings))}
    if driver.reads_file(plan):
        made["config.yaml"] = driver.render(settings).encode()
    if patches := list(_patches(plan, is_first=is_first)):
        component = {"apiVersion": "kustomize.config.k8s.io/v1alpha1", "kind": "Component"}
        made["kustomization.yaml"] = to_file({**component, "patches": patches})
    for setting in plan.settings.of(claims.NAME):
        made[f"templates/{setting.key}.yaml"] = to_file(claims.document(setting))
    for workload in plan.spec.workloads:
        if claims.demands_of(workload):
            made[f"pods/{workload.name}.yaml"] = to_file(claims.pod_template(plan, workload))
    return made


def _patches(plan: ConfiguredPlan, *, is_first: bool) -> Iterator[dict[str, Any]]:
    """What the chart renders and must not: pods on other nodes, a second class of its name."""
    if not driver.reads_file(plan):
        path = "/spec/template/spec/nodeSelector"
        chosen = [{"op": "add", "path": path, "value": driver.selector(plan)}]
        yield {"target": {"kind": "DaemonSet"}, "patch": to_yaml(chosen)}
    if not is_first:
        removed = {
            "$patch": "delete",
            "apiVersion": driver.API_VERSION,
            "kind": classes.KIND,
            "metadata": {"name": driver.CLASS},
        }
        target = {"kind": classes.KIND, "name": driver.CLASS}
        yield {"target": target, "patch": to_yaml(removed)}
