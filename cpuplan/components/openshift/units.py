"""systemd on OpenShift: the units and files that the node tuning operator ships, and others.

The setting of what is shipped is True, or the environment that is added to the shipped text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from cpuplan.components import chosen
from cpuplan.components import units as common
from cpuplan.components.openshift import ovsdpdk
from cpuplan.components.reasons import unasked
from cpuplan.components.texts import template
from cpuplan.components.units import BIN, UNIT_FOLDER
from cpuplan.plan import NodePlan
from cpuplan.plan.setting import Setting, Value
from cpuplan.platforms import versions
from cpuplan.platforms.features import Feature

if TYPE_CHECKING:
    from cpuplan.language.model.intent import Target

NAME = common.NAME
EFFECT = common.EFFECT
IRQBALANCE_UNIT = "clear-irqbalance-banned-cpus.service"
ONE_SHOT = "ocp-tuned-one-shot.service"
OVS_VSWITCHD = f"{UNIT_FOLDER}/ovs-vswitchd.service.d/01-use-ovs-slice.conf"


class _File(NamedTuple):
    """A shipped file: its template, mode, and the default that it belongs to."""

    template: str
    mode: int
    default: str


FILES: dict[str, _File] = {
    f"{BIN}/clear-irqbalance-banned-cpus.sh": _File(
        "bin/clear-irqbalance-banned-cpus.sh", 0o700, "irqbalance-start"
    ),
    f"{BIN}/cpuset-configure.sh": _File("bin/cpuset-configure.sh", 0o700, "cgroup-v1"),
    f"{BIN}/hugepages-allocation.sh": _File("bin/hugepages-allocation.sh", 0o700, "scripts"),
    f"{BIN}/set-cpus-offline.sh": _File("bin/set-cpus-offline.sh", 0o700, "scripts"),
    f"{UNIT_FOLDER}/ovs.slice": _File("units/ovs.slice", 0o644, "ovs-slice"),
    **{
        f"{UNIT_FOLDER}/{name}.service.d/01-use-ovs-slice.conf": _File(
            "units/use-ovs-slice.conf", 0o644, "ovs-slice"
        )
        for name in ("openvswitch", "ovs-vswitchd", "ovsdb-server")
    },
    "/var/lib/ovn-ic/etc/enable_dynamic_cpu_affinity": _File(
        "files/enable_dynamic_cpu_affinity", 0o644, "ovs-slice"
    ),
    "/etc/sysconfig/stalld-backend": _File("files/stalld-backend", 0o644, "stalld-backend"),
    f"{UNIT_FOLDER}/stalld.service.d/stalld-backend.conf": _File(
        "units/stalld-backend.conf", 0o644, "stalld-backend"
    ),
}
#: The default that each unit belongs to.
UNITS: dict[str, str] = {
    IRQBALANCE_UNIT: "irqbalance-start",
    "cpuset-configure.service": "cgroup-v1",
    ONE_SHOT: "tuned-first",
}
_DEFAULTS = {path: file.default for path, file in FILES.items()} | UNITS
#: Files and units of later releases, and the feature that a release must have.
_SINCE: dict[str, Feature] = {
    "/etc/sysconfig/stalld-backend": "units.stalld_backend",
    f"{UNIT_FOLDER}/stalld.service.d/stalld-backend.conf": "units.stalld_backend",
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
    yield from (script for script in common.scripts(prepared) if script.key not in paths)


def _shipped(plan: NodePlan) -> Iterator[Setting]:
    target, environments = plan.node_class.target, _environments(plan)
    for key, name in _DEFAULTS.items():
        default = unasked(plan, name, NAME, key)
        if key in environments:
            because = (*plan.pool("isolcpus").because, ovsdpdk.reason(plan), default)
            yield Setting(NAME, key, environments[key], because)
        elif not chosen.is_on(plan, name):
            continue
        elif key == ONE_SHOT:
            yield Setting(NAME, key, _one_shot(target), (default,))
        elif key not in _SINCE or versions.ships(target, _SINCE[key]):
            yield Setting(NAME, key, True, (default,))


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
    if key not in _DEFAULTS:
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
    if key not in _DEFAULTS:
        return common.value_of(key, text)
    environment: dict[str, Value] = {**common.environment(text)}
    forms: tuple[Value, ...] = (True, environment)
    return next((form for form in forms if _text(key, form) == text), text)
