"""Drop-ins of runtimes read as the runtime reads them: what would be in force is what is set."""

from collections.abc import Sequence
from typing import Any

import pytest

from cpuplan.components import containerd, crio
from cpuplan.components.checks import runtimes
from cpuplan.diagnostics import Reason
from cpuplan.facts.versions import Version, from_text
from cpuplan.plan.setting import Setting, Value
from cpuplan.upstream.crio.config_keys import LATEST
from tests.machines.plans import plan


def setting(component: str, key: str, value: Value) -> Setting:
    return Setting(component, key, value, (Reason("a test", "default"),))


def problems(settings: Sequence[Setting], release: Version = LATEST) -> list[str]:
    return list(runtimes.of_crio(settings, crio.render(settings), release))


@pytest.mark.parametrize("version", ["1.27", "1.31", "1.32", "1.36"])
@pytest.mark.parametrize(
    "spec",
    [{}, {"runtime": {"handler": "rt", "execCpuAffinity": "first"}}],
    ids=["none", "handler"],
)
def test_what_is_compiled_for_crio_is_in_force(version: str, spec: dict[str, Any]) -> None:
    made = plan(platform="kubernetes", version=version, shared="2-3", spec=spec)
    assert problems(made.settings.of(crio.NAME), from_text(version)) == []


def test_what_openshift_gets_is_in_force() -> None:
    made = plan(shared="2-3")
    assert problems(made.settings.of(crio.NAME)) == []


@pytest.mark.parametrize("release", ["1.7", "2.0", "2.2", "2.3"])
def test_what_is_compiled_for_containerd_is_in_force(release: str) -> None:
    target = {"runtime": "containerd", "containerd": release, "mechanism": "balloons"}
    made = plan(platform="kubernetes", version="1.36", target=target)
    settings = made.settings.of(containerd.NAME)
    assert settings
    assert list(runtimes.of_containerd(settings, made)) == []


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("shared_cpus", "2-3", "it passes over crio.runtime.shared_cpus"),
        ("infra_ctr_cpuset", "3-1", "invalid infra_ctr_cpuset"),
        ("drop_infra_ctr", 1, "crio.runtime.drop_infra_ctr is a number, not true or false"),
        ("runtimes.rt.exec_cpu_affinity", "last", "it leaves out rt"),
        ("ctr_stop_timeout", 5, "ctr_stop_timeout would be 30, not 5"),
    ],
)
def test_what_crio_takes_otherwise(key: str, value: Value, problem: str) -> None:
    settings = [setting(crio.NAME, key, value)]
    if key.startswith("runtimes"):
        settings.insert(0, setting(crio.NAME, "runtimes.rt.inherit_default_runtime", True))
    assert problem in problems(settings)[0]


def test_what_containerd_takes_otherwise() -> None:
    made = plan(platform="kubernetes", version="1.36", target={"runtime": "containerd"})
    settings = [setting(containerd.NAME, "cri.containerd.runtimes.rt.runtime_type", "x")]
    assert list(runtimes.of_containerd(settings, made)) == []
    old = {"runtime": "containerd", "containerd": "1.7"}
    made = plan(platform="kubernetes", version="1.36", target=old)
    assert "would be" not in "".join(runtimes.of_containerd(settings, made))
