"""containerd's drop-in: what each release gets, and that it reads back."""

from typing import Any

import pytest

from cpuplan.backends import kubernetes
from cpuplan.components import containerd, crio
from tests.machines.plans import plan

HANDLER = {"runtime": {"handler": "latency"}}
DRIVERS = {"kubelet": {"dynamicResourceAllocation": True}}


def values(release: str, spec: dict[str, Any] | None = None, **target: str) -> dict[str, Any]:
    on = {"runtime": "containerd", "containerd": release, **target}
    made = plan(platform="kubernetes", version="1.36", target=on, spec=spec or {})
    settings = made.settings.of(containerd.NAME)
    assert not made.settings.of(crio.NAME)
    by_key = made.settings.values(containerd.NAME)
    text = containerd.render(settings)
    assert containerd.parse(text) == by_key
    assert (containerd.DROP_IN in kubernetes.of(made).files) == bool(by_key)
    return by_key


def test_nothing_is_written_that_nobody_asked_for() -> None:
    assert values("2.0") == {}


@pytest.mark.parametrize(
    ("release", "has_validator"), [("1.7", False), ("2.1", False), ("2.2", True), ("2.3", True)]
)
def test_balloons_need_nri_and_its_validator(release: str, has_validator: bool) -> None:
    config = values(release, mechanism="balloons")
    assert config["nri.disable"] is False
    assert ("nri.default_validator.required_plugins" in config) == has_validator


def test_a_handler_has_the_cgroup_driver_of_the_kubelet() -> None:
    table = "cri.containerd.runtimes.latency"
    key = f"{table}.options.SystemdCgroup"
    assert values("2.0", HANDLER) == {f"{table}.runtime_type": "io.containerd.runc.v2", key: True}
    other = {**HANDLER, "kubelet": {"configuration": {"cgroupDriver": "cgroupfs"}}}
    assert values("2.0", other)[key] is False


@pytest.mark.parametrize("spec", [HANDLER, DRIVERS])
def test_no_drop_in_replaces_the_cri_table_of_old_releases(spec: dict[str, Any]) -> None:
    assert values("1.7", spec) == {}


def test_drivers_need_cdi() -> None:
    assert values("2.3", DRIVERS) == {"cri.enable_cdi": True}


def test_the_handler_has_a_runtime_class() -> None:
    on = {"runtime": "containerd"}
    made = plan(platform="kubernetes", version="1.36", target=on, spec=HANDLER)
    assert made.settings.values("runtimeclass")["handler"] == "latency"
    assert not plan(platform="kubernetes", version="1.36", target=on).settings.of("runtimeclass")
