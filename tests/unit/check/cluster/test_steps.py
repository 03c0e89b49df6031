"""The API of a cluster against what was compiled: nothing on one that took it, one finding for each
change.
"""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from cpuplan.backends import parts
from cpuplan.check.cluster.objects import KINDS, Objects
from cpuplan.check.cluster.steps import check_node, check_objects
from cpuplan.diagnostics.source import Source
from cpuplan.plan.expected.evidence import Answer, Verdict
from cpuplan.simulate.files.objects import Object
from tests.live import KUBELET_CONF, RENDERED_NAME, Cluster, file, objects
from tests.machines.plans import no_position, plan, regular

OWN = "machineconfiguration.openshift.io/"
MACHINE = regular(sockets=2, cores=4, threads=2)
PAGES = {"hugePages": {"pages": [{"size": "1G", "count": 2}]}}
MIXED = {"runtime": {"mixedCpus": True, "sharedNamespaces": ["du"]}}
OPENSHIFT = Cluster(
    plan(
        MACHINE,
        reserved="0,8",
        shared="1,9",
        version="4.20",
        target={"cpuPartitioning": True},
        spec={**PAGES, **MIXED},
    )
)
KUBERNETES = Cluster(
    plan(MACHINE, reserved="0,8", shared="1,9", platform="kubernetes", version="1.34", spec=PAGES)
)


def answers(cluster: Cluster, found: Objects) -> list[Answer]:
    """All answers on the first node and on the compiled objects."""
    node = check_node(found, cluster.expected[0], "worker-0", no_position)
    return [*node, *check_objects(found, cluster.compiled, no_position)]


def findings(cluster: Cluster, listed: list[dict[str, Any]]) -> list[str]:
    found = (answer.finding for answer in answers(cluster, objects(listed)))
    return [f"{each.code}: {each.message}" for each in found if each]


