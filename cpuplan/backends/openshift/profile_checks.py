"""What an intent in mode `performanceProfile` says, and a PerformanceProfile cannot."""

from collections.abc import Iterator

from cpuplan.base.text import joined
from cpuplan.components import chosen
from cpuplan.components.host import rps
from cpuplan.components.openshift import ovsdpdk
from cpuplan.components.reasons import is_written
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate
from cpuplan.plan import NodePlan


def check(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP548: fields of the intent that no profile has."""
    if not plan.node_class.target.is_profile:
        return
    for name in ("reserved", "isolated"):
        if not plan.pool(name).cpus:
            yield diagnose("CP564", locate(plan.node_class.place(f"pools.{name}")), pool=name)
    spec = plan.spec
    drivers = spec.kubelet.dynamic_resource_allocation
    rows = (
        *_steering(plan),
        ("isolation.interrupts", spec.isolation.interrupts or "reserved", "reserved"),
        ("isolation.managedIrq", spec.isolation.managed_irq, True),
        ("isolation.nohzFull", spec.isolation.nohz_full, True),
        ("isolation.rcuNocbs", spec.isolation.rcu_nocbs, True),
        ("kubelet.cpuManagerPolicy", spec.kubelet.cpu_manager_policy, "static"),
        ("kubelet.cpuManagerReconcilePeriod", chosen.reconcile_period(plan), "5s"),
        ("runtime.handler", spec.runtime.handler, "high-performance"),
        ("runtime.containersLimit", spec.runtime.containers_limit, 256),
        ("pools.isolcpus", str(plan.pool("isolcpus").cpus - ovsdpdk.cpus(plan)), ""),
    )
    for field, value, only in (*rows, *_of_partitions(plan), *_labels(plan)):
        if value != only and not (drivers and field.startswith("kubelet.")):
            position = locate(plan.node_class.place(field))
            shown, wanted = (
                str(item).lower() if isinstance(item, bool) else item for item in (value, only)
            )
            yield diagnose("CP548", position, field=field, value=shown, only=wanted)


def _of_partitions(plan: NodePlan) -> Iterator[tuple[str, str, str]]:
    """Partitions that the kernel isolates in their own way; a profile has one way for all."""
    isolated = plan.spec.pools.isolated
    for name, partition in sorted(isolated.partitions.items()) if isolated else ():
        if partition.isolation is not None:
            own = partition.isolation.model_dump(by_alias=True, exclude_none=True)
            shown = joined([f"{key} {str(value).lower()}" for key, value in own.items()])
            only = "left out: one isolation for all isolated CPUs"
            yield f"pools.isolated.partitions.{name}.isolation", shown or "empty", only


def _steering(plan: NodePlan) -> Iterator[tuple[str, bool, bool]]:
    """Receive packet steering, which the operator of an old release does not switch off."""
    field = "net.receivePacketSteering"
    if rps.is_used(plan) and is_written(plan, field):
        yield field, plan.spec.net.receive_packet_steering, True


def _labels(plan: NodePlan) -> Iterator[tuple[str, str, str]]:
    """(field, labels, what a profile has) of labels of which the operator's webhook takes one."""
    target = plan.node_class.target
    for name, labels in (
        ("nodeSelector", target.node_selector),
        ("machineConfigLabel", target.machine_config_label),
    ):
        if len(labels) > 1:
            shown = ", ".join(f"{key}={value}" for key, value in labels.items())
            yield plan.node_class.target_field(name), shown, "one label"
