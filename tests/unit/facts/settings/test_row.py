"""What a row answers: its key for a plan, the releases that know it, and what it is called."""

from typing import Any

import pytest

from cpuplan.facts.settings import crio, host, kubelet, objects, openshift, tuned
from cpuplan.facts.settings.costs import Cost, Impact
from cpuplan.facts.settings.row import Row
from tests.machines.plans import plan

KUBERNETES: dict[str, Any] = {"platform": "kubernetes"}


@pytest.mark.parametrize(
    ("row", "key", "names"),
    [
        (crio.SHARED_CPUSET, "shared_cpuset", {}),
        (crio.RUNTIME_PATH, "runtimes.a.runtime_path", {"handler": "a"}),
        (crio.RUNTIME_PATH, "runtimes.a.b.runtime_path", {"handler": "a.b"}),
        (
            host.ALLOCATION_UNIT,
            "hugepages-allocation-2048kB-NUMA1.service",
            {"kib": "2048", "node": "1"},
        ),
        (kubelet.EVICTION_HARD, "evictionHard.memory.available", {"signal": "memory.available"}),
    ],
)
def test_a_key_and_what_fills_it_in(row: Row, key: str, names: dict[str, str]) -> None:
    assert row.of(**names) == key
    assert row.names_in(key) == names
    assert row.is_of(row.component, key)
    assert not row.is_of("other", key)
    assert not row.is_of(row.component, f"more.{key}")


def test_the_parts_of_a_key() -> None:
    row = crio.EXEC_CPU_AFFINITY
    assert (row.head, row.last) == ("runtimes", "exec_cpu_affinity")
    assert row.pattern == "runtimes.*.exec_cpu_affinity"
    assert kubelet.RESERVED_CPUS.head == kubelet.RESERVED_CPUS.last == "reservedSystemCPUs"


@pytest.mark.parametrize(
    "what",
    ["kubeReserved", "kubelet kubeReserved", "kubeReserved.memory", "kubelet kubeReserved.memory"],
)
def test_what_people_call_a_row(what: str) -> None:
    assert kubelet.KUBE_RESERVED.is_named(what)
    assert not kubelet.SYSTEM_RESERVED.is_named(what)


@pytest.mark.parametrize(("version", "known"), [("1.28", False), ("1.29", True), ("1.36", True)])
def test_a_row_is_known_from_a_release_on(version: str, known: bool) -> None:
    target = plan(version=version, **KUBERNETES).node_class.target
    assert crio.SHARED_CPUSET.is_known(target) is known
    assert crio.INFRA_CTR_CPUSET.is_known(target)


@pytest.mark.parametrize(
    ("mode", "version", "known"),
    [
        ("mco", "4.18", False),
        ("mco", "4.19", True),
        ("performanceProfile", "4.20", False),
        ("performanceProfile", "4.21", True),
    ],
)
def test_an_operator_writes_it_later_than_the_program_knows_it(
    mode: str, version: str, known: bool
) -> None:
    target = plan(version=version).node_class.target.model_copy(update={"mode": mode})
    assert crio.DEFAULT_ANNOTATIONS.is_known(target) is known


def test_costs_have_words() -> None:
    assert kubelet.CONFIG.cost is Cost.KUBELET_RESTART
    assert tuned.BY_OPERATOR.cost is Cost.NOTHING
    assert openshift.KERNEL.cost is Cost.REBOOT
    driver = objects.DRA_RESERVED.cost
    assert driver is not None
    assert (driver.impact, driver.cost) == (Impact.DRAIN, Cost.DRAIN)


def test_a_setting_has_the_effect_of_its_row() -> None:
    """TuneD of an operator applies a profile without a restart."""
    spec = {"workloadHints": {"realTime": True}}
    costs = {
        platform: node.settings.find(tuned.MIN_PERF_PCT)
        for platform, node in {
            "openshift": plan(),
            "kubernetes": plan(version="1.36", spec=spec, **KUBERNETES),
        }.items()
    }
    effects = {platform: setting.effect for platform, setting in costs.items() if setting}
    assert {platform: effect and effect.change_costs for platform, effect in effects.items()} == {
        "openshift": Cost.NOTHING,
        "kubernetes": Cost.TUNED_RESTART,
    }
    assert all(effect and effect.evidence[0].value == 100 for effect in effects.values())
