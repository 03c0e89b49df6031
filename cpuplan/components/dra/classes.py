"""DeviceClasses: the CPUs of each partition, by their numbers, on the nodes of a class.

An expression knows a device and no node: the numbers hold on every node with individual CPUs, so
pods also select the nodes of the class.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from cpuplan.base import yaml_values
from cpuplan.base.cpuset import CpuSet, union
from cpuplan.base.emit import to_yaml
from cpuplan.components.chosen import of_mechanism
from cpuplan.components.dra import driver
from cpuplan.components.emission import emit
from cpuplan.facts.settings import objects as rows
from cpuplan.language.model.vocabulary import PARTITION
from cpuplan.plan import NodePlan, Pool
from cpuplan.plan.setting import Setting, Value
from cpuplan.upstream.dra.api import DRIVER, INDIVIDUAL

NAME = rows.DEVICE_CLASSES
KIND = "DeviceClass"
ISOLATED = "isolated"
_NUMBERS = re.compile(r"\.cpuID in \[([0-9, ]+)\]")


def settings(plan: NodePlan) -> Iterator[Setting]:
    """The CPUs of each DeviceClass, by its name."""
    for pool in pools(plan):
        because = (*pool.because, of_mechanism(plan, "claims name its CPUs by a DeviceClass"))
        yield from emit(plan, rows.DEVICE_CLASS, pool.cpus, because, name=name(plan, pool.name))


def pools(plan: NodePlan) -> list[Pool]:
    """What pods claim: partitions, and the CPUs of none where a workload asks for them.

    Without partitions there is the class of the driver's chart, and other pods share the rest.
    """
    if not plan.node_class.target.has_dra or driver.published_mode(plan) != INDIVIDUAL:
        return []
    partitions = [pool for pool in plan.sets if pool.name.startswith(PARTITION) and pool.cpus]
    others = plan.pool(ISOLATED).cpus - union(pool.cpus for pool in partitions)
    is_asked = any(workload.pool == ISOLATED for workload in plan.spec.workloads)
    if partitions and others and is_asked:
        return [*partitions, Pool(ISOLATED, others, plan.pool(ISOLATED).because)]
    return partitions


def name(plan: NodePlan, pool: str) -> str:
    """The DeviceClass of a pool or partition: of the class of nodes, since it has CPU numbers."""
    return f"{plan.node_class.name}.{pool}"


def of_workload(plan: NodePlan, pool: str) -> str:
    """The DeviceClass by which pods claim CPUs of a pool or partition."""
    known = {claimable.name for claimable in pools(plan)}
    return name(plan, pool) if pool in known else driver.CLASS


def pods_text(plan: NodePlan, pool: str) -> str:
    """Which pods come to the CPUs of a pool; empty where that is no question of claims."""
    if not plan.node_class.target.has_dra:
        return ""
    known = {claimable.name for claimable in pools(plan)}
    if pool in known:
        return f"those with claims of the DeviceClass {name(plan, pool)}, all others until then"
    if pool != ISOLATED:
        return ""
    return "those of no partition have no claims" if known else "all, until claims take CPUs"


def expression(cpus: CpuSet) -> str:
    """CEL that is true for these CPUs, and false, no error, for other drivers and modes."""
    numbers = ", ".join(map(str, cpus))
    own = f'device.attributes["{DRIVER}"]'
    return f'device.driver == "{DRIVER}" && "cpuID" in {own} && {own}.cpuID in [{numbers}]'


def cpus_of(text: str) -> CpuSet:
    """The CPUs of an expression."""
    numbers = _NUMBERS.search(text)
    return CpuSet(map(int, numbers[1].split(", "))) if numbers else CpuSet()


def document(setting: Setting) -> dict[str, Any]:
    """The object of a setting."""
    assert isinstance(setting.value, CpuSet)  # noqa: S101 - `settings` makes no others
    selector = {"cel": {"expression": expression(setting.value)}}
    return {
        "apiVersion": driver.API_VERSION,
        "kind": KIND,
        "metadata": {"name": setting.key},
        "spec": {"selectors": [selector]},
    }


def render(settings: Sequence[Setting]) -> str:
    """The expressions as YAML, by class; empty without settings."""
    if not settings:
        return ""
    classes = [document(setting) for setting in settings]
    return to_yaml({made["metadata"]["name"]: made["spec"] for made in classes})


def parse(text: str) -> dict[str, Value]:
    """The CPUs of that YAML."""
    data = next(yaml_values.load_yaml11(text)) or {}
    return {key: cpus_of(spec["selectors"][0]["cel"]["expression"]) for key, spec in data.items()}
