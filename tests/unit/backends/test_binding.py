"""What an agent's token may change: one condition of one node, and Events about that."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from cpuplan import backends
from cpuplan.backends.verify import access
from cpuplan.node import reporter
from cpuplan.node.reporter import Verdict
from cpuplan.plan import ConfiguredPlan, Plan
from tests.api_server import Request, admit
from tests.machines.plans import plan, regular

KEY = "authentication.kubernetes.io/node-name"
IMAGE = "registry.example.com/cpuplan:1.0"
Node = dict[str, Any]


def asking(version: str = "1.34", **verify: Any) -> ConfiguredPlan:
    spec = {"verify": {"image": IMAGE, **verify}}
    return plan(regular(cores=8), platform="kubernetes", version=version, spec=spec)


def policies(*plans: ConfiguredPlan) -> list[dict[str, Any]]:
    files = backends.tree(Plan(plans))
    return [
        yaml.safe_load(data)
        for path, data in files.items()
        if "/manifests/40-validatingadmission" in path
    ]


MADE = policies(asking(condition=True, events=True))


def user(node: str | None = "worker-0", account: str = "cpuplan-agent-ran-server") -> Node:
    """Who asks with a token that was made for a pod on a node."""
    extra = {"extra": {KEY: [node], "authentication.kubernetes.io/pod-name": ["a"]}} if node else {}
    return {"username": f"system:serviceaccount:cpuplan:{account}", "uid": "1", **extra}


def node(name: str = "worker-0") -> Node:
    """A Node as the API server gives it to policies."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "uid": "0a",
            "resourceVersion": "7",
            "labels": {"kubernetes.io/hostname": name},
            "annotations": {"a": "b"},
            "managedFields": [{"manager": "kubelet", "time": "2026-01-01T00:00:00Z"}],
        },
        "spec": {"podCIDR": "10.244.0.0/24"},
        "status": {
            "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
            "allocatable": {"cpu": "6", "memory": "1Gi"},
            "capacity": {"cpu": "8", "memory": "1Gi"},
            "conditions": [
                {"type": "Ready", "status": "True", "reason": "KubeletReady"},
                {"type": "DiskPressure", "status": "False", "reason": "Enough"},
            ],
            "images": [{"names": ["a"], "sizeBytes": 1}],
            "nodeInfo": {"kubeletVersion": "v1.34.0"},
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        },
    }


def told(made: Node, status: str = "True") -> None:
    """What the agent's own patch makes of a node."""
    own = reporter.condition(Verdict(status, "PlanHolds", "all"), "2026-01-01T00:00:00Z", 0.0)
    others = [
        condition
        for condition in made["status"]["conditions"]
        if condition["type"] != reporter.CONDITION
    ]
    made["status"]["conditions"] = [own, *others]
    made["metadata"]["managedFields"].append({"manager": "agent"})
    made["metadata"]["resourceVersion"] = "8"


def refusals(old: Node, new: Node, who: Node) -> list[str]:
    request = Request(new, {}, "UPDATE", old, "nodes/status", who)
    return admit(MADE, request).refusals


def test_the_words_are_those_of_the_agent() -> None:
    assert reporter.CONDITION == access.CONDITION
    made = reporter.event("worker-0", Verdict("True", "PlanHolds", "all"), 0.0)
    assert made["source"]["component"] == made["reportingComponent"] == access.COMPONENT


def test_an_agent_tells_of_its_own_node() -> None:
    old = node()
    for status in ("True", "False", "Unknown"):
        new = copy.deepcopy(old)
        told(new, status)
        assert refusals(old, new, user()) == []
        old = new
    bare = node()
    del bare["status"]["conditions"]
    new = copy.deepcopy(bare)
    new["status"]["conditions"] = []
    told(new)
    assert refusals(bare, new, user()) == []


def ready(made: Node) -> None:
    made["status"]["conditions"][0]["status"] = "False"


def less_ready(made: Node) -> None:
    del made["status"]["conditions"][0]


def more_conditions(made: Node) -> None:
    made["status"]["conditions"].append({"type": "Other", "status": "True"})


def ready_twice(made: Node) -> None:
    made["status"]["conditions"].append(dict(made["status"]["conditions"][0]))


def own_twice(made: Node) -> None:
    made["status"]["conditions"] += [{"type": reporter.CONDITION, "status": "True"}] * 2


def no_conditions(made: Node) -> None:
    del made["status"]["conditions"]


def address(made: Node) -> None:
    made["status"]["addresses"][0]["address"] = "6.6.6.6"


def allocatable(made: Node) -> None:
    made["status"]["allocatable"]["cpu"] = "600"


def extended(made: Node) -> None:
    made["status"]["capacity"]["example.com/gpu"] = "8"


def images(made: Node) -> None:
    del made["status"]["images"]


def port(made: Node) -> None:
    made["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"] = 80


def volumes(made: Node) -> None:
    made["status"]["volumesInUse"] = ["a"]


def of_later_releases(made: Node) -> None:
    made["status"]["declaredFeatures"] = ["a"]


