"""Intents of kubelets' configurations compile to the same settings, or it is said what differs."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
import yaml

from cpuplan.base.cpuset import EMPTY
from cpuplan.check.kubelet.configuration import is_same
from cpuplan.diagnostics import errors
from cpuplan.fleet.hardware import number_regular
from cpuplan.language.model.inventory import Regular
from cpuplan.simulate.files.kubelet_configuration import File
from cpuplan.simulate.files.kubelet_documents import Documents, documents, flags_of_text
from cpuplan.simulate.files.kubelet_intents import Made, Wanted, intent
from cpuplan.upstream.kubelet import server
from cpuplan.upstream.kubelet.config.codec import encode
from cpuplan.upstream.kubernetes.errors import KubeletError
from tests.projects import run_in

RELEASE = "1.34"
VERSION = (1, 34)
HEAD = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}
TARGET = {"platform": "kubernetes", "version": RELEASE, "runtime": "containerd"}
REGULAR = {
    "sockets": 2,
    "coresPerSocket": 6,
    "threadsPerCore": 2,
    "memoryPerNumaNode": "64Gi",
}
#: Values of fields, of which each configuration has some.
VALUES: dict[str, tuple[Any, ...]] = {
    "cpuManagerPolicy": ("static", "static", "none"),
    "cpuManagerReconcilePeriod": ("10s", "1m30s"),
    "topologyManagerPolicy": ("none", "best-effort", "restricted", "single-numa-node"),
    "topologyManagerScope": ("pod", "container"),
    "topologyManagerPolicyOptions": ({"prefer-closest-numa-nodes": "true"},),
    "kubeReserved": ({"memory": "500Mi"}, {"cpu": "500m"}, {"cpu": "1", "pid": "1000"}),
    "systemReserved": ({"memory": "1Gi"}, {"cpu": "1200m"}, {"cpu": "2", "memory": "1Gi"}),
    "reservedSystemCPUs": ("0", "0-1", "0,12", "1,13", "0-2,12-14", "4,3,2"),
    "evictionHard": ({"memory.available": "200Mi"}, {"nodefs.available": "10%"}, {}),
    "evictionSoft": ({"memory.available": "1Gi"},),
    "featureGates": ({"CPUManagerPolicyAlphaOptions": True}, {"KubeletTracing": False}),
    "maxPods": (50, 250),
    "podsPerCore": (0, 10),
    "clusterDNS": (["10.96.0.10"], []),
    "authentication": ({"anonymous": {"enabled": False}, "webhook": {"cacheTTL": "0s"}},),
    "failSwapOn": (True, False),
    "containerLogMaxSize": ("20Mi",),
    "tlsCipherSuites": (["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"],),
    "memorySwap": ({}, {"swapBehavior": "NoSwap"}),
    "memoryThrottlingFactor": (0.8,),
    "logging": ({"verbosity": 3, "flushFrequency": "5s"},),
    "kubeReservedCgroup": ("/runtime.slice",),
    "enforceNodeAllocatable": (["pods"], ["pods", "kube-reserved"], ["none"]),
    "cgroupDriver": ("systemd",),
    "shutdownGracePeriod": ("30s",),
    "imageGCHighThresholdPercent": (80,),
    "oomScoreAdj": (-999, None),
    "registerWithTaints": ([{"key": "a", "value": "b", "effect": "NoSchedule"}],),
}
OPTIONS = (
    {"full-pcpus-only": "true"},
    {"strict-cpu-reservation": "true"},
    {"distribute-cpus-across-numa": "true", "full-pcpus-only": "true"},
    {"full-pcpus-only": "false"},
)


def random_configuration(chance: random.Random) -> dict[str, Any]:
    fields = {
        name: chance.choice(values) for name, values in VALUES.items() if chance.random() < 0.4
    }
    if fields.get("cpuManagerPolicy") == "static" and chance.random() < 0.7:
        fields["cpuManagerPolicyOptions"] = chance.choice(OPTIONS)
    if chance.random() < 0.2:
        fields |= {
            "memoryManagerPolicy": "Static",
            "kubeReserved": {"memory": "500Mi"},
            "evictionHard": {"memory.available": "100Mi"},
            "reservedMemory": [
                {"numaNode": 0, "limits": {"memory": "400Mi"}},
                {"numaNode": 1, "limits": {"memory": "200Mi"}},
            ],
        }
        fields.pop("systemReserved", None)
    if "evictionSoft" in fields:
        fields["evictionSoftGracePeriod"] = {"memory.available": "1m"}
    names = list(fields)
    chance.shuffle(names)
    return {**HEAD, **{name: fields[name] for name in names}}


def known(configuration: dict[str, Any], path: str = "kubelet.yaml") -> Documents:
    given = documents(path, json.dumps(configuration))
    assert given is not None
    return given


def made_of(configuration: dict[str, Any], name: str = "n", **wanted: Any) -> Made:
    selector = {"clusters": ["lab"], "nodes": [name]}
    (judged,) = known(configuration).judged
    return intent(judged, Wanted(name, selector, TARGET, **wanted))


def effective(text: str) -> Any:
    """The fields in force; a time of 0 is none to Go, as is nothing in a struct."""
    return without_nothing(encode(server.load(text, version=VERSION).config))


def without_nothing(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    inner = {name: without_nothing(item) for name, item in value.items()}
    return {name: item for name, item in inner.items() if item not in ("0s", "", {}, [])}


def compiled(
    folder: Path, intents: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> dict[str, str]:
    """The drop-in of each node."""
    for name in ("inventories", "intents"):
        (folder / name).mkdir()
    nodes = [{"name": name} for name in intents]
    spec = {"cluster": "lab", "hardware": "server", "nodes": nodes}
    inventory = [
        {**own("Hardware", "server"), "spec": {"regular": REGULAR}},
        {**own("Nodes", "lab"), "spec": spec},
    ]
    (folder / "inventories/lab.yaml").write_text(yaml.safe_dump_all(inventory))
    for name, data in intents.items():
        (folder / f"intents/{name}.yaml").write_text(json.dumps(data))
    code, _, err = run_in(folder, ["compile", "-q"], capsys)
    assert code == 0, err
    place = "out/nodes/lab/{name}-server/etc/kubernetes/kubelet.conf.d/90-cpuplan.conf"
    return {name: (folder / place.format(name=name)).read_text() for name in intents}


def own(kind: str, name: str) -> dict[str, Any]:
    return {"apiVersion": "cpuplan.io/v1alpha1", "kind": kind, "metadata": {"name": name}}


def test_random_configurations_compile_to_the_same_settings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Fields of which nothing is said have the same values; of each other a finding says so."""
    chance = random.Random(30)  # noqa: S311 - the same each time
    given: dict[str, tuple[dict[str, Any], set[str]]] = {}
    intents: dict[str, Any] = {}
    while len(intents) < 30:
        name, configuration = f"n{len(intents)}", random_configuration(chance)
        try:
            made = made_of(configuration, name)
        except KubeletError:
            continue
        if made.intent is None:
            assert errors(made.diagnostics)
            continue
        intents[name] = made.intent
        told = {finding.message.partition(" ")[0] for finding in made.diagnostics}
        given[name] = configuration, told
    drop_ins = compiled(tmp_path, intents, capsys)
    changed = set()
    for name, (configuration, told) in given.items():
        before, after = effective(json.dumps(configuration)), effective(drop_ins[name])
        differing = {
            field
            for field in before.keys() | after.keys()
            if not is_same(field, before.get(field), after.get(field))
        }
        if differing & {"reservedSystemCPUs"}:
            differing.remove("reservedSystemCPUs")
            # CP2526, or CP2528 without a machine
            assert told & {"systemReserved", "kubeReserved", "cpuManagerPolicy", "which"}
            assert before["cpuManagerPolicy"] == "static"
        assert differing <= told, (configuration, drop_ins[name])
        changed |= differing
    assert changed == {"evictionHard", "kubeReservedCgroup"}


