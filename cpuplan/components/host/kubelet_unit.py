"""The kubelet's unit: a drop-in that lets it read the folder of configuration, and hold it back.

kubeadm's unit gives the kubelet $KUBELET_CONFIG_ARGS (kubernetes/release, 10-kubeadm.conf), which
no environment file sets, while /etc/default/kubelet and /etc/sysconfig/kubelet replace
KUBELET_EXTRA_ARGS; what other platforms need is in their rows (`Platform.folder_flag`). What the
kubelet counts when it starts must be there before: it requires the units that set aside huge pages
and switch CPUs off.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cpuplan.components import chosen, units
from cpuplan.components.emission import by_default, emit
from cpuplan.components.host import interrupts
from cpuplan.facts import platforms, versions
from cpuplan.facts.platforms import FolderFlag
from cpuplan.facts.settings import host as rows
from cpuplan.plan import NodePlan
from cpuplan.plan.setting import Setting, Value

if TYPE_CHECKING:
    from cpuplan.language.model.intent import Target

NAME = rows.KUBELET_UNIT
#: The drop-in. It sorts after kubeadm's.
FILE = "50-cpuplan.conf"
CONFIG_DIR, ALPHA = rows.CONFIG_DIR.key, rows.CONFIG_DIR_ALPHA.key
_WANTS, _REQUIRES, _AFTER = rows.WANTS.key, rows.REQUIRES.key, rows.AFTER.key
_DIRECTORY = re.compile(
    rf'^(?:Environment="|ExecStart=)[^\n]*{re.escape(CONFIG_DIR)}=([^"\s]+)"?$', re.MULTILINE
)
_GATE = re.compile(rf"^Environment={ALPHA}=(.*)$", re.MULTILINE)
_UNITS = re.compile(rf"^({_REQUIRES}|{_WANTS}|{_AFTER})=(.*)$", re.MULTILINE)


def settings(plan: NodePlan) -> Iterator[Setting]:
    """The folder, and the units that come first or at the same time."""
    is_read = plan.node_class.platform.reads_kubelet_folder
    if not is_read and chosen.is_on(plan, rows.CONFIG_DIR.default):
        yield from _folder(plan)
    for setting in interrupts.settings(plan):
        yield from emit(plan, rows.WANTS, (interrupts.UNIT,), setting.reasons)
    if awaited := list(units.awaited(plan)):
        names = tuple(unit.key for unit in awaited)
        reasons = tuple(dict.fromkeys(reason for unit in awaited for reason in unit.reasons))
        yield from emit(plan, rows.REQUIRES, names, reasons)
        yield from emit(plan, rows.AFTER, names, reasons)


def _folder(plan: NodePlan) -> Iterator[Setting]:
    target = plan.node_class.target
    yield from by_default(plan, rows.CONFIG_DIR, platforms.of(target).kubelet_folder)
    if not versions.has(target, "kubelet.config_dir_by_flag"):
        field = plan.node_class.target_field("version")
        text = f"the kubelet of {target.version} reads the folder only with it"
        because = (plan.node_class.reason(text, field),)
        yield from emit(plan, rows.CONFIG_DIR_ALPHA, "1", because)


def flag_lines(folder: Value, flag: FolderFlag) -> list[str]:
    """The lines of the unit by which the kubelet is told of a folder; none where others do it."""
    words = f"{CONFIG_DIR}={folder}"
    if flag.variable:
        given = f"{flag.flags} {words}" if flag.flags else words
        return [f'Environment="{flag.variable}={given}"']
    return ["ExecStart=", f"ExecStart={flag.command} {words}"] if flag.command else []


def path(target: Target) -> str:
    """The drop-in."""
    return f"{units.UNIT_FOLDER}/{target.kubelet_service}.d/{FILE}"


def render(settings: Sequence[Setting], flag: FolderFlag = platforms.KUBERNETES.folder_flag) -> str:
    """The drop-in of a platform's unit; "" where nothing is to say in it."""
    values = {setting.key: setting.value for setting in settings}
    names = {key: values[key] for key in (_WANTS, _REQUIRES, _AFTER) if key in values}
    unit = [f"{key}={_joined(value)}" for key, value in names.items()]
    service = []
    if CONFIG_DIR in values:
        service += flag_lines(values[CONFIG_DIR], flag)
    if ALPHA in values:
        service.append(f"Environment={ALPHA}={values[ALPHA]}")
    sections = {"Unit": unit, "Service": service}
    texts = ("\n".join([f"[{name}]", *lines, ""]) for name, lines in sections.items() if lines)
    return "\n".join(texts)


def _joined(names: Value) -> str:
    return " ".join(map(str, names)) if isinstance(names, tuple) else str(names)


def parse(text: str) -> dict[str, Value]:
    """What a drop-in says."""
    values: dict[str, Value] = {}
    if folder := _DIRECTORY.search(text):
        values[CONFIG_DIR] = folder[1]
    if gate := _GATE.search(text):
        values[ALPHA] = gate[1]
    return values | {key: tuple(names.split()) for key, names in _UNITS.findall(text)}
