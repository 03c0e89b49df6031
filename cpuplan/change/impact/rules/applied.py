"""What a change of one setting costs on the platform of its node, as `explain` says it."""

from cpuplan.change.impact.rules import nodes, unmanaged
from cpuplan.change.impact.rules.inputs import Changed
from cpuplan.change.impact.rules.table import RULES
from cpuplan.facts.settings import host, kernel, kubelet, openshift, tuned
from cpuplan.facts.settings.costs import Rule
from cpuplan.plan import ConfiguredPlan
from cpuplan.plan.setting import Setting

#: What the machine config operator does, by component; of all others it writes files.
_OF_POOLS = {
    kernel.NAME: "mco-kernel-arguments",
    kubelet.NAME: "mco-kubelet-config",
    openshift.MACHINE_CONFIG: openshift.KERNEL.id,
    openshift.OVS_DPDK: openshift.UNIT.id,
}
_FILE = "mco-file"


def rule_on(plan: ConfiguredPlan, setting: Setting) -> Rule | None:
    """The rule of a changed setting of a node; None where no node and no program notices it.

    A node disruption policy of a cluster may let a file cost less.
    """
    platform = plan.node_class.platform
    change = Changed(setting.component, setting.key, "", setting.value)
    if nodes.rule_of(change) is None:
        return None
    if platform.has_pools:
        is_hosted = not plan.settings.find(openshift.POOL_LABELS)
        return RULES.get(_of_operators(change, is_hosted=is_hosted))
    if platform.name in unmanaged.RULES_OF and setting.component not in nodes.OF_API:
        name, _ = unmanaged.RULES_OF[platform.name].get(setting.component, ("", ""))
        return RULES.get(name)
    return RULES.get(nodes.rule_of(change) or "")


def _of_operators(change: Changed, *, is_hosted: bool) -> str:
    if change.component in nodes.OF_API:
        return nodes.rule_of(change) or ""
    if change.component == tuned.NAME:
        return "hosted-tuned" if is_hosted else "nto-tuned"
    if is_hosted:
        return "hosted-node-pool"
    if change.component == host.UNITS and not change.key.startswith("/"):
        return openshift.UNIT.id
    return _OF_POOLS.get(change.component, _FILE)
