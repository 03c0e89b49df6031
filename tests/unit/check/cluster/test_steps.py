"""The API of a cluster against what was compiled.

Nothing is said of a cluster that took it, and each change has one finding.
"""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from cpuplan.backends import parts
from cpuplan.check.cluster.answers import check_node, check_objects
from cpuplan.check.cluster.live_objects import KINDS, Objects
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


def answers(cluster: Cluster, live: Objects) -> list[Answer]:
    """All answers on the first node and on the compiled objects."""
    node = check_node(live, cluster.expected[0], "worker-0", no_position)
    return [*node, *check_objects(live, cluster.compiled, no_position)]


def findings(cluster: Cluster, listed: list[dict[str, Any]]) -> list[str]:
    diagnostics = (answer.finding for answer in answers(cluster, objects(listed)))
    return [f"{finding.code}: {finding.message}" for finding in diagnostics if finding]


def of_kind(listed: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    """The first object of a kind."""
    return next(manifest for manifest in listed if manifest["kind"] == kind)


@pytest.mark.parametrize("cluster", [OPENSHIFT, KUBERNETES], ids=["openshift", "kubernetes"])
def test_a_cluster_that_took_everything(cluster: Cluster) -> None:
    assert findings(cluster, cluster.objects()) == []
    held = [answer for answer in answers(cluster, objects(cluster.objects())) if answer.evidence]
    assert {answer.verdict for answer in held} == {Verdict.HELD, Verdict.UNVERIFIABLE}
    assert sum(answer.verdict is Verdict.HELD for answer in held) >= 12


def test_nothing_that_was_not_given_is_passed() -> None:
    checks = answers(OPENSHIFT, Objects())
    assert {answer.verdict for answer in checks} == {Verdict.UNVERIFIABLE}
    assert all(answer.reason for answer in checks)
    assert "no Node is among the objects that were given" in {answer.reason for answer in checks}


def test_null_is_as_good_as_nothing() -> None:
    listed = OPENSHIFT.objects()
    for entry in of_kind(listed, "MachineConfig")["spec"]["config"]["storage"]["files"]:
        entry["mode"] = None
    live = Objects(
        [Object(Source("x", manifest, {}, (-1, -1)), (), manifest, "x") for manifest in listed]
    )
    assert [answer.finding for answer in answers(OPENSHIFT, live) if answer.finding] == []


def test_a_node_that_the_cluster_does_not_have() -> None:
    listed = [
        manifest for manifest in OPENSHIFT.objects() if manifest["metadata"]["name"] != "worker-0"
    ]
    node = check_node(objects(listed), OPENSHIFT.expected[0], "worker-0", no_position)
    assert [answer.finding.message for answer in node if answer.finding] == [
        "Node worker-0 is not there: the cluster has no Node worker-0"
    ]


Change = Callable[[dict[str, Any]], Any]


def _argument(rendered: dict[str, Any], start: str, text: str) -> None:
    words = rendered["spec"]["kernelArguments"]
    at = next(at for at, word in enumerate(words) if word.startswith(start))
    words[at : at + 1] = [text] if text else []


def _file(rendered: dict[str, Any], path: str) -> dict[str, Any]:
    listed = rendered["spec"]["config"]["storage"]["files"]
    return next(entry for entry in listed if entry["path"] == path)


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
        lambda topology: topology.update(zones=[]),
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
    change(of_kind(listed, kind))
    messages = findings(OPENSHIFT, listed)
    assert messages[0].startswith(message), messages
    if kind != "NodeResourceTopology":
        assert len(messages) == 1, messages


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
    change(of_kind(listed, kind))
    assert findings(OPENSHIFT, listed) == []


def test_an_object_that_is_not_there() -> None:
    other = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "gvisor"}}
    listed = [manifest for manifest in KUBERNETES.objects() if manifest["kind"] != "RuntimeClass"]
    assert findings(KUBERNETES, [*listed, {**other, "handler": "runsc"}]) == [
        (
            "CP887: RuntimeClass performance-ran is not there: the cluster has no RuntimeClass"
            " performance-ran"
        )
    ]
    checks = answers(KUBERNETES, objects(listed))
    assert [answer.reason for answer in checks if answer.fact.startswith("RuntimeClass")] == [
        "no RuntimeClass is among the objects that were given"
    ]


def test_without_the_pool_what_the_node_has_is_compared() -> None:
    listed = [
        manifest for manifest in OPENSHIFT.objects() if manifest["kind"] != "MachineConfigPool"
    ]
    checks = answers(OPENSHIFT, objects(listed))
    assert "rendered kernelType" in {answer.fact for answer in checks}
    assert not [answer for answer in checks if answer.finding]


def test_every_compiled_kind_that_is_compared_can_be_read() -> None:
    for cluster in (OPENSHIFT, KUBERNETES):
        assert {manifest.kind for manifest in cluster.compiled} <= set(KINDS)
    assert set(KINDS) >= parts.COMPARED
