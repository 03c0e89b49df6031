"""Receive packet steering: which CPUs work on received packets (networking/scaling.rst).

New devices get the default mask (net.core.rps_default_mask), also the virtual ones of pods.
Physical devices have queues and interrupts of their own to be steered by, so that theirs is taken
back by a unit, unless it is wanted.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from cpuplan.base.cpuset import CpuSet
from cpuplan.components import chosen
from cpuplan.components.base import template
from cpuplan.components.chosen import of_release, stated_or
from cpuplan.components.emission import emit, given_or
from cpuplan.facts import versions
from cpuplan.facts.settings import host as rows
from cpuplan.plan import NodePlan
from cpuplan.plan.setting import Setting, Value, mask_text

NAME = rows.RPS
SYSCTL_PATH = "/etc/sysctl.d/99-default-rps-mask.conf"
SCRIPT_PATH = "/usr/local/bin/set-rps-mask.sh"
RULES_PATH = "/etc/udev/rules.d/99-netdev-physical-rps.rules"
UNIT, MASK = rows.RPS_UNIT.key, rows.RPS_MASK.key
_LINE = re.compile(rf"^\s*-?{re.escape(MASK)}\s*=\s*(\S+)\s*$", re.MULTILINE)


def is_used(plan: NodePlan) -> bool:
    """Whether packets are steered.

    On request; before 4.19, the operator does it for real-time workloads whatever a profile says.
    """
    target = plan.node_class.target
    forced = versions.ships(target, "rps.for_real_time") and not versions.ships(
        target, "rps.false_is_no"
    )
    return plan.spec.net.receive_packet_steering or (forced and chosen.real_time(plan))


def settings(plan: NodePlan) -> Iterator[Setting]:
    """The default mask, and the unit for physical devices."""
    net, reserved = plan.spec.net, plan.pool("reserved")
    if not is_used(plan):
        return
    text = "received packets are worked on by the reserved CPUs"
    reason = stated_or(plan, text, "net.receivePacketSteering", of_release(plan))
    is_short = versions.ships(plan.node_class.target, "rps.short_masks")
    mask = _short_mask(reserved.cpus) if is_short else reserved.cpus
    yield from emit(plan, rows.RPS_MASK, mask, (*reserved.because, reason))
    if not net.physical_device_rps:
        own = given_or(plan, rows.RPS_UNIT, "physical devices have queues of their own")
        yield from emit(plan, rows.RPS_UNIT, True, (reason, own))


def _short_mask(cpus: CpuSet) -> Value:
    """The CPUs, or the wrong mask that releases before 4.16 write for CPUs from 256 on.

    They cut the digits into words from the left, and lose what is left over (P/utils.go).
    """
    digits = f"{int(cpus.mask().replace(',', ''), 16):064x}"
    if len(digits) % 8 == 0:
        return cpus
    words = [digits[at : at + 8] for at in range(0, len(digits) // 8 * 8, 8)]
    return ",".join(words)


def render(settings: Sequence[Setting]) -> str:
    """The sysctl.d(5) file, and below it the name of the unit."""
    units = "".join(f"# {setting.key}\n" for setting in settings if setting.key == UNIT)
    return _sysctl(settings) + units


def _sysctl(settings: Sequence[Setting]) -> str:
    return "".join(
        f"{setting.key} = {mask_text(setting.value)}\n"
        for setting in settings
        if setting.key == MASK
    )


def parse(text: str) -> Mapping[str, Value]:
    """The mask of a sysctl.d file as a set of CPUs, and the unit where it is named."""
    masks = _LINE.findall(text)
    values: dict[str, Value] = {MASK: CpuSet.parse_mask(masks[-1])} if masks else {}
    return values | ({UNIT: True} if f"# {UNIT}\n" in text else {})


def files(settings: Sequence[Setting]) -> dict[str, tuple[int, str]]:
    """(mode, text) by absolute path; the script is always there, for devices steered by hand."""
    if not settings:
        return {}
    contents = {
        SYSCTL_PATH: (0o644, _sysctl(settings)),
        SCRIPT_PATH: (0o700, template("bin/set-rps-mask.sh")),
    }
    if any(setting.key == UNIT for setting in settings):
        contents[RULES_PATH] = (0o644, template("files/99-netdev-physical-rps.rules"))
    return contents


def units(settings: Sequence[Setting], shell: str = "") -> dict[str, str]:
    """The template unit that udev starts for a device; not to be enabled.

    `shell` runs a script whose file is not executable.
    """
    if not any(setting.key == UNIT for setting in settings):
        return {}
    return {UNIT: template(f"units/{UNIT}.j2", shell=shell)}
