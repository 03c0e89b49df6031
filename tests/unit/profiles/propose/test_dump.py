"""What a must-gather tells of its cluster."""

from pathlib import Path

import pytest

from cpuplan.base.emit import to_yaml
from cpuplan.profiles.propose.cluster import NODE_POOL, Dump
from tests.machines import trees
from tests.unit.profiles.propose.gathers import (
    CLUSTER,
    POOLS,
    VERSION,
    gather,
    infrastructure,
    node,
    pool,
)


def codes(dump: Dump) -> list[str]:
    return [diagnostic.code for diagnostic in dump.diagnostics]


def test_objects(tmp_path: Path) -> None:
    dump = Dump(gather(tmp_path, [*CLUSTER, node("w0", "worker")], {"w0": trees.server()}))
    assert (dump.name, dump.release, dump.hosted) == ("lab", "4.20", False)
    assert [pool_facts.name for pool_facts in dump.pools] == ["master", "worker", "worker-cnf"]
    assert [node_facts.name for node_facts in dump.nodes] == ["w0"]
    assert codes(dump) == dump.remarks == []


def test_pools_are_those_that_the_must_gather_has(tmp_path: Path) -> None:
    """Where it has none, nobody knows which nodes are in a custom one."""
    assert Dump(gather(tmp_path, [node("w0", "worker")], {})).pools == []


def test_lists_are_read_too(tmp_path: Path) -> None:
    objects = {
        "kind": "InfrastructureList",
        "items": [{**infrastructure("External"), "kind": "Infrastructure"}],
    }
    path = "image/cluster-scoped-resources/config.openshift.io/infrastructures.yaml"
    trees.put({path: to_yaml(objects)}, gather(tmp_path, [node("w0", "worker")], {}))
    assert Dump(tmp_path).hosted


@pytest.mark.parametrize(("pools", "hosted"), [([], True), ([pool("worker")], False)])
def test_without_infrastructure_pools_tell_whether_it_is_hosted(
    tmp_path: Path, pools: list[object], hosted: bool
) -> None:
    dump = Dump(gather(tmp_path, [*pools, node("w0", "worker", labels={NODE_POOL: "a"})], {}))
    assert dump.hosted is hosted
    assert len(dump.remarks) == 1


def test_nothing_is_said_once(tmp_path: Path) -> None:
    assert codes(Dump(tmp_path)) == ["CP124"]
    assert codes(Dump(tmp_path / "absent")) == ["CP124"]


def test_a_machine_is_read_once_and_only_when_asked_for(tmp_path: Path) -> None:
    dump = Dump(gather(tmp_path, [*CLUSTER, node("w0", "worker")], {"w0": trees.server()}))
    first = dump.machine("w0")
    assert first is not None
    assert str(first.online) == "0-7"
    (tmp_path / "image/nodes/w0/sysinfo.tgz").unlink()
    assert dump.machine("w0") is first


@pytest.mark.parametrize("name", ["w0", "../w0"])
def test_a_snapshot_that_is_not_there(tmp_path: Path, name: str) -> None:
    dump = Dump(gather(tmp_path, [*CLUSTER, node("w0", "worker")], {}))
    assert dump.machine(name) is None
    assert [problem.code for problem in dump.problems(name)] == ["CP285"]
    assert codes(dump) == []


def test_a_damaged_snapshot_is_named(tmp_path: Path) -> None:
    dump = Dump(gather(tmp_path, [*CLUSTER, node("w0", "worker")], {"w0": trees.server()}))
    path = tmp_path / "image/nodes/w0/sysinfo.tgz"
    path.write_bytes(path.read_bytes()[:-20])
    assert dump.machine("w0") is None
    assert [problem.code for problem in dump.problems("w0")] == ["CP121"]


def test_images_that_agree_are_one_cluster(tmp_path: Path) -> None:
    for image in ("one", "two"):
        gather(
            tmp_path, [*CLUSTER, node("edgenodes", "worker")], {"edgenodes": trees.server()}, image
        )
    dump = Dump(tmp_path)
    assert codes(dump) == []
    assert [node_facts.name for node_facts in dump.nodes] == ["edgenodes"]


@pytest.mark.parametrize(
    "other",
    [
        pool("worker-cnf", labels={"team": "x"}),
        node("w0", "infra"),
        infrastructure("External"),
        {**VERSION, "status": {"desired": {"version": "4.18.1"}}},
    ],
)
def test_images_that_do_not_agree(tmp_path: Path, other: object) -> None:
    gather(tmp_path, [*CLUSTER, node("w0", "worker")], {"w0": trees.server()}, "one")
    gather(tmp_path, [other], {"w0": trees.server()}, "two")
    assert codes(Dump(tmp_path)) == ["CP286"]


def test_damaged_objects_are_named(tmp_path: Path) -> None:
    gather(tmp_path, [*CLUSTER, node("w0", "worker")], {})
    trees.put({f"image/{POOLS}/odd.yaml": "kind: [\n"}, tmp_path)
    assert codes(Dump(tmp_path)) == ["CP121"]


def test_a_snapshot_is_taken_from_the_first_image_that_has_a_whole_one(tmp_path: Path) -> None:
    for image in ("one", "two"):
        gather(tmp_path, [*CLUSTER, node("w0", "worker")], {"w0": trees.server()}, image)
    (tmp_path / "one/nodes/w0/sysinfo.tgz").write_bytes(b"cut short")
    dump = Dump(tmp_path)
    assert dump.machine("w0") is not None
    assert dump.problems("w0") == []


def test_snapshots_that_do_not_agree(tmp_path: Path) -> None:
    gather(tmp_path, [*CLUSTER, node("w0", "worker")], {"w0": trees.server()}, "one")
    gather(tmp_path, [], {"w0": trees.server(8)}, "two")
    dump = Dump(tmp_path)
    machine = dump.machine("w0")
    assert machine is not None
    assert str(machine.online) == "0-7"
    assert [problem.code for problem in dump.problems("w0")] == ["CP286"]
    assert dump.problems("w0")[0].message.endswith(
        "and an earlier image disagree about the CPUs of w0"
    )


def test_a_must_gather_without_nodes_is_a_remark(tmp_path: Path) -> None:
    gather(tmp_path, CLUSTER, {"w0": trees.server()})
    assert Dump(tmp_path).remarks == [
        (
            "there are no Node objects (cluster-scoped-resources/core/nodes), "
            "which determine the nodes of a pool"
        )
    ]


def test_names_that_no_cluster_has_are_left_out(tmp_path: Path) -> None:
    path = (
        gather(tmp_path, [*CLUSTER, node("w0", "worker")], {})
        / "image/cluster-scoped-resources/core/nodes/w0.yaml"
    )
    path.write_text(path.read_text().replace("name: w0", 'name: "../../\\e[31mw0"'))
    dump = Dump(tmp_path)
    assert dump.nodes == []
    assert codes(dump) == ["CP125"]
    assert dump.diagnostics[0].message.endswith("it is not a valid name of a Node")