def test_cpus_of_amounts_are_those_that_the_kubelet_takes() -> None:
    """By the machine; without it, their number is asked of the solver, and that is said."""
    machine = number_regular(Regular.model_validate(REGULAR), EMPTY, "x86_64")
    configuration = {**HEAD, "cpuManagerPolicy": "static", "systemReserved": {"cpu": "1500m"}}
    known_machine = made_of(configuration, topology=machine)
    assert known_machine.intent is not None
    assert known_machine.intent["spec"]["pools"]["reserved"] == "0,12"
    assert codes(known_machine) == ["CP2526"]
    unknown = made_of(configuration)
    assert unknown.intent is not None
    assert unknown.intent["spec"]["pools"]["reserved"] == {"count": 2, "wholeCores": False}
    assert codes(unknown) == ["CP2528"]


def test_flags_count_more_than_files_and_are_told() -> None:
    given = flags_of_text(
        "flags.env", 'KUBELET_EXTRA_ARGS="--cpu-manager-policy=static --reserved-cpus 0-1"\n'
    )
    assert given is not None
    (flags,) = given.judged
    (judged,) = known({**HEAD, "reservedSystemCPUs": "3", "maxPods": 20}).judged
    made = intent(judged._replace(command=flags.command), Wanted("n", {}, TARGET))
    assert made.intent is not None
    assert made.intent["spec"]["pools"]["reserved"] == {"cpus": "0-1", "wholeCores": False}
    assert made.intent["spec"]["kubelet"] == {
        "cpuManagerPolicy": "static",
        "configuration": {"maxPods": 20},
    }
    assert codes(made) == ["CP2530"]


