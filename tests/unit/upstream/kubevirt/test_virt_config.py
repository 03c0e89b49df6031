"""The KubeVirt object of a cluster."""

from typing import Any

import pytest

from cpuplan.upstream.kubevirt.types import EVEN_PARITY
from cpuplan.upstream.kubevirt.virt_config import DEFAULT, read_config


def read(configuration: Any, annotations: dict[str, str] | None = None) -> Any:
    manifest = {"metadata": {"annotations": annotations or {}}}
    return read_config({**manifest, "spec": {"configuration": configuration}})


def test_what_the_object_says() -> None:
    developer = {"cpuAllocationRatio": 1, "memoryOvercommit": 150, "useEmulation": True}
    given = {
        "developerConfiguration": {**developer, "disabledFeatureGates": ["ImageVolume"]},
        "additionalGuestMemoryOverheadRatio": "1.5",
        "virtualMachineOptions": {"disableSerialConsoleLog": {}},
        "defaultRuntimeClass": "high",
        "supportContainerResources": [
            {"type": "sidecar", "resources": {"limits": {"cpu": "1", "memory": "x"}}}
        ],
    }
    config = read(given)
    assert config[:4] == (1, 150, 1.5, True)
    assert not config.logs_serial_console
    assert not config.has_image_volumes
    assert config.runtime_class == "high"
    assert str(config.support("sidecar", "limits", "cpu", "200m")) == "1"
    assert str(config.support("sidecar", "limits", "memory", "64M")) == "64M"


@pytest.mark.parametrize(
    "given", [None, 1, [], {"developerConfiguration": {"cpuAllocationRatio": "x"}}]
)
def test_what_is_of_another_type_is_as_by_default(given: Any) -> None:
    assert read(given) == DEFAULT._replace(supports={})


def test_even_parity_needs_the_gate_too() -> None:
    annotations = {EVEN_PARITY: ""}
    gates = {"developerConfiguration": {"featureGates": ["AlignCPUs"]}}
    assert read(gates, annotations).completes_to_even_parity
    assert not read({}, annotations).completes_to_even_parity
    assert not read(gates).completes_to_even_parity


@pytest.mark.parametrize("given", ["nan", "inf", "-1", "0", "x", None, []])
def test_a_ratio_that_is_none_is_one(given: Any) -> None:
    assert read({"additionalGuestMemoryOverheadRatio": given}).overhead_ratio == 1.0
