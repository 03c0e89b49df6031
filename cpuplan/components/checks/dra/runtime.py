"""A control plane without the gates, and a runtime that does not wait for the driver."""

from collections.abc import Iterator

from cpuplan.components.checks.nri.shared import validator
from cpuplan.components.dra import driver
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate
from cpuplan.facts import versions
from cpuplan.plan import NodePlan

_EFFECTS = {
    driver.CONSUMABLE: "without it one claim takes a whole device, and its containers do not start",
    driver.ALLOCATABLE: "without it the CPUs of claims are not counted",
}


def check(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP578 for gates that nobody says are on, CP579 for the runtime."""
    yield from _check_gates(plan, locate)
    refuses, field, runtime, since = validator(plan.node_class.target)
    if not refuses:
        position = locate(plan.node_class.place(plan.node_class.target_field(field)))
        problem = f"{runtime} starts containers on all CPUs while the driver is away"
        hint = f"use version {versions.to_text(since)} or later, where containers wait for it"
        yield diagnose("CP579", position, problem=problem, hint=hint)


def _check_gates(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    node_class = plan.node_class
    stated = node_class.cluster_facts.control_plane_feature_gates
    missing = [gate for gate in driver.gates(plan) if gate not in stated]
    if missing:
        yield diagnose(
            "CP578",
            locate(node_class.place(node_class.target_field("mechanism"))),
            cluster=node_class.cluster,
            gates=" and ".join(missing),
            version=node_class.target.version,
            effect=_EFFECTS[missing[0]],
            flags=",".join(f"{gate}=true" for gate in missing),
        )
