"""Pods that claim other CPUs than they request."""

from typing import Any

import pytest

from cpuplan.simulate.dra import Given, check_claims, inputs
from cpuplan.upstream.dra.allocator_incubating import Request, Spec
from cpuplan.upstream.dra.api import CAPACITY
from cpuplan.upstream.kubernetes.kube_features import Gates
from cpuplan.upstream.kubernetes.pod import Pod, PodClaim, read_pod
from tests.machines.plans import plan, regular

MACHINE = regular(sockets=2, cores=4, threads=2)


def node(mode: str = "individual", accounting: str = "requests") -> Any:
    dra = {"mode": mode, "accounting": accounting, "release": "0.3"}
    target = {"mechanism": "dra", "dra": dra}
    given = plan(MACHINE, platform="kubernetes", version="1.37", target=target, reserved="0,8")
    return inputs(given)


def claiming(resources: Any, *requests: Request, own: Any = None) -> Pod:
    spec = {"containers": [{"name": "main", "resources": resources}]}
    pod = read_pod({"metadata": {}, "spec": spec | ({"resources": own} if own else {})})
    containers = tuple(own._replace(claims=("c",)) for own in pod.containers)
    claim = PodClaim("c", template="t", spec=Spec(requests))
    return pod._replace(containers=containers, claims=(claim,))


def same(cpus: str) -> Any:
    return {"requests": {"cpu": cpus, "memory": "1Gi"}, "limits": {"cpu": cpus, "memory": "1Gi"}}


TWO = Request("r", "dra.cpu", number=2)
PART = Request("r", "dra.cpu", capacity=((CAPACITY, "2"),))


@pytest.mark.parametrize(
    ("given", "facts", "findings"),
    [
        (claiming(same("2"), TWO), node(), []),
        (claiming(same("2"), PART), node("grouped"), []),
        (claiming({}, TWO, own=same("2")), node(), []),
        (
            claiming({}, TWO),
            node(),
            [
                (
                    "CP7200",
                    "p claims 2 CPUs but requests 0: the scheduler and the kubelet count only",
                )
            ],
        ),
        (
            claiming(same("1"), PART, own=same("2")),
            node("grouped"),
            [("CP7201", "container main of p claims 2 CPUs but has a limit of 1: its quota")],
        ),
        (claiming(same("1m"), TWO), node("individual", "mapping"), []),
        (
            claiming(same("2"), TWO),
            node("individual", "mapping"),
            [("CP7202", "container main of p claims 2 CPUs and requests 2 as well: with the")],
        ),
        (claiming({}, Request("r", "dra.cpu")), node("grouped"), []),  # all of a device
        (claiming({}, TWO._replace(number=None)), node(), []),
        (claiming({}, Request("r", alternatives=(TWO,))), node(), []),
    ],
)
def test_claims_and_requests(given: Pod, facts: Any, findings: list[tuple[str, str]]) -> None:
    made = list(check_claims([Given(given, "p", None)], facts, Gates()))
    assert [finding.code for finding in made] == [code for code, _ in findings]
    for finding, (_, text) in zip(made, findings, strict=True):
        assert finding.message.startswith(text)


def test_pods_of_the_static_policy_share_cpus() -> None:
    pod = claiming(same("2"))._replace(claims=())
    pod = pod._replace(containers=tuple(own._replace(claims=()) for own in pod.containers))
    pods = [Given(pod, f"upf-{number}", None) for number in (1, 2)]
    (problem,) = check_claims(pods, node(), Gates())  # one for each workload
    assert (problem.code, "2 CPUs" in problem.message) == ("CP719", True)
    half = read_pod(
        {"metadata": {}, "spec": {"containers": [{"name": "a", "resources": same("1500m")}]}}
    )
    assert not list(check_claims([Given(half, "p", None)], node(), Gates()))
