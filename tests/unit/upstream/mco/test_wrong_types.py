"""Whatever stands in an object, it is taken or refused with a McoError."""

import copy
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from cpuplan.upstream.mco.common import McoError
from cpuplan.upstream.mco.container_runtime_config_controller import ContainerRuntimeConfigs
from cpuplan.upstream.mco.kubelet_config_controller import KubeletConfigs, installed
from cpuplan.upstream.mco.render_controller import render
from cpuplan.upstream.mco.update import Node, change, impact
from tests.conformance.mco.effective import effective
from tests.unit.upstream.mco.objects import Json, file, ignition, machine_config, node, pool

VALUES: tuple[Any, ...] = (None, True, 7, 1.5, "x", [], {}, [None], [7], ["x"], {"x": 7}, {7: "x"})
SELECTOR = {
    "matchLabels": {"a": "b"},
    "matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}],
}
CONFIG = machine_config(
    "a",
    generated_by="current",
    config=ignition(
        storage={"files": [file(user={"id": 1})], "links": [{"path": "/a", "target": "/b"}]},
        systemd={"units": [{"name": "a.service", "dropins": [{"name": "a.conf"}]}]},
        passwd={"users": [{"name": "core", "sshAuthorizedKeys": ["k"]}]},
    ),
    kernelArguments=["a"],
    extensions=["ipsec"],
    fips=True,
)
SPEC_2: Json = {
    "ignition": {"version": "2.2.0"},
    "storage": {
        "files": [{"filesystem": "root", "path": "/a", "contents": {"source": "data:,x"}}],
        "filesystems": [{"name": "root", "path": "/"}],
        "disks": [{"device": "/dev/a"}],
        "links": [{"filesystem": "root", "path": "/b", "target": "/c"}],
        "raid": [{"name": "a", "level": "raid1", "devices": ["/dev/a"]}],
    },
    "systemd": {"units": [{"name": "a.service", "enable": True, "dropins": [{"name": "a.conf"}]}]},
    "passwd": {"users": [{"name": "core", "sshAuthorizedKeys": ["k"]}], "groups": [{"name": "g"}]},
    "networkd": {"units": []},
}
KUBELET: Json = {
    "metadata": {"name": "a", "annotations": {"a": "b"}},
    "spec": {
        "machineConfigPoolSelector": {"matchLabels": {"pools.example.test/worker": ""}},
        "kubeletConfig": {
            "systemReserved": {"cpu": "1"},
            "enforceNodeAllocatable": ["pods"],
            "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1Gi"}}],
            "reservedSystemCPUs": "0",
            "authentication": {"anonymous": {"enabled": True}},
            "staticPodPath": "",
            "memorySwap": {},
        },
        "logLevel": 1,
        "autoSizingReserved": False,
        "tlsSecurityProfile": {
            "type": "Custom",
            "custom": {"ciphers": ["a"], "minTLSVersion": "b"},
        },
    },
}
RUNTIME: Json = {
    "metadata": {"name": "a"},
    "spec": {
        "machineConfigPoolSelector": {"matchLabels": {"pools.example.test/worker": ""}},
        "containerRuntimeConfig": {
            "pidsLimit": 20,
            "logLevel": "info",
            "logSizeMax": "1Mi",
            "overlaySize": "1G",
            "defaultRuntime": "crun",
            "additionalImageStores": [{"path": "/a"}],
        },
    },
}
CONFIGURATION: Json = {
    "spec": {
        "nodeDisruptionPolicy": {
            "files": [{"path": "/etc/x", "actions": [{"type": "None"}]}],
            "units": [
                {"name": "a", "actions": [{"type": "Reload", "reload": {"serviceName": "a"}}]}
            ],
            "sshkey": {"actions": [{"type": "None"}]},
        },
        "irreconcilableValidationOverrides": {"storage": ["Disks"]},
    }
}
DEFAULTS: Json = {"worker": {"maxPods": 250}, "master": {}}


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in an object."""
    yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from paths(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from paths(inner, (*path, index))


def changed(value: Any) -> Iterator[Any]:
    """The object with each place holding each of the values."""
    for path in paths(value):
        for other in VALUES if path else ({},):
            copied = copy.deepcopy(value)
            holder = copied
            for key in path[:-1]:
                holder = holder[key]
            if path:
                holder[path[-1]] = other
            yield copied if path else other


def kubelet(item: Json) -> None:
    controller = KubeletConfigs([pool()], DEFAULTS)
    with suppress(McoError):
        controller.create(item)
    with suppress(McoError):
        controller.set_node_config({"spec": item.get("spec")})
    installed([pool()], [item], DEFAULTS)


def runtime(item: Json) -> None:
    ContainerRuntimeConfigs([pool()]).create(item)


def configuration(item: Json) -> None:
    other = copy.deepcopy(CONFIG)
    other["spec"]["config"]["storage"]["files"][0]["mode"] = 0o600
    impact(CONFIG, other, Node(configuration=item))


def with_selector(item: Json) -> None:
    given = {"metadata": {"name": "x"}, "spec": {"nodeSelector": item}}
    effective(node("worker"), [given], [CONFIG])


CASES: list[tuple[Json, Callable[[Json], object]]] = [
    (CONFIG, lambda item: render(pool(), [item])),
    (CONFIG, lambda item: render(pool(), [item], (4, 14))),
    (CONFIG, lambda item: impact(CONFIG, item)),
    (CONFIG, lambda item: change(pool(), [CONFIG], [item])),
    (SPEC_2, lambda item: render(pool(), [machine_config("a", config=item)])),
    (pool(), lambda item: render(item, [CONFIG])),
    (pool(), lambda item: effective(node("worker"), [item], [CONFIG])),
    (node("worker"), lambda item: effective(item, [pool()], [CONFIG])),
    (SELECTOR, with_selector),
    (KUBELET, kubelet),
    (RUNTIME, runtime),
    (CONFIGURATION, configuration),
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_nothing_but_a_refusal(case: int) -> None:
    item, use = CASES[case]
    use(copy.deepcopy(item))
    refused = 0
    for other in changed(item):
        try:
            use(other)
        except McoError:
            refused += 1
    assert refused or case == 2  # impact returns its refusal