def label(made: Node) -> None:
    made["metadata"]["labels"]["node-role.kubernetes.io/control-plane"] = ""


def no_labels(made: Node) -> None:
    del made["metadata"]["labels"]


def annotation(made: Node) -> None:
    made["metadata"]["annotations"]["a"] = "c"


def finalizer(made: Node) -> None:
    made["metadata"]["finalizers"] = ["example.com/never"]


def owner(made: Node) -> None:
    made["metadata"]["ownerReferences"] = [{"kind": "Node", "name": "worker-1"}]


def spec(made: Node) -> None:
    made["spec"]["unschedulable"] = True


def no_spec(made: Node) -> None:
    del made["spec"]


CHANGES = (
    *(ready, less_ready, more_conditions, ready_twice, own_twice, no_conditions, address),
    *(allocatable, extended, images, port, volumes, of_later_releases, label, no_labels),
    *(annotation, finalizer, owner, spec, no_spec),
)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("tells", [True, False])
def test_it_changes_nothing_else(change: Callable[[Node], None], *, tells: bool) -> None:
    old, new = node(), node()
    change(new)
    if tells and change is not own_twice:
        new["status"].setdefault("conditions", []).append(
            {"type": reporter.CONDITION, "status": "True"}
        )
    assert len(refusals(old, new, user())) == 1


def test_no_other_node() -> None:
    old, new = node("worker-1"), node("worker-1")
    told(new)
    [text] = refusals(old, new, user("worker-0"))
    assert "own node" in text


@pytest.mark.parametrize(
    "extra", [{}, {"extra": {}}, {"extra": {KEY: []}}, {"extra": {"a": ["b"]}}]
)
def test_no_token_without_a_node(extra: Node) -> None:
    old, new = node(), node()
    told(new)
    [text] = refusals(old, new, {**user(None), **extra})
    assert "names no node" in text


def test_nobody_else_is_held_to_anything() -> None:
    old, new = node(), node()
    ready(new)
    for who in (
        {"username": "system:node:worker-0"},
        {"username": "system:serviceaccount:cpuplan:other"},
        {"username": "system:serviceaccount:others:cpuplan-agent-a"},
    ):
        assert refusals(old, new, who) == []


def event(about: str = "worker-0") -> Node:
    return reporter.event(about, Verdict("False", "PlanDiffers", "one"), 0.0)


def created(made: Node, who: Node) -> list[str]:
    return admit(MADE, Request(made, {}, "CREATE", None, "events", who)).refusals


def test_events_are_about_its_own_node_and_from_itself() -> None:
    assert created(event(), user()) == []
    assert len(created(event("worker-1"), user())) == 1
    assert len(created(event(), user(None))) >= 1
    of_pod = event()
    of_pod["involvedObject"]["kind"] = "Pod"
    of_kubelet = event()
    of_kubelet["source"]["component"] = "kubelet"
    reported = event()
    reported["reportingComponent"] = "kubelet"
    bare = {"metadata": {"name": "a"}}
    for made in (of_pod, of_kubelet, reported, bare):
        assert created(made, user())


@pytest.mark.parametrize(
    "more",
    [
        {"related": {"kind": "Node", "name": "worker-1"}},
        {"source": {"component": "cpuplan-agent", "host": "worker-1"}},
        {"reportingInstance": "worker-1"},
        {"involvedObject": {"kind": "Node", "name": "worker-0", "uid": "worker-1"}},
        {"metadata": {"name": "a", "finalizers": ["example.com/never"]}},
        {"metadata": {"name": "a", "ownerReferences": [{"kind": "Node", "name": "worker-1"}]}},
        {"metadata": {"name": "a", "labels": {"a": "b"}}},
        {"metadata": {"name": "a", "annotations": {"a": "b"}}},
    ],
)
def test_events_name_nothing_else(more: Node) -> None:
    [text] = created({**event(), **more}, user())
    assert "names its own node alone" in text


def test_only_what_is_asked_for_is_held() -> None:
    def names(*plans: ConfiguredPlan) -> set[str]:
        return {policy["metadata"]["name"] for policy in policies(*plans)}

    assert names(asking()) == set()
    assert names(asking(condition=True)) == {access.STATUS}
    assert names(asking(events=True)) == {access.EVENTS}
    assert names(asking("1.29", condition=True)) == set()


def test_every_namespace_of_agents_and_one_policy() -> None:
    made = policies(asking(condition=True), asking(condition=True, namespace="other"))
    [policy] = [manifest for manifest in made if manifest["kind"] == access.POLICY_KIND]
    [condition] = policy["spec"]["matchConditions"]
    for namespace in ("cpuplan", "other"):
        start = f"startsWith('system:serviceaccount:{namespace}:cpuplan-agent-')"
        assert start in condition["expression"]


def test_check_cluster_compares_it() -> None:
    files = backends.tree(Plan((asking(condition=True),)))
    compared = {path.rpartition("/")[2] for path in files if "/expected/objects/" in path}
    assert f"40-validatingadmissionpolicy-{access.STATUS}.json" in compared
