"""Objects of a cluster against what was compiled for a node."""

import json
from typing import Any

import pytest

from cpuplan.base.emit import to_yaml
from cpuplan.check.cluster.koordinator import check
from cpuplan.check.cluster.live_objects import Objects, Subject
from cpuplan.components.koordinator import node
from cpuplan.components.nrt import node_resource_topology
from cpuplan.language.read import yaml
from cpuplan.plan import ConfiguredPlan
from cpuplan.plan.expected import folder as topologies
from cpuplan.plan.expected.evidence import Verdict
from cpuplan.simulate.files.objects import objects
from cpuplan.upstream.koordinator.extension import constants
from tests.checked import expected
from tests.machines.plans import no_position, plan, regular

NAME = "worker-0"
DUAL = regular(sockets=2, cores=4, threads=2)  # node 0: 0-3,8-11; node 1: 4-7,12-15
CPUS = {"requests": {"cpu": "2", "memory": "1Gi"}, "limits": {"cpu": "2", "memory": "1Gi"}}
POOLS = '[{{"socket":0,"node":0,"cpuset":"{}"}},{{"socket":1,"node":1,"cpuset":"4-7,12-15"}}]'


def _plan(**more: Any) -> ConfiguredPlan:
    return plan(
        DUAL,
        platform="kubernetes",
        version="1.35",
        target={"mechanism": "koordinator", "koordinator": "1.8"},
        spec={"koordinator": {"cpuBindPolicy": "FullPCPUsOnly"}},
        reserved="0,8",
        **more,
    )


PLAN = _plan()


def _objects(made: ConfiguredPlan = PLAN) -> tuple[dict[str, Any], dict[str, Any]]:
    """The Node and the NodeResourceTopology as they should be without pods."""
    metadata = node.metadata(made.settings.of(node.NAME))
    live = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NAME, **metadata}}
    return live, topologies.named_topology(node_resource_topology(made), NAME)


def _with(given: dict[str, Any], **annotations: str | None) -> dict[str, Any]:
    """The object with other annotations, by the end of their names; None is without."""
    metadata = given["metadata"]
    known = dict(metadata["annotations"])
    for end, text in annotations.items():
        key = next(key for key in known if key.endswith(f"/{end.replace('_', '-')}"))
        known.pop(key)
        if text is not None:
            known[key] = text
    return {**given, "metadata": {**metadata, "annotations": known}}


def _pod(name: str, cpus: str, qos: str = "LSE", **more: Any) -> dict[str, Any]:
    metadata = {
        "name": name,
        "labels": {constants.QOS: qos},
        "annotations": {constants.RESOURCE_STATUS: json.dumps({"cpuset": cpus})},
    }
    spec = {"nodeName": NAME, "containers": [{"name": "main", "resources": CPUS}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, **more}


def _found(*given: Any, made: ConfiguredPlan = PLAN) -> list[str]:
    sources = []
    for manifest in given:
        sources += yaml.parse("objects.yaml", to_yaml(manifest))[0]
    subject = Subject(NAME, expected(made), Objects(objects(sources)), no_position)
    findings = (answer.finding for answer in check(subject))
    return [f"{finding.code}: {finding.message}" for finding in findings if finding]


def test_what_was_compiled() -> None:
    live, topology = _objects()
    assert _found(live, topology) == []
    assert _found({"apiVersion": "v1", "kind": "List", "items": [live, topology]}) == []


def test_both_objects_are_needed() -> None:
    live, topology = _objects()
    others = [{**manifest, "metadata": {"name": "worker-9"}} for manifest in (live, topology)]
    assert [text[:5] for text in _found(*others)] == ["CP881", "CP881"]


def test_what_is_not_given_is_not_verifiable() -> None:
    assert _found() == []
    subject = Subject(NAME, expected(PLAN), Objects(), no_position)
    answers = list(check(subject))
    assert {answer.verdict for answer in answers} == {Verdict.UNVERIFIABLE}
    assert all(answer.reason for answer in answers)


def test_lists_are_compared_as_sets_and_cores_by_their_threads() -> None:
    live, topology = _objects()
    machine = json.loads(topology["metadata"]["annotations"][constants.CPU_TOPOLOGY])
    for cpu in machine["detail"]:
        cpu["core"] += 40
    reservation = '{"applyPolicy": "ReservedCPUsOnly", "reservedCPUs": "8,0"}'
    written = _with(topology, cpu_topology=json.dumps(machine), reservation=reservation)
    assert _found(live, written) == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {"cpu_topology": '{"detail":[{"id":0},{"id":1}]}'},
            "worker-0 is CPUs 0-1 in 1 core, 1 socket and 1 NUMA node; koordlet should publish",
        ),
        ({"cpu_topology": "{"}, "CP882: node.koordinator.sh/cpu-topology of NodeResourceTopology"),
        ({"reservation": None}, "CP882: node.koordinator.sh/reservation of NodeResourceTopology"),
        (
            {"cpu_shared_pools": POOLS.format("0-3,8-11")},
            "CPUs 0-3,8-11; with what is compiled and no pod at all it should have CPUs 1-3,9-11",
        ),
        ({"pod_cpu_allocs": "x"}, "CP882: a pool or list of pods of NodeResourceTopology worker-0"),
    ],
)
def test_a_topology_that_is_otherwise(changes: dict[str, str | None], expected: str) -> None:
    live, topology = _objects()
    messages = _found(live, _with(topology, **changes))
    assert len(messages) == 1
    assert expected in messages[0]


