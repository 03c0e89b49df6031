"""containerd: a drop-in that its config.toml imports, for what an intent asks of the runtime.

No release reads a folder by itself: where config.toml exists, only what it imports is read
(cmd/containerd/command/main.go; the `imports` of 2.2's defaults are for `config default`). The
drop-in has no `version`, because the last one of all files counts for all of them, and tables
of an older version are then passed over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cpuplan.base import foreign
from cpuplan.base.emit import to_toml
from cpuplan.components.chosen import is_written, of_mechanism, stated
from cpuplan.components.crio import PLUGINS, needs_nri, of_nri
from cpuplan.components.emission import emit
from cpuplan.facts import versions
from cpuplan.facts.settings import containerd as rows
from cpuplan.plan import NodePlan
from cpuplan.plan.setting import Setting, Value, from_plain, plain
from cpuplan.upstream.containerd.cri_config import CRI, NRI, OLD_CRI
from cpuplan.upstream.nri.api import TOLERATION

if TYPE_CHECKING:
    from cpuplan.language.model.intent import Target

NAME = rows.NAME
#: The drop-in, and what config.toml must import.
DROP_IN = "/etc/containerd/conf.d/99-cpuplan.toml"
IMPORT = "/etc/containerd/conf.d/*.toml"
#: Plugins' tables, by the names that their settings begin with.
_TABLES = {"cri": CRI, "nri": NRI}
_SHORT = {CRI: "cri", OLD_CRI: "cri", NRI: "nri"}
#: Before, the CRI plugin had one table, which a drop-in would replace whole.
_MERGES, HAS_VALIDATOR = (2, 0), (2, 2)
#: NRI with plugins that change containers.
_HAS_NRI = (1, 7)


def release(target: Target) -> versions.Version:
    """The release of containerd on the nodes."""
    return versions.from_text(target.containerd)


def settings(plan: NodePlan) -> Iterator[Setting]:
    """Keys of plugins' tables."""
    target = plan.node_class.target
    if target.runtime != NAME:
        return
    if needs_nri(target) and has_nri(target):
        yield from _nri(plan)
    if not merges(target):
        return
    if needs_cdi(plan):
        text = "DRA drivers hand out devices by CDI"
        because = stated(plan, text, field_of_drivers(plan))
        yield from emit(plan, rows.ENABLE_CDI, True, (because,))
    if has_handler(plan):
        yield from _handler(plan)


def needs_cdi(plan: NodePlan) -> bool:
    """Whether DRA drivers give something to containers."""
    return plan.spec.kubelet.dynamic_resource_allocation or plan.node_class.target.has_dra


def field_of_drivers(plan: NodePlan) -> str:
    """The field of the intent by which there are DRA drivers."""
    if plan.node_class.target.has_dra:
        return plan.node_class.target_field("mechanism")
    return "kubelet.dynamicResourceAllocation"


def merges(target: Target) -> bool:
    """Whether a drop-in can add to the CRI plugin's table."""
    return release(target) >= _MERGES


def has_handler(plan: NodePlan) -> bool:
    """Whether containerd has a handler of its own for pods with exclusive CPUs."""
    return plan.node_class.target.runtime == NAME and is_written(plan, "runtime.handler")


def has_nri(target: Target) -> bool:
    """Whether plugins can change containers."""
    return release(target) >= _HAS_NRI


def requires_plugins(target: Target) -> bool:
    """Whether it refuses containers while a plugin is away."""
    return release(target) >= HAS_VALIDATOR


def _nri(plan: NodePlan) -> Iterator[Setting]:
    """NRI, and the validator that refuses containers while the mechanism's plugin is away."""
    target = plan.node_class.target
    yield from emit(plan, rows.NRI_DISABLE, False, (of_nri(plan),))
    if target.mechanism not in PLUGINS or not requires_plugins(target):
        return
    because = (of_mechanism(plan, "no container starts unpinned while the plugin is away"),)
    yield from emit(plan, rows.VALIDATOR, True, because)
    yield from emit(plan, rows.REQUIRED_PLUGINS, (PLUGINS[target.mechanism],), because)
    yield from emit(plan, rows.TOLERATION, TOLERATION, because)


def _handler(plan: NodePlan) -> Iterator[Setting]:
    """A handler like the default one: containerd has no CPU hooks."""
    handler = plan.spec.runtime.handler
    reason = stated(plan, f"pods ask for the handler {handler}", "runtime.handler")
    kind = "io.containerd.runc.v2"
    yield from emit(plan, rows.RUNTIME_TYPE, kind, (reason,), handler=handler)
    usual = plan.node_class.platform.cgroup_driver
    driver = plan.spec.kubelet.configuration.get("cgroupDriver", usual)
    by_systemd = stated(plan, f"the kubelet's cgroupDriver is {driver}", "runtime.handler")
    because = (reason, by_systemd)
    yield from emit(plan, rows.SYSTEMD_CGROUP, driver == "systemd", because, handler=handler)


def render(settings: Sequence[Setting]) -> str:
    """The drop-in's TOML."""
    plugins: dict[str, Any] = {}
    for setting in settings:
        name, *parents, key = setting.key.split(".")
        table = plugins.setdefault(_TABLES[name], {})
        for parent in parents:
            table = table.setdefault(parent, {})
        table[key] = plain(setting.value)
    return to_toml({"plugins": plugins}) if plugins else ""


def parse(text: str) -> dict[str, Value]:
    """The keys that one file gives. ValueError for what is not TOML: containerd would not start."""
    return flat(foreign.read_toml(text))


def flat(tables: Mapping[str, Any]) -> dict[str, Value]:
    """Keys as settings have them, of merged tables or those of one file; others by their path."""
    values: dict[str, Value] = {}
    for name, value in tables.items():
        if name != "plugins" or not isinstance(value, dict):
            values |= _leaves(name, value)
            continue
        for plugin, table in value.items():
            values |= _leaves(_SHORT.get(str(plugin), str(plugin)), table)
    return values


def _leaves(path: str, value: Any) -> dict[str, Value]:
    if not (isinstance(value, dict) and value):
        return {path: from_plain(value)}
    leaves: dict[str, Value] = {}
    for key, item in value.items():
        leaves |= _leaves(f"{path}.{key}", item)
    return leaves