def one(listed: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    """The first object of a kind."""
    return next(each for each in listed if each["kind"] == kind)


@pytest.mark.parametrize("cluster", [OPENSHIFT, KUBERNETES], ids=["openshift", "kubernetes"])
def test_a_cluster_that_took_everything(cluster: Cluster) -> None:
    assert findings(cluster, cluster.objects()) == []
    held = [each for each in answers(cluster, objects(cluster.objects())) if each.evidence]
    assert {each.verdict for each in held} == {Verdict.HELD, Verdict.UNVERIFIABLE}
    assert sum(each.verdict is Verdict.HELD for each in held) >= 12


def test_nothing_that_was_not_given_is_passed() -> None:
    found = answers(OPENSHIFT, Objects())
    assert {each.verdict for each in found} == {Verdict.UNVERIFIABLE}
    assert all(each.reason for each in found)
    assert "no Node is among the objects that were given" in {each.reason for each in found}


def test_null_is_as_good_as_nothing() -> None:
    listed = OPENSHIFT.objects()
    for each in one(listed, "MachineConfig")["spec"]["config"]["storage"]["files"]:
        each["mode"] = None
    found = Objects([Object(Source("x", each, {}, (-1, -1)), (), each, "x") for each in listed])
    assert [each.finding for each in answers(OPENSHIFT, found) if each.finding] == []


def test_a_node_that_the_cluster_does_not_have() -> None:
    listed = [each for each in OPENSHIFT.objects() if each["metadata"]["name"] != "worker-0"]
    node = check_node(objects(listed), OPENSHIFT.expected[0], "worker-0", no_position)
    assert [each.finding.message for each in node if each.finding] == [
        "Node worker-0 is not there: the cluster has no Node worker-0"
    ]


Change = Callable[[dict[str, Any]], Any]


def _argument(rendered: dict[str, Any], start: str, text: str) -> None:
    words = rendered["spec"]["kernelArguments"]
    at = next(at for at, word in enumerate(words) if word.startswith(start))
    words[at : at + 1] = [text] if text else []


def _file(rendered: dict[str, Any], path: str) -> dict[str, Any]:
    listed = rendered["spec"]["config"]["storage"]["files"]
    return next(each for each in listed if each["path"] == path)


def _kubelet(rendered: dict[str, Any], before: str, after: str) -> None:
    from cpuplan.upstream.mco.ignition.url import contents

    text = contents(rendered["spec"]["config"])[KUBELET_CONF].decode()
    assert before in text
    _file(rendered, KUBELET_CONF).update(file(KUBELET_CONF, text.replace(before, after)))


CHANGES: list[tuple[str, Change, str]] = [
    (
        "Node",
        lambda node: node["status"]["capacity"].update(cpu="15"),
        "CP890: capacity of cpu of Node worker-0 is 15; with the compiled settings it is 16",
    ),
    (
        "Node",
        lambda node: node["status"]["allocatable"].update(cpu="13500m"),
        "CP890: allocatable of cpu of Node worker-0 is 13500m; with the compiled settings it is 12",
    ),
    (
        "Node",
        lambda node: node["status"]["capacity"].pop("hugepages-1Gi"),
        (
            "CP890: capacity of hugepages-1Gi of Node worker-0 is nothing; with the compiled"
            " settings it is 2Gi"
        ),
    ),
    (
        "Node",
        lambda node: node["status"]["capacity"].pop("workload.openshift.io/enable-shared-cpus"),
        (
            "CP890: capacity of workload.openshift.io/enable-shared-cpus of Node worker-0 is"
            " nothing; with the compiled settings it is 256"
        ),
    ),
    (
        "Node",
        lambda node: node["status"]["capacity"].update(
            {"management.workload.openshift.io/cores": "14k"}
        ),
        (
            "CP890: capacity of management.workload.openshift.io/cores of Node worker-0 is 14k;"
            " with the compiled settings it is 16k"
        ),
    ),
    (
        "Node",
        lambda node: node["metadata"]["annotations"].update({f"{OWN}desiredConfig": "rendered-2"}),
        f"CP892: node worker-0: it is on the way from {RENDERED_NAME} to rendered-2",
    ),
    (
        "Node",
        lambda node: node["metadata"]["annotations"].update(
            {f"{OWN}state": "Degraded", f"{OWN}reason": "unexpected on-disk state"}
        ),
        "CP892: node worker-0: its configuration failed: unexpected on-disk state",
    ),
    (
        "MachineConfigPool",
        lambda pool: pool["status"]["conditions"].insert(
            0, {"type": "RenderDegraded", "status": "True", "message": "bad\nsyntax"}
        ),
        "CP892: MachineConfigPool worker-cnf: RenderDegraded: bad syntax",
    ),
    (
        "MachineConfigPool",
        lambda pool: pool["metadata"].update(generation=3),
        "CP892: MachineConfigPool worker-cnf: the operator has not seen its newest version",
    ),
    (
        "MachineConfigPool",
        lambda pool: (
            pool["spec"].update(paused=True),
            pool["status"].update(updatedMachineCount=1),
            pool["status"]["conditions"].pop(),
        ),
        "CP892: MachineConfigPool worker-cnf: it is paused, 1 of 2 are",
    ),
    (
        "MachineConfigPool",
        lambda pool: pool["spec"]["configuration"]["source"].pop(1),
        (
            "CP892: MachineConfigPool worker-cnf: "
            f"{RENDERED_NAME} is rendered without MachineConfig 50-performance-ran"
        ),
    ),
    (
        "MachineConfig",
        lambda rendered: _argument(rendered, "nohz_full=", "nohz_full=2-7"),
        (
            f"CP891: argument nohz_full of {RENDERED_NAME} is nohz_full=2-7; it should be"
            " nohz_full=2-7,10-15"
        ),
    ),
    (
        "MachineConfig",
        lambda rendered: _argument(rendered, "tsc=", ""),
        f"CP891: argument tsc of {RENDERED_NAME} is nothing; it should be tsc=reliable",
    ),
    (
        "MachineConfig",
        lambda rendered: rendered["spec"].update(kernelType="realtime"),
        f"CP891: kernelType of {RENDERED_NAME} is realtime; it should be default",
    ),
    (
        "MachineConfig",
        lambda rendered: _file(rendered, "/etc/crio/crio.conf.d/99-runtimes.conf").update(
            file("x", "[crio.runtime]\n") | {"path": "/etc/crio/crio.conf.d/99-runtimes.conf"}
        ),
        (
            "CP891: file /etc/crio/crio.conf.d/99-runtimes.conf of "
            f"{RENDERED_NAME} is no further line; it should be "
        ),
    ),
    (
        "MachineConfig",
        lambda rendered: _file(rendered, "/etc/kubernetes/openshift-workload-pinning").update(
            mode=0o600
        ),
        (
            f"CP891: file /etc/kubernetes/openshift-workload-pinning of {RENDERED_NAME} is mode"
            " 0600; it should be mode 0644"
        ),
    ),
    (
        "MachineConfig",
        lambda rendered: rendered["spec"]["config"]["systemd"]["units"][0].update(enabled=False),
        (
            f"CP891: unit clear-irqbalance-banned-cpus.service of {RENDERED_NAME} is not enabled;"
            " it should be enabled"
        ),
    ),
    (
        "MachineConfig",
        lambda rendered: rendered["spec"]["config"]["systemd"]["units"].pop(0),
        (
            f"CP891: unit clear-irqbalance-banned-cpus.service of {RENDERED_NAME} is nothing; it"
            " should be the compiled unit"
        ),
    ),
    (
        "MachineConfig",
        lambda rendered: _kubelet(rendered, '"static"', '"none"'),
        (
            f"CP891: KubeletConfiguration cpuManagerPolicy of {RENDERED_NAME} is none; it should be"
            " static"
        ),
    ),
    (
        "KubeletConfig",
        lambda config: config["status"]["conditions"].append(
            {"type": "Failure", "status": "False", "message": "Error: bad field"}
        ),
        "CP892: KubeletConfig performance-ran: Failure: Error: bad field",
    ),
    (
        "RuntimeClass",
        lambda runtime: runtime.update(handler="runc"),
        "CP888: handler of RuntimeClass performance-ran is runc; compiled is high-performance",
    ),
    (
        "KubeletConfig",
        lambda config: config["spec"]["kubeletConfig"].update(cpuManagerPolicy="none"),
        (
            "CP888: spec.kubeletConfig.cpuManagerPolicy of KubeletConfig performance-ran is none;"
            " compiled is static"
        ),
    ),
    (
        "NodeResourceTopology",
        lambda found: found.update(zones=[]),
        (
            "CP886: zones.node-0.costs of NodeResourceTopology worker-0 is nothing; with the"
            " compiled settings it is node-0 10, node-1 21"
        ),
    ),
]


@pytest.mark.parametrize(
    ("kind", "change", "message"), CHANGES, ids=[row[2][:60] for row in CHANGES]
)
def test_each_change_is_found(kind: str, change: Change, message: str) -> None:
    listed = copy.deepcopy(OPENSHIFT.objects())
    change(one(listed, kind))
    found = findings(OPENSHIFT, listed)
    assert found[0].startswith(message), found
    if kind != "NodeResourceTopology":
        assert len(found) == 1, found


SAME: list[tuple[str, Change]] = [
    ("Node", lambda node: node["status"]["capacity"].update(cpu="16000m", memory="68719476736")),
    ("Node", lambda node: node["metadata"]["annotations"].pop(f"{OWN}reason")),
    ("MachineConfig", lambda rendered: rendered["spec"]["kernelArguments"].append("quiet")),
    (
        "MachineConfig",
        lambda rendered: _argument(rendered, "nohz_full=", "nohz_full=10-15,2,3-7"),
    ),
    ("MachineConfig", lambda rendered: rendered["spec"]["config"]["storage"]["files"].reverse()),
    ("MachineConfig", lambda rendered: _kubelet(rendered, '"5s"', '"5000ms"')),
    ("MachineConfig", lambda rendered: _kubelet(rendered, '"0-1,8-9"', '"8,9,0,1"')),
    ("RuntimeClass", lambda runtime: runtime["metadata"].update(labels={"of": "others"})),
    ("KubeletConfig", lambda config: config["spec"].update(autoSizingReserved=False)),
]


@pytest.mark.parametrize(("kind", "change"), SAME)
def test_what_says_the_same_is_no_finding(kind: str, change: Change) -> None:
    listed = copy.deepcopy(OPENSHIFT.objects())
    change(one(listed, kind))
    assert findings(OPENSHIFT, listed) == []


def test_an_object_that_is_not_there() -> None:
    other = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "gvisor"}}
    listed = [each for each in KUBERNETES.objects() if each["kind"] != "RuntimeClass"]
    assert findings(KUBERNETES, [*listed, {**other, "handler": "runsc"}]) == [
        (
            "CP887: RuntimeClass performance-ran is not there: the cluster has no RuntimeClass"
            " performance-ran"
        )
    ]
    found = answers(KUBERNETES, objects(listed))
    assert [each.reason for each in found if each.fact.startswith("RuntimeClass")] == [
        "no RuntimeClass is among the objects that were given"
    ]


def test_without_the_pool_what_the_node_has_is_compared() -> None:
    listed = [each for each in OPENSHIFT.objects() if each["kind"] != "MachineConfigPool"]
    found = answers(OPENSHIFT, objects(listed))
    assert "rendered kernelType" in {each.fact for each in found}
    assert not [each for each in found if each.finding]


def test_every_compiled_kind_that_is_compared_can_be_read() -> None:
    for cluster in (OPENSHIFT, KUBERNETES):
        assert {each.kind for each in cluster.compiled} <= set(KINDS)
    assert set(KINDS) >= parts.COMPARED
