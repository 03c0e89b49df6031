"""What the machine config operator refuses in a KubeletConfig, by release and pool (CP547)."""

from collections.abc import Iterator
from typing import Any

from cpuplan.components import kubelet
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import At
from cpuplan.facts import versions
from cpuplan.facts.settings.kubelet import FEATURE_GATES
from cpuplan.language.model.vocabulary import node_selector
from cpuplan.plan import NodePlan
from cpuplan.upstream.kubelet.config import types
from cpuplan.upstream.mco.common import McoError

#: What `systemReservedCgroup` and `systemCgroups` are compared with, from 4.22 on.
_SLICE = "/system.slice"
_ENFORCED = ["pods", "system-reserved-compressible"]
_DEFAULTS: dict[str, dict[str, Any]] = {
    "master": {"systemCgroups": _SLICE},
    "worker": {
        "systemCgroups": _SLICE,
        "systemReservedCgroup": _SLICE,
        "enforceNodeAllocatable": _ENFORCED,
    },
}
_HINTS = {
    FEATURE_GATES.head: "remove the field; feature gates are set by the FeatureGate object of the "
    "cluster",
    "systemReservedCgroup": "write the same cgroup in both, or remove the fields",
}


def check(plan: NodePlan, at: At) -> Iterator[Diagnostic]:
    """CP547 for each refused field; of fields whose type is wrong, nothing is known (CP546)."""
    given = plan.spec.kubelet.configuration
    if not given or not plan.node_class.platform.has_pools:
        return
    config = kubelet.configuration(list(kubelet.settings(plan)))
    config |= given
    for name in list(config):
        if name not in types.NAMES or not types.fits(name, config[name]):
            del config[name]
    while error := _refusal(plan, config):
        name = str(error.facts.get("field", "")).partition(".")[0]
        if name not in config and "systemCgroups" in config:
            name = "systemCgroups"  # compared with the default of the other field
        if name not in config:
            return
        shown = error.facts.get("shown", error.facts["field"])
        place = at(f"configuration.{name if name in given else 'systemCgroups'}:")
        hint = _HINTS.get(name, "remove the field")
        yield diagnose("CP547", place, field=shown, hint=hint)
        del config[name]


def _refusal(plan: NodePlan, config: dict[str, Any]) -> McoError | None:
    """Why the operator of the release refuses a KubeletConfig for the pool; None if it does not."""
    from cpuplan.upstream.mco.kubelet_config_controller import KubeletConfigs

    target = plan.node_class.target
    selector = {"matchLabels": node_selector(target)}
    pool = {"metadata": {"name": target.pool or ""}, "spec": {"nodeSelector": selector}}
    controller = KubeletConfigs([pool], _DEFAULTS, versions.from_text(target.version))
    spec = {"kubeletConfig": config}
    try:
        controller.validate(spec)
        controller.validate_for_pool(spec, pool)
        controller.files(spec, pool)
    except McoError as error:
        return error
    return None
