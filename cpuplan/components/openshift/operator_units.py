"""systemd on OpenShift: the units and files that the node tuning operator ships, and others.

The setting of what is shipped is True, or the environment that is added to the shipped text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from cpuplan.components import chosen
from cpuplan.components import units as common
from cpuplan.components.base import template
from cpuplan.components.chosen import unasked
from cpuplan.components.emission import emit
from cpuplan.components.openshift import ovsdpdk
from cpuplan.facts import versions
from cpuplan.facts.platforms import Feature
from cpuplan.facts.settings import openshift as rows
from cpuplan.facts.settings.host import ALLOCATION_SCRIPT, OFFLINE_SCRIPT
from cpuplan.facts.settings.row import Row
from cpuplan.plan import NodePlan
from cpuplan.plan.setting import Setting, Value

if TYPE_CHECKING:
    from cpuplan.language.model.intent import Target

NAME = common.NAME
IRQBALANCE_UNIT = rows.IRQBALANCE_UNIT.key
ONE_SHOT = rows.TUNED_ONE_SHOT.key
OVS_VSWITCHD = rows.USE_OVS_SLICE.of(service="ovs-vswitchd")


class _File(NamedTuple):
    """A shipped file: its row, template and mode."""

    row: Row
    template: str
    mode: int = 0o644


FILES: dict[str, _File] = {
    rows.IRQBALANCE_SCRIPT.key: _File(
        rows.IRQBALANCE_SCRIPT, "bin/clear-irqbalance-banned-cpus.sh", 0o700
    ),
    rows.CPUSET_SCRIPT.key: _File(rows.CPUSET_SCRIPT, "bin/cpuset-configure.sh", 0o700),
    ALLOCATION_SCRIPT.key: _File(ALLOCATION_SCRIPT, "bin/hugepages-allocation.sh", 0o700),
    OFFLINE_SCRIPT.key: _File(OFFLINE_SCRIPT, "bin/set-cpus-offline.sh", 0o700),
    rows.OVS_SLICE.key: _File(rows.OVS_SLICE, "units/ovs.slice"),
    **{
        rows.USE_OVS_SLICE.of(service=name): _File(rows.USE_OVS_SLICE, "units/use-ovs-slice.conf")
        for name in ("openvswitch", "ovs-vswitchd", "ovsdb-server")
    },
    rows.DYNAMIC_AFFINITY.key: _File(rows.DYNAMIC_AFFINITY, "files/enable_dynamic_cpu_affinity"),
    rows.STALLD_BACKEND.key: _File(rows.STALLD_BACKEND, "files/stalld-backend"),
    rows.STALLD_DROP_IN.key: _File(rows.STALLD_DROP_IN, "units/stalld-backend.conf"),
}
#: Units that are enabled, in their order.
UNITS = (rows.IRQBALANCE_UNIT, rows.CPUSET_UNIT, rows.TUNED_ONE_SHOT)
_SHIPPED = {path: file.row for path, file in FILES.items()} | {row.key: row for row in UNITS}
#: Files and units of later releases, and the feature that a release must have.
_SINCE: dict[str, Feature] = {
    rows.STALLD_BACKEND.key: "units.stalld_backend",
    rows.STALLD_DROP_IN.key: "units.stalld_backend",
}
#: Lines of the one-shot unit, and what is written there without a feature.
_BEFORE: dict[Feature, tuple[tuple[str, str], ...]] = {
    "one_shot.restarts": (("Restart=on-failure\nRestartSec=5s\n", "Restart=no\n"),),
    "one_shot.may_fail": (
        ("ExecStart=-/usr/bin/podman", "ExecStart=/usr/bin/podman"),
        ("ExecStart=/usr/bin/true\n", ""),
        ('"ocp-tuned"', '"openshift-tuned"'),
    ),
    "one_shot.in_host_folder": (
        ("/var/lib/ocp-tuned:/host/var/lib/ocp-tuned:", "/var/lib/ocp-tuned:/var/lib/ocp-tuned:"),
        ("    --volume /var/lib/tuned:/host/var/lib/tuned:rslave \\\n", ""),
    ),
}


def settings(plan: NodePlan) -> Iterator[Setting]:
    """Units by name, files by path."""
    prepared, shipped = list(common.prepared(plan)), list(_shipped(plan))
    yield from prepared
    yield from shipped
    paths = {setting.key for setting in shipped}
    yield from (script for script in common.scripts(plan, prepared) if script.key not in paths)


def _shipped(plan: NodePlan) -> Iterator[Setting]:
    target, environments = plan.node_class.target, _environments(plan)
    for key, row in _SHIPPED.items():
        default, names = unasked(plan, row.default), row.names_in(key)
        if key in environments:
            because = (*plan.pool("isolcpus").because, ovsdpdk.reason(plan), default)
            yield from emit(plan, row, environments[key], because, **names)
        elif not chosen.is_on(plan, row.default):
            continue
        elif key == ONE_SHOT:
            yield from emit(plan, row, _one_shot(target), (default,))
        elif key not in _SINCE or versions.ships(target, _SINCE[key]):
            yield from emit(plan, row, True, (default,), **names)


def _one_shot(target: Target) -> Value:
    """The unit as the image of the release needs it: its command and folders have changed."""
    shipped = text = template(f"units/{ONE_SHOT}")
    missing = (feature for feature in _BEFORE if not versions.ships(target, feature))
    for feature in missing:
        for now, before in _BEFORE[feature]:
            text = text.replace(now, before)
    return True if text == shipped else text


def _environments(plan: NodePlan) -> dict[str, Value]:
    """What is added to shipped texts beside Open vSwitch with DPDK, by key."""
    dpdk = ovsdpdk.cpus(plan)
    if not dpdk:
        return {}
    return {
        IRQBALANCE_UNIT: {ovsdpdk.CPUS_KEY: dpdk.short_mask()},
        OVS_VSWITCHD: {ovsdpdk.CPUS_KEY: str(dpdk)},
    }


def units(settings: Sequence[Setting]) -> dict[str, str]:
    """The texts of the units to enable, by name."""
    return {
        setting.key: _text(setting.key, setting.value)
        for setting in settings
        if not common.is_file(setting.key)
    }


def files(settings: Sequence[Setting]) -> dict[str, tuple[int, str]]:
    """(mode, text) of scripts and drop-ins, by absolute path."""
    return {
        setting.key: (FILES[setting.key].mode, _text(setting.key, setting.value))
        for setting in settings
        if common.is_file(setting.key)
    }


def _text(key: str, value: Value) -> str:
    if key not in _SHIPPED:
        return common.text_of(key, value, shell="")
    if isinstance(value, str):
        return value
    environment = value if isinstance(value, dict) else {}
    return _shipped_text(key, environment)


def _shipped_text(key: str, environment: dict[str, Value]) -> str:
    """A shipped text with an environment; ovs-vswitchd may then divide its cgroup."""
    if environment and key == OVS_VSWITCHD:
        text = template("units/use-ovs-slice-dpdk.conf")
    else:
        text = template(FILES[key].template if key in FILES else f"units/{key}")
    lines = "".join(f"Environment={name}={value}\n" for name, value in environment.items())
    return text.replace("[Service]\n", f"[Service]\n{lines}", 1)


def render(settings: Sequence[Setting]) -> str:
    """All texts, each under a line with its path, as `systemctl cat` shows units."""
    return common.joined({setting.key: _text(setting.key, setting.value) for setting in settings})


def parse(text: str) -> dict[str, Value]:
    """The settings of `render`'s text; a file that was edited has its text as value."""
    return {key: _value(key, content) for key, content in common.sections(text)}


def _value(key: str, text: str) -> Value:
    if key not in _SHIPPED:
        return common.value_of(key, text)
    environment: dict[str, Value] = {**common.environment(text)}
    forms: tuple[Value, ...] = (True, environment)
    return next((form for form in forms if _text(key, form) == text), text)
