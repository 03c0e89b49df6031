"""What ContainerRuntimeConfigs leave."""

from typing import Any

import pytest

from cpuplan.upstream.mco.common import McoError
from cpuplan.upstream.mco.container_runtime_config_controller import (
    STORAGE_CONF,
    ContainerRuntimeConfigs,
)
from tests.unit.upstream.mco.objects import Json, pool

NAME = "99-worker-generated-containerruntime"


def container_runtime_config(name: str = "a", **fields: Any) -> Json:
    selector = {"matchLabels": {"pools.example.test/worker": ""}}
    spec = {"machineConfigPoolSelector": selector, "containerRuntimeConfig": fields}
    return {"metadata": {"name": name}, "spec": spec}


def written(**fields: Any) -> dict[str, str]:
    controller = ContainerRuntimeConfigs([pool()])
    controller.create(container_runtime_config(**fields))
    return dict(controller.machine_configs[NAME].files)


@pytest.mark.parametrize(
    ("field", "value", "line"),
    [
        ("pidsLimit", 4096, "pids_limit = 4096"),
        ("pidsLimit", 0, "pids_limit = 0"),
        ("logLevel", "debug", 'log_level = "debug"'),
        ("logSizeMax", "64Mi", "log_size_max = 67108864"),
        ("defaultRuntime", "crun", 'default_runtime = "crun"'),
    ],
)
def test_one_drop_in_for_each_setting(field: str, value: object, line: str) -> None:
    ((path, text),) = written(**{field: value}).items()
    assert path.endswith(f"01-ctrcfg-{field}")
    assert text == f"[crio]\n  [crio.runtime]\n    {line}\n"


def test_the_size_of_the_overlay_is_in_storage_conf() -> None:
    assert 'size = "10Gi"' in written(overlaySize="10240Mi")[STORAGE_CONF]
    assert not written(overlaySize="0", logSizeMax="0", logLevel="", defaultRuntime="")


def test_objects_of_a_pool_combine() -> None:
    controller = ContainerRuntimeConfigs([pool()])
    controller.create(container_runtime_config("a", pidsLimit=20))
    controller.create(container_runtime_config("b", logLevel="info"))
    assert sorted(controller.machine_configs) == [NAME, f"{NAME}-1"]


def test_bug_without_its_section_the_operator_crashes() -> None:
    item = container_runtime_config()
    del item["spec"]["containerRuntimeConfig"]
    with pytest.raises(McoError):
        ContainerRuntimeConfigs([pool()]).create(item)