@pytest.mark.parametrize(
    "text",
    ["", "# nothing\n", "kind: Pod\n", "--verbose\n", "ls -l --color\n", "A='--reserved-cpus\n"],
)
def test_other_texts_are_no_flags_of_a_kubelet(text: str) -> None:
    assert flags_of_text("x", text) is None


def test_an_effective_configuration_keeps_what_somebody_has_set() -> None:
    """The answer of configz has all fields, most of them the kubelet's own."""
    config = encode(server.load(json.dumps({**HEAD, "maxPods": 42}), version=VERSION).config)
    given = documents("configz.json", json.dumps({"kubeletconfig": config}))
    assert given is not None
    made = intent(given.judged[0], Wanted("n", {}, TARGET, is_effective=True))
    assert made.intent is not None
    assert made.intent["spec"]["kubelet"] == {
        "cpuManagerPolicy": "none",
        "configuration": {"maxPods": 42},
    }


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "talos.yaml",
            "machine: {type: worker, kubelet: {extraConfig: {memoryThrottlingFactor: 0.8}}}\n",
        ),
        ("kubeletconfiguration.yaml", "memoryThrottlingFactor: 0.8\n"),
        (
            "kubeletconfiguration0+json.yaml",
            "- {op: add, path: /memoryThrottlingFactor, value: 0.8}\n",
        ),
        ("settings.toml", "[settings.kubernetes]\nmemory-throttling-factor = 0.8\n"),
    ],
)
def test_a_number_with_a_point_stays_one(name: str, text: str) -> None:
    given = documents(name, text)
    assert given is not None
    ((drop_in,),) = (judged.drop_ins for judged in given.judged)
    assert json.loads(drop_in.text)["memoryThrottlingFactor"] == 0.8


def test_what_a_kubelet_does_not_read_is_told_and_left_out() -> None:
    """Case counts in the file, and not in drop-ins; what may be secret is not written to Git."""
    configuration = {
        **HEAD,
        "MaxPods": 3,
        "authentication": {"anonymous": {"enable": False}},
        "staticPodURLHeader": {"Authorization": ["secret"]},
    }
    (judged,) = known(configuration).judged
    drop_in = File("10.conf", json.dumps({**HEAD, "PODSPERCORE": 4}))
    made = intent(judged._replace(drop_ins=(drop_in,)), Wanted("n", {}, TARGET))
    assert made.intent is not None
    assert made.intent["spec"]["kubelet"]["configuration"] == {"podsPerCore": 4}
    assert codes(made) == ["CP709", "CP709", "CP2525"]
    assert "secret" not in json.dumps(made.intent)


def test_a_kubelet_that_does_not_start_is_not_imported() -> None:
    made = made_of({**HEAD, "cpuManagerPolicy": "static"})
    assert (made.intent, codes(made)) == (None, ["CP703"])


def test_a_value_that_no_intent_takes_is_an_error() -> None:
    made = made_of({**HEAD, "cpuManagerReconcilePeriod": "0.5h"})
    assert (made.intent, codes(made)) == (None, ["CP2527"])


def codes(made: Made) -> list[str]:
    return [finding.code for finding in made.diagnostics]


def test_settings_of_bottlerocket_are_those_of_its_kubelet() -> None:
    """What `compile` writes for Bottlerocket is read again."""
    text = """\
[settings.host]
x = 1
[settings.kubernetes]
cpu-manager-policy = "static"
reserved-cpus = "0"
cpu-manager-policy-options = ["full-pcpus-only"]
[settings.kubernetes.kube-reserved]
memory = "500Mi"
[settings.kubernetes.topology-manager-policy-options]
prefer-closest-numa-nodes = true
[settings.kubernetes.memory-manager-reserved-memory.0]
enabled = true
memory = "600Mi"
"""
    given = documents("user-data.toml", text)
    assert given is not None
    target = {"platform": "bottlerocket", "version": RELEASE}
    made = intent(given.judged[0], Wanted("n", {}, target))
    assert made.intent is not None
    assert made.intent["spec"]["pools"]["reserved"] == {"cpus": "0", "wholeCores": False}
    assert made.intent["spec"]["kubelet"] == {
        "cpuManagerPolicy": "static",
        "cpuManagerPolicyOptions": {"full-pcpus-only": "true"},
        "kubeReserved": {"memory": "500Mi"},
        "topologyManagerPolicyOptions": {"prefer-closest-numa-nodes": "true"},
        "reservedMemory": [{"numaNode": 0, "memory": "600Mi"}],
    }


@pytest.mark.parametrize("text", ["[settings.kubernetes]\nx = [", "[settings.kubernetes.a]\nb = 1"])
def test_other_settings_are_none_of_a_kubelet(text: str) -> None:
    given = documents("user-data.toml", text)
    assert given is None or not given.judged[0].drop_ins[0].text.count("cpu")
