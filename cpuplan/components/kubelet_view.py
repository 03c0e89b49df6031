"""Machines that the kubelet sees otherwise than the kernel, where its CPU manager would act on
that.
"""

from cpuplan.components import kubelet
from cpuplan.components.kubelet_checks import BOOLEANS
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.kubelet.view import deviations
from cpuplan.plan import NodePlan
from cpuplan.source import Locate

#: Where in a Hardware document each deviation is shown.
_FIELDS = {"CP360": "cores", "CP361": "caches", "CP362": "kubelet", "CP363": "kubelet"}
_BY_CACHE = "prefer-align-cpus-by-uncorecache"


def check(plan: NodePlan, locate: Locate) -> list[Diagnostic]:
    """Warnings at the Hardware document; those about caches where an option goes by them."""
    if plan.spec.kubelet.cpu_manager_policy != "static":
        return []
    value, _ = kubelet.cpu_options(plan).get(_BY_CACHE, ("", ()))
    hardware = plan.node_class.hardware
    found = []
    for code, values in deviations(plan.topology):
        if code != "CP361" or value in BOOLEANS["true"]:
            position = locate(
                plan.node_class.hardware_place(f"topology.{_FIELDS[code]}", of_key=True)
            )
            found.append(diagnose(code, position, hardware=hardware, **values))
    return found
