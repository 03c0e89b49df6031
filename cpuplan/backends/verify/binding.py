"""What an agent's token may change: the one condition of its own node, and Events about that node.

The right to patch `nodes/status` of the nodes of a class is more than that (readiness, addresses,
amounts, labels, of each of them), and RBAC knows no fields. The API server tells which node a pod's
token was made for, so that an admission policy can hold the agent to it. One policy for a cluster:
each is asked at every heartbeat of every node.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cpuplan.backends.verify import names
from cpuplan.components import admission
from cpuplan.fleet.verification import AGENT
from cpuplan.language.model.verify import Verify
from cpuplan.plan import NodePlan
from cpuplan.platforms import versions

GROUP = "admissionregistration.k8s.io"
KIND = "ValidatingAdmissionPolicy"
STATUS, EVENTS = f"{AGENT}-status", f"{AGENT}-events"
#: `agent.verdict` has the same words; a test compares them.
CONDITION, COMPONENT = "CPUPlanHolds", "cpuplan-agent"
_KEY = "authentication.kubernetes.io/node-name"
_OWN_NODE = (
    f"has(request.userInfo.extra) && '{_KEY}' in request.userInfo.extra && "
    f"request.userInfo.extra['{_KEY}'].size() == 1 ? "
    f"request.userInfo.extra['{_KEY}'][0] : ''"
)
#: What each write changes by itself.
_OF_THE_SERVER = "['managedFields', 'resourceVersion']"
#: With `dyn`, fields are looked up as keys: those that later releases add count too.
_VARIABLES = {
    "node": _OWN_NODE,
    "metadata": "dyn(object.metadata)",
    "oldMetadata": "dyn(oldObject.metadata)",
    "status": "has(object.status) ? dyn(object.status) : dyn({})",
    "oldStatus": "has(oldObject.status) ? dyn(oldObject.status) : dyn({})",
    "conditions": "'conditions' in variables.status ? variables.status['conditions'] : dyn([])",
    "oldConditions": (
        "'conditions' in variables.oldStatus ? variables.oldStatus['conditions'] : dyn([])"
    ),
    "others": f"variables.conditions.filter(c, c['type'] != '{CONDITION}')",
    "oldOthers": f"variables.oldConditions.filter(c, c['type'] != '{CONDITION}')",
}
_METADATA_IS_KEPT = (
    f"variables.metadata.all(k, k in {_OF_THE_SERVER} || "
    "(k in variables.oldMetadata && variables.metadata[k] == variables.oldMetadata[k])) && "
    f"variables.oldMetadata.all(k, k in {_OF_THE_SERVER} || k in variables.metadata)"
)
_SPEC_IS_KEPT = (
    "has(object.spec) == has(oldObject.spec) && "
    "(!has(object.spec) || dyn(object.spec) == dyn(oldObject.spec))"
)
_STATUS_IS_KEPT = (
    "variables.status.all(k, k == 'conditions' || "
    "(k in variables.oldStatus && variables.status[k] == variables.oldStatus[k])) && "
    "variables.oldStatus.all(k, k == 'conditions' || k in variables.status)"
)
_CONDITIONS_ARE_KEPT = (
    "variables.others.size() == variables.oldOthers.size() && "
    "variables.others.all(c, c in variables.oldOthers) && "
    "variables.oldOthers.all(c, c in variables.others)"
)
_IS_ABOUT_IT = (
    "has(object.involvedObject) && has(object.involvedObject.kind) && "
    "object.involvedObject.kind == 'Node' && has(object.involvedObject.name) && "
    "object.involvedObject.name == variables.node"
)
_IS_FROM_IT = (
    "has(object.source) && has(object.source.component) && "
    f"object.source.component == '{COMPONENT}' && "
    f"has(object.reportingComponent) && object.reportingComponent == '{COMPONENT}'"
)
_HAS_NOTHING_ELSE = (
    "!has(object.related) && "
    "(!has(object.source.host) || object.source.host == variables.node) && "
    "(!has(object.reportingInstance) || object.reportingInstance in ['', variables.node]) && "
    "(!has(object.involvedObject.uid) || object.involvedObject.uid == variables.node) && "
    "!has(object.metadata.finalizers) && !has(object.metadata.ownerReferences) && "
    "!has(object.metadata.labels) && !has(object.metadata.annotations)"
)
#: What must hold, and what is said where it does not.
_NO_NODE = (
    "variables.node != ''",
    "the token names no node: only agents that run as pods may do this",
)
_OF_STATUS = (
    _NO_NODE,
    (
        "variables.node == '' || object.metadata.name == variables.node",
        "an agent may change the status of its own node only",
    ),
    (
        _METADATA_IS_KEPT,
        "an agent may not change labels, annotations or anything else of metadata",
    ),
    (_SPEC_IS_KEPT, "an agent may not change the spec of a node"),
    (_STATUS_IS_KEPT, "an agent may change no part of the status but a condition"),
    (_CONDITIONS_ARE_KEPT, f"an agent may change no condition but {CONDITION}"),
    (
        "variables.conditions.size() - variables.others.size() <= 1",
        f"a node has the condition {CONDITION} once",
    ),
)
_OF_EVENTS = (
    _NO_NODE,
    (_IS_ABOUT_IT, "an agent may create Events about its own node only"),
    (_IS_FROM_IT, f"an agent may create Events as {COMPONENT} only"),
    (
        f"!({_IS_ABOUT_IT} && {_IS_FROM_IT}) || ({_HAS_NOTHING_ELSE})",
        "an Event of an agent names its own node alone, and has no owner, finalizer or label",
    ),
)


def documents(members: Sequence[tuple[NodePlan, Verify]]) -> Iterator[dict[str, Any]]:
    """Policies and their bindings, for what the agents of a cluster may do at all."""
    rows = (
        (STATUS, ("nodes/status",), "UPDATE", _VARIABLES, _OF_STATUS, "condition"),
        (EVENTS, ("events",), "CREATE", {"node": _OWN_NODE}, _OF_EVENTS, "events"),
    )
    for name, resources, operation, variables, rules, field in rows:
        asking = [(plan, verify) for plan, verify in members if getattr(verify, field)]
        if not any(is_known(plan) for plan, _ in asking):
            continue
        spec = {
            "failurePolicy": "Fail",
            "matchConditions": [_agents(verify for _, verify in asking)],
            "matchConstraints": {"resourceRules": [_rule(resources, operation)]},
            "variables": [{"name": key, "expression": text} for key, text in variables.items()],
            "validations": [
                {"expression": text, "message": message, "reason": "Forbidden"}
                for text, message in rules
            ],
        }
        yield from _objects(name, asking[0][1], spec)


def is_known(plan: NodePlan) -> bool:
    """Whether the API server has such policies, and tokens that name their node."""
    server = admission.api_server(plan)
    needed = ("api.validating_policy", "api.node_of_token")
    return server is not None and all(server >= versions.FEATURES[each] for each in needed)


def _objects(name: str, verify: Verify, spec: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield {**names.head(f"{GROUP}/v1", KIND, name, verify, wave=names.BEFORE), "spec": spec}
    bound = {"policyName": name, "validationActions": ["Deny"]}
    head = names.head(f"{GROUP}/v1", f"{KIND}Binding", name, verify, wave=names.BEFORE)
    yield {**head, "spec": bound}


def _agents(asking: Any) -> dict[str, str]:
    """The accounts of agents, in each namespace that has some: nobody else is held to anything."""
    namespaces = sorted({verify.namespace for verify in asking})
    starts = [f"system:serviceaccount:{namespace}:{AGENT}-" for namespace in namespaces]
    tests = [f"request.userInfo.username.startsWith('{start}')" for start in starts]
    return {"name": "is-an-agent", "expression": " || ".join(tests)}


def _rule(resources: Sequence[str], operation: str) -> dict[str, Any]:
    return {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": [operation],
        "resources": list(resources),
    }
