"""From a must-gather and a request to an Intent."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from cpuplan.language.read.documents import schema
from cpuplan.profiles.propose import choice as asked
from cpuplan.profiles.propose.choice import Request
from cpuplan.profiles.propose.cluster import NODE_POOL, Dump
from cpuplan.profiles.propose.proposal import Proposal, propose
from tests.machines import trees
from tests.unit.profiles.propose.gathers import (
    CLUSTER,
    OWN_ROLE,
    ROLE,
    gather,
    infrastructure,
    node,
    pool,
)

SERVER = trees.server()  # 4 cores of two threads, two NUMA nodes that alternate


def proposal(
    root: Path,
    request: Request,
    *nodes: Any,
    machines: Mapping[str, Mapping[str, str]] | None = None,
) -> Proposal:
    objects = [*CLUSTER, *(nodes or (node("w0", "worker", "worker-cnf"),))]
    snapshots = {data["metadata"]["name"]: SERVER for data in nodes} or {"w0": SERVER}
    return propose(
        Dump(gather(root, objects, snapshots if machines is None else machines)), request
    )


def spec_of(proposed: Proposal) -> dict[str, Any]:
    assert proposed.intent is not None, proposed.diagnostics
    spec: dict[str, Any] = proposed.intent["spec"]
    return spec


def codes(proposed: Proposal) -> list[str]:
    assert proposed.intent is None
    return [diagnostic.code for diagnostic in proposed.diagnostics]


CNF = Request("worker-cnf", 2)
CNF_NODES = [node(name, "worker", "worker-cnf") for name in ("w0", "w1", "w2")]


def test_the_intent(tmp_path: Path) -> None:
    proposed = proposal(tmp_path, CNF)
    assert (proposed.remarks, proposed.diagnostics) == ((), ())
    assert proposed.intent == {
        "apiVersion": "cpuplan.io/v1alpha1",
        "kind": "Intent",
        "metadata": {"name": "worker-cnf"},
        "spec": {
            "selector": {"clusters": ["lab"], "matchLabels": {f"{ROLE}worker-cnf": ""}},
            "targets": [
                {
                    "platform": "openshift",
                    "version": "4.20",
                    "mode": "performanceProfile",
                    "pool": "worker-cnf",
                    "nodeSelector": {f"{ROLE}worker-cnf": ""},
                    "machineConfigPoolSelector": {OWN_ROLE: "worker-cnf"},
                }
            ],
            "pools": {"reserved": "0,4", "isolated": "rest"},
            "kubelet": {"topologyManagerPolicy": "restricted"},
            "workloadHints": {
                "realTime": False,
                "highPowerConsumption": False,
                "perPodPowerManagement": False,
            },
        },
    }
    assert proposed.comments == (
        "Proposed for pool worker-cnf (1 node like w0)",
        "reserved: 2 CPUs in whole cores, from the lowest NUMA node on (NUMA node 0: 0,4)",
    )


@pytest.mark.parametrize(
    ("request_fields", "field", "value"),
    [
        ({"offlined": 1}, "pools",
         {"reserved": "0,4", "isolated": "rest", "offlined": {"cpus": "6", "wholeCores": False}}),
        ({"offlined": 4}, "pools",
         {"reserved": "0,4", "isolated": "rest",
          "offlined": {"cpus": "1,3,5,7", "wholeCores": False}}),
        ({"disable_smt": True}, "kernel", {"extraArguments": ["nosmt"]}),
        ({"disable_smt": True}, "pools", {"reserved": "0,2", "isolated": "rest"}),
        ({"real_time": True, "power": "low-latency"}, "kernel", {"realTime": True}),
        ({"power": "low-latency"}, "workloadHints",
         {"realTime": True, "highPowerConsumption": False, "perPodPowerManagement": False}),
        ({"power": "ultra-low-latency"}, "workloadHints",
         {"realTime": True, "highPowerConsumption": True, "perPodPowerManagement": False}),
        ({"per_pod_power": True}, "workloadHints",
         {"realTime": False, "highPowerConsumption": False, "perPodPowerManagement": True}),
        ({"topology_policy": "best-effort"}, "kubelet", {"topologyManagerPolicy": "best-effort"}),
        ({"user_level_networking": True}, "net", {"userLevelNetworking": True}),
        ({"frequencies": (2500000, 2100000)}, "hardwareTuning",
         {"isolatedCpuFreq": 2500000, "reservedCpuFreq": 2100000}),
        ({"cluster": "site-7"}, "selector",
         {"clusters": ["site-7"], "matchLabels": {f"{ROLE}worker-cnf": ""}}),
    ],
)  # fmt: skip
def test_fields(tmp_path: Path, request_fields: dict[str, Any], field: str, value: object) -> None:
    assert spec_of(proposal(tmp_path, CNF._replace(**request_fields)))[field] == value


def test_workers_are_named_where_custom_pools_have_their_label_too(tmp_path: Path) -> None:
    nodes = [node("w0", "worker"), node("w1", "worker"), node("w2", "worker", "worker-cnf")]
    proposed = proposal(tmp_path, Request("worker", 2), *nodes)
    assert spec_of(proposed)["selector"] == {"clusters": ["lab"], "nodes": ["w[0-1]"]}
    assert proposed.remarks == ("node w2 is not in pool worker: it is in pool worker-cnf",)


def test_a_hosted_cluster(tmp_path: Path) -> None:
    objects = [infrastructure("External"), node("h0", "worker", labels={NODE_POOL: "np-a"})]
    proposed = propose(
        Dump(gather(tmp_path, objects, {"h0": SERVER})), Request("np-a", 2, release="4.20")
    )
    assert proposed.remarks == ()
    spec = spec_of(proposed)
    assert spec["selector"] == {"clusters": ["lab"], "nodes": ["h0"]}
    assert spec["targets"] == [
        {
            "platform": "openshift",
            "version": "4.20",
            "mode": "performanceProfile",
            "pool": "np-a",
            "nodeSelector": {f"{ROLE}worker": ""},
            "controlPlaneTopology": "External",
        }
    ]


def test_a_release_that_nobody_tells_is_a_remark(tmp_path: Path) -> None:
    objects = [infrastructure(), pool("worker"), node("w0", "worker")]
    proposed = propose(Dump(gather(tmp_path, objects, {"w0": SERVER})), Request("worker", 2))
    assert proposed.remarks == (
        "the must-gather does not contain OpenShift's release: 5.1 is assumed (--release)",
    )
    assert spec_of(proposed)["targets"][0]["version"] == "5.1"


def test_shares_that_are_not_even_are_a_remark(tmp_path: Path) -> None:
    proposed = proposal(tmp_path, Request("worker-cnf", 6, split=True))
    assert spec_of(proposed)["pools"]["reserved"] == "0-2,4-6"
    assert proposed.remarks == (
        (
            "6 reserved CPUs cannot be split evenly over the NUMA nodes in whole cores: "
            "4 on node 0, 2 on node 1"
        ),
    )


@pytest.mark.parametrize(
    ("selector", "label"),
    [
        (
            {"matchExpressions": [{"key": f"{ROLE}worker-cnf", "operator": "Exists"}]},
            {f"{ROLE}worker-cnf": ""},
        ),
        (
            {"matchExpressions": [{"key": "rack", "operator": "In", "values": ["a", "b"]}]},
            {"rack": "a"},
        ),
        ({"matchExpressions": [{"key": "gpu", "operator": "DoesNotExist"}]}, {f"{ROLE}worker": ""}),
    ],
)
def test_a_pool_with_expressions_is_found_by_a_label_of_its_nodes(
    tmp_path: Path, selector: dict[str, Any], label: dict[str, str]
) -> None:
    nodes = [node(name, "worker", "worker-cnf", labels={"rack": "a"}) for name in ("w0", "w1")]
    objects = [infrastructure(), pool("worker-cnf", selector=selector), *nodes]
    proposed = propose(Dump(gather(tmp_path, objects, {"w0": SERVER, "w1": SERVER})), CNF)
    assert spec_of(proposed)["targets"][0]["nodeSelector"] == label


def test_nodes_with_unlike_processors_get_a_common_layout(tmp_path: Path) -> None:
    other = SERVER | {
        "proc/cpuinfo": SERVER["proc/cpuinfo"].replace("GenuineIntel", "AuthenticAMD")
    }
    proposed = proposal(
        tmp_path, CNF, *CNF_NODES, machines={"w0": SERVER, "w1": other, "w2": other}
    )
    assert spec_of(proposed)["targets"][0]["mixedHardware"] == "common"
    assert proposed.remarks == (
        "w[1-2] and w0 have CPUs of different models; the layout is common to both",
    )


def test_more_numa_nodes_than_the_kubelet_takes(tmp_path: Path) -> None:
    more = {f"sys/devices/system/node/node{number}/cpulist": "\n" for number in range(2, 9)}
    proposed = proposal(tmp_path, CNF, machines={"w0": SERVER | more})
    assert spec_of(proposed)["kubelet"] == {
        "topologyManagerPolicy": "restricted",
        "topologyManagerPolicyOptions": {"max-allowable-numa-nodes": "9"},
    }
    assert (
        proposed.comments[-1]
        == "max-allowable-numa-nodes: with 9 NUMA nodes, the kubelet does not start without it"
    )


def test_what_a_layout_was_guessed_from_is_a_remark(tmp_path: Path) -> None:
    bare = {
        path: text
        for path, text in SERVER.items()
        if "/node/" not in path and "/topology/" not in path
    }
    proposed = proposal(tmp_path, CNF, machines={"w0": bare})
    assert spec_of(proposed)["pools"]["reserved"] == "0-1"
    assert proposed.remarks == (
        "the snapshot does not contain cores: each CPU is treated as one",
        "the snapshot does not contain NUMA nodes: all CPUs are treated as node 0",
    )


def test_of_a_folder_without_anything_one_thing_is_said(tmp_path: Path) -> None:
    assert codes(propose(Dump(tmp_path), CNF)) == ["CP124"]


def without_core_ids(files: Mapping[str, str]) -> dict[str, str]:
    return {path: "7\n" if path.endswith("core_id") else text for path, text in files.items()}


def changed(**texts: str) -> dict[str, str]:
    """The server with other sibling lists, by CPU (`cpu0`)."""
    return SERVER | {
        f"sys/devices/system/cpu/{cpu}/topology/core_cpus_list": text for cpu, text in texts.items()
    }


def test_nodes_that_differ_in_core_ids_are_alike(tmp_path: Path) -> None:
    other = without_core_ids(SERVER)
    proposed = proposal(
        tmp_path, CNF, *CNF_NODES, machines={"w0": SERVER, "w1": other, "w2": other}
    )
    assert spec_of(proposed)["pools"]["reserved"] == "0,4"
    assert proposed.remarks == (
        "w[1-2] and w0 number their cores in different ways; one list of CPUs fits both",
    )


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        (trees.server(8), "w[1-2] has 4 cores on NUMA node 0, w0 has 2"),
        (
            trees.server() | {"proc/cpuinfo": "Processor: AArch64\nCPU implementer\t: 0x41\n"},
            "w[1-2] has aarch64, w0 has x86_64",
        ),
        (
            changed(cpu0="0,6", cpu6="0,6", cpu2="2,4", cpu4="2,4"),
            "w[1-2] has CPUs 0,6 in one core, w0 has CPUs 0,4",
        ),
        (
            SERVER | {"sys/devices/system/node/node2/cpulist": "\n"},
            "w[1-2] has the NUMA nodes 0, 1, 2, w0 has 0, 1",
        ),
        (
            SERVER
            | {
                f"sys/devices/system/node/node{number}/cpulist": text
                for number, text in ((0, "0-1,4-5"), (1, "2-3,6-7"))
            },
            "w[1-2] has CPUs 0-1,4-5 on NUMA node 0, w0 has CPUs 0,2,4,6",
        ),
    ],
)
def test_unlike_nodes(tmp_path: Path, other: dict[str, str], difference: str) -> None:
    proposed = proposal(
        tmp_path, CNF, *CNF_NODES, machines={"w0": SERVER, "w1": other, "w2": other}
    )
    assert codes(proposed) == ["CP282"]
    assert proposed.diagnostics[0].message == f"the nodes of pool worker-cnf differ: {difference}"


def test_everything_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    objects = [infrastructure(), pool("worker-cnf", labels={}), *CNF_NODES]
    machines = {"w0": SERVER, "w1": trees.server(8), "w2": SERVER}
    proposed = propose(Dump(gather(tmp_path, objects, machines)), CNF._replace(reserved=3))
    assert codes(proposed) == ["CP282", "CP284", "CP283"]


@pytest.mark.parametrize(
    ("name", "nodes", "machines", "code"),
    [
        ("worker-cfn", CNF_NODES, {}, "CP280"),
        ("worker", CNF_NODES, {}, "CP281"),
        ("worker-cnf", CNF_NODES, {"w0": SERVER, "w1": SERVER}, "CP285"),
        (
            "worker-cnf",
            CNF_NODES,
            {"w0": SERVER, "w1": SERVER, "w2": {"proc/cmdline": ""}},
            "CP124",
        ),
    ],
)
def test_no_machine(
    tmp_path: Path, name: str, nodes: list[Any], machines: dict[str, dict[str, str]], code: str
) -> None:
    assert codes(proposal(tmp_path, Request(name, 2), *nodes, machines=machines)) == [code]


@pytest.mark.parametrize(
    ("request_fields", "word"),
    [
        ({"split": True, "topology_policy": "single-numa-node"}, "--split"),
        ({"real_time": True}, "--rt-kernel"),
        ({"power": "ultra-low-latency", "per_pod_power": True}, "--per-pod-power"),
        ({"split": True}, None),
        ({"real_time": True, "power": "low-latency", "per_pod_power": True}, None),
    ],
)
def test_contradictions(request_fields: dict[str, Any], word: str | None) -> None:
    contradiction = asked.contradiction(CNF._replace(**request_fields))
    assert (contradiction or "").startswith(word or "")
    assert bool(contradiction) is bool(word)


def test_texts_follow_the_rules_of_documents() -> None:
    assert (
        schema("Intent")["definitions"]["Target"]["properties"]["version"]["pattern"]
        == asked.RELEASE_PATTERN
    )