def test_without_pods_a_pool_may_be_smaller() -> None:
    live, topology = _objects()
    assert _found(live, _with(topology, cpu_shared_pools=POOLS.format("2-3"))) == []


def test_pools_follow_the_pods_of_the_node() -> None:
    live, topology = _objects()
    small, whole = POOLS.format("2-3,10-11"), POOLS.format("1-3,9-11")
    pods = [_pod("lsr", "1,9", "LSR"), _pod("done", "2", status={"phase": "Succeeded"})]
    pods.append({**_pod("elsewhere", "3"), "spec": {"nodeName": "worker-1"}})
    written = _with(topology, cpu_shared_pools=small, be_cpu_shared_pools=whole)
    assert _found(live, written, *pods) == []
    assert [text[:5] for text in _found(live, topology, *pods)] == ["CP883"]


def test_the_kubelets_pods_are_in_no_pool() -> None:
    live, topology = _objects()
    allocs = '[{"uid": "u", "cpuset": "1,9", "managedByKubelet": true}]'
    small = POOLS.format("2-3,10-11")
    written = _with(
        topology, pod_cpu_allocs=allocs, cpu_shared_pools=small, be_cpu_shared_pools=small
    )
    assert _found(live, written, _pod("ls", "", "LS")) == []


def test_a_node_that_was_edited_hides_what_follows_from_it() -> None:
    live, topology = _objects()
    edited = _with(live, reservation='{"reservedCPUs":"0"}')
    copied = _with(topology, reservation='{"reservedCPUs":"0"}', cpu_shared_pools="[]")
    messages = _found(edited, copied)
    assert len(messages) == 1
    assert messages[0].startswith('CP880: Node worker-0 has {"reservedCPUs":"0"} as node.koord')


def test_labels_that_nobody_compiled() -> None:
    live, topology = _objects()
    live["metadata"]["labels"][constants.NUMA_TOPOLOGY_POLICY] = "Restricted"
    assert _found(live, topology) == [
        f"CP880: Node worker-0 has Restricted as {constants.NUMA_TOPOLOGY_POLICY}; compiled is nothing"  # noqa: E501 - the whole message
    ]


@pytest.mark.parametrize(
    ("cpus", "problem"),
    [
        ("8-9", "CPU 8 (reserved)"),
        ("15-16", "CPU 16 (not online)"),
        ("7", "CPU 7 (not online)"),
    ],
)
def test_pods_on_cpus_that_are_not_theirs(cpus: str, problem: str) -> None:
    made = _plan(offlined="7")
    live, topology = _objects(made)
    written = _with(topology, cpu_shared_pools=None, be_cpu_shared_pools=None)
    messages = _found(live, written, _pod("web", cpus), made=made)
    assert messages == [f"CP884: Pod default/web is bound to {problem}"]


def test_two_pods_on_one_cpu() -> None:
    live, topology = _objects()
    written = _with(topology, cpu_shared_pools=None, be_cpu_shared_pools=None)
    messages = _found(live, written, _pod("a", "1-3"), _pod("b", "3"))
    assert messages == [
        "CP884: Pod default/b is bound to CPU 3 (also of Pod default/a)",
    ]
