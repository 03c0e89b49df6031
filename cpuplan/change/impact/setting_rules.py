"""What a change of one setting costs on the platform of its node, as `explain` says it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from cpuplan.change.impact.rule_table import RULES
from cpuplan.facts.platforms import Platform
from cpuplan.facts.settings import host, kernel, kubelet, objects, openshift, tuned
from cpuplan.facts.settings.costs import UNREAD, Rule
from cpuplan.facts.settings.table import ROWS, row_of, rows_in
from cpuplan.plan.setting import Setting, Settings

#: Components whose settings are in objects of the API, and in no file of a node.
OF_API = frozenset(row.component for row in rows_in(objects))
#: By platform: the rule of each component, and the file that has its settings.
RULES_OF: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "talos": {
        kubelet.NAME: ("talos-kubelet", ".talos.yaml"),
        host.SYSCTL: ("talos-sysctl", ".talos.yaml"),
        kernel.NAME: ("talos-schematic", ".schematic.yaml"),
    },
    "bottlerocket": {
        kubelet.NAME: ("bottlerocket-kubelet", ".bottlerocket.toml"),
        host.SYSCTL: ("bottlerocket-sysctl", ".bottlerocket.toml"),
        kernel.NAME: ("bottlerocket-boot", ".bottlerocket.toml"),
    },
}
#: What the machine config operator does, by component; of all others it writes files.
_OF_POOLS = {
    kernel.NAME: "mco-kernel-arguments",
    kubelet.NAME: "mco-kubelet-config",
    openshift.MACHINE_CONFIG: openshift.KERNEL.id,
    openshift.OVS_DPDK: openshift.UNIT.id,
}
_FILE = "mco-file"


class Changed(NamedTuple):
    """A setting that is not the same on both sides; None where a side does not have it."""

    component: str
    key: str
    before: Any
    after: Any
    #: The statement that asked for it.
    origin: str = ""

    @property
    def is_removed(self) -> bool:
        """Whether the side after has no such setting."""
        return self.after is None


def rule_of(change: Changed) -> str | None:
    """The rule of a changed setting; None where nothing notices it."""
    own = (row for row in ROWS if row.component == change.component)
    row = row_of(change.component, change.key) or next(own, None)
    if row is None:
        return "unknown-file"
    rule = row.when_gone if change.is_removed and row.when_gone else row.cost
    return None if rule in (None, UNREAD) else rule.id


def rule_on(platform: Platform, settings: Settings, setting: Setting) -> Rule | None:
    """The rule of one of a node's settings, where it changes; None where nothing notices it.

    A node disruption policy of a cluster may let a file cost less.
    """
    change = Changed(setting.component, setting.key, "", setting.value)
    if rule_of(change) is None:
        return None
    if platform.has_pools:
        is_hosted = not settings.find(openshift.POOL_LABELS)
        return RULES.get(_of_operators(change, is_hosted=is_hosted))
    if platform.name in RULES_OF and setting.component not in OF_API:
        name, _ = RULES_OF[platform.name].get(setting.component, ("", ""))
        return RULES.get(name)
    return RULES.get(rule_of(change) or "")


def _of_operators(change: Changed, *, is_hosted: bool) -> str:
    if change.component in OF_API:
        return rule_of(change) or ""
    if change.component == tuned.NAME:
        return "hosted-tuned" if is_hosted else "nto-tuned"
    if is_hosted:
        return "hosted-node-pool"
    if change.component == host.UNITS and not change.key.startswith("/"):
        return openshift.UNIT.id
    return _OF_POOLS.get(change.component, _FILE)
