"""Pools that are paused, objects that nodes refuse, and what people and other tools change."""

from typing import Any

import pytest

from cpuplan.base.emit import to_json
from cpuplan.change.impact.rules.inputs import Cluster
from cpuplan.change.impact.snapshot import Snapshot
from cpuplan.facts.settings.costs import Impact, Step
from tests.unit.change.impact.rules.projects import compiled, costs, edited

POOL = "machineconfigpool-worker-cnf.yaml"
CONFIG = "10-machineconfig-main.yaml"
KUBELET = "10-kubeletconfig-main.yaml"


def side(**spec: Any) -> Snapshot:
    return compiled("openshift", to_json({"spec": spec}))[0]


PLAIN = side()
AUDIT = side(kernel={"extraArguments": ["audit=0"]})


def setting(name: str, value: object) -> Any:
    def change(data: dict[str, Any]) -> None:
        data["spec"][name] = value

    return change


def only(steps: tuple[Step, ...]) -> Step:
    assert len(steps) == 1, steps
    return steps[0]


def test_paused_pool_waits() -> None:
    step = only(costs(PLAIN, edited(AUDIT, POOL, setting("paused", True))))
    assert (step.impact, step.rule) == (Impact.NOTHING, "mco-pool-paused")
    assert "audit=0" in step.because


def test_paused_pool_without_a_change_says_nothing() -> None:
    paused = edited(PLAIN, POOL, setting("paused", True))
    assert not costs(paused, paused)


def test_unpaused_pool_applies_what_waited() -> None:
    step = only(costs(edited(PLAIN, POOL, setting("paused", True)), PLAIN))
    assert (step.impact, step.rule, step.is_certain) == (Impact.REBOOT, "mco-pool-resumed", False)


def test_number_of_nodes_at_a_time() -> None:
    step = only(costs(PLAIN, edited(PLAIN, POOL, setting("maxUnavailable", 3))))
    assert (step.impact, step.rule) == (Impact.NOTHING, "mco-pool-object")


@pytest.mark.parametrize(
    ("field", "value", "impact", "rule"),
    [
        ("fips", True, Impact.REINSTALL, "mco-irreconcilable"),
        ("kernelType", "no-such-kernel", Impact.REBOOT, "mco-not-rendered"),
        ("extensions", ["usbguard"], Impact.REBOOT, "mco-os"),
        ("osImageURL", "quay.io/example/os@sha256:1", Impact.REBOOT, "mco-os"),
    ],
)
def test_fields_of_the_object(field: str, value: object, impact: Impact, rule: str) -> None:
    step = only(costs(PLAIN, edited(PLAIN, CONFIG, setting(field, value))))
    assert (step.impact, step.rule) == (impact, rule)


def test_another_encoding_of_the_same_bytes_is_a_reboot() -> None:
    def encode(data: dict[str, Any]) -> None:
        file = data["spec"]["config"]["storage"]["files"][0]
        file["contents"]["source"] = file["contents"]["source"].replace(";charset=utf-8", "")

    step = only(costs(PLAIN, edited(PLAIN, CONFIG, encode)))
    assert (step.impact, step.rule) == (Impact.REBOOT, "mco-file")


def test_arguments_in_one_text_are_a_reboot() -> None:
    def join(data: dict[str, Any]) -> None:
        data["spec"]["kernelArguments"] = [" ".join(data["spec"]["kernelArguments"])]

    step = only(costs(PLAIN, edited(PLAIN, CONFIG, join)))
    assert (step.impact, step.rule) == (Impact.REBOOT, "mco-kernel-arguments")


def test_repeated_argument_is_a_reboot() -> None:
    def repeat(data: dict[str, Any]) -> None:
        data["spec"]["kernelArguments"].append(data["spec"]["kernelArguments"][0])

    step = only(costs(PLAIN, edited(PLAIN, CONFIG, repeat)))
    assert (step.impact, step.rule) == (Impact.REBOOT, "mco-kernel-arguments")


def test_value_that_the_operator_drops_costs_nothing() -> None:
    def add(data: dict[str, Any]) -> None:
        data["spec"]["kubeletConfig"]["enableContentionProfiling"] = False

    assert not costs(PLAIN, edited(PLAIN, KUBELET, add))


def test_refused_kubelet_config() -> None:
    def refuse(data: dict[str, Any]) -> None:
        data["spec"]["kubeletConfig"]["clusterDomain"] = "example.com"

    steps = costs(PLAIN, edited(PLAIN, KUBELET, refuse))
    assert steps[0].rule == "mco-not-rendered"
    assert "clusterDomain" in steps[0].does
    assert not steps[0].is_certain


def test_no_annotation_of_an_object_costs_anything() -> None:
    def annotate(data: dict[str, Any]) -> None:
        data["metadata"]["annotations"]["example.com/a"] = "b"

    assert not costs(PLAIN, edited(PLAIN, CONFIG, annotate))


def test_object_of_others_that_is_named_first_wins() -> None:
    """Its kernel stays, so that the change of the plan's is none."""
    realtime = {
        "metadata": {
            "name": "99-realtime",
            "labels": {"machineconfiguration.openshift.io/role": "worker-cnf"},
        },
        "spec": {"kernelType": "realtime"},
    }
    changed = edited(PLAIN, CONFIG, setting("kernelType", "realtime"))
    known = {"lab": Cluster((realtime,))}
    assert only(costs(PLAIN, changed)).rule == "mco-kernel-type"
    assert not costs(PLAIN, changed, known)


def test_registries_that_no_node_can_read() -> None:
    """A policy lets the node reload CRI-O, whose file it then cannot decode."""

    def write(data: dict[str, Any]) -> None:
        source = "data:,not%20TOML"
        file = {"path": "/etc/containers/registries.conf", "contents": {"source": source}}
        data["spec"]["config"]["storage"]["files"].append(file)

    steps = costs(PLAIN, edited(PLAIN, CONFIG, write))
    assert steps[-1].rule == "mco-node-stops"
    assert not steps[-1].is_certain


def test_renamed_object_boots_twice() -> None:
    renamed = compiled("openshift", to_json({"name": "other"}))[0]
    steps = [step for step in costs(PLAIN, renamed) if step.impact is Impact.REBOOT]
    assert [step.rule for step in steps] == ["mco-renamed", "mco-pruned"]
    assert "50-performance-other beside 50-performance-main" in steps[0].because
    assert "50-performance-main" in steps[1].does
