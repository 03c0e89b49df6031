"""The kubelet's configuration: its file, and the drop-ins merged over it."""

from collections.abc import Iterator
from typing import Any

from cpuplan.check.host import Subject
from cpuplan.components import kubelet
from cpuplan.components.setting import Value, of_component
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.source import Position

#: The main file: where the machine config operator writes it, and where kubeadm does.
FILES = ("etc/kubernetes/kubelet.conf", "var/lib/kubelet/config.yaml")
DROP_INS = "etc/kubernetes/kubelet.conf.d"


def configuration(subject: Subject) -> Iterator[Diagnostic]:
    """Every planned key of KubeletConfiguration, as it holds after all drop-ins (lists replace, maps merge)."""
    merged: dict[str, Value] = {}
    written: dict[str, str] = {}
    paths = [path for path in FILES if subject.root.is_file(path)][:1]
    paths += [f"{DROP_INS}/{name}" for name in subject.root.names(DROP_INS) if name.endswith(".conf")]
    if not paths:
        yield diagnose("CP820", paths=" nor ".join(subject.root.shown(path) for path in FILES))
        return
    for path in paths:
        try:
            found = kubelet.parse(subject.root.read(path) or "")
        except ValueError as error:
            yield diagnose(
                "CP821", Position(subject.root.shown(path), 1, 1), path=subject.root.shown(path), problem=error
            )
            continue
        for key, value in found.items():
            written[key] = path
            merged[key] = _merge(merged.get(key), value)
    yield from _compare(subject, merged, written, paths[-1])


def _compare(subject: Subject, merged: dict[str, Value], written: dict[str, str], last: str) -> Iterator[Diagnostic]:
    for setting in of_component(subject.settings, kubelet.NAME):
        labels = subject.labels(setting.reasons)
        path = written.get(setting.key)
        if path is None:
            place = Position(subject.root.shown(last), 1, 1)
            yield diagnose("CP822", place, labels=labels, key=setting.key, wanted=_shown(setting.value))
        elif not _holds(merged[setting.key], setting.value):
            place = _line_of(subject, path, setting.key)
            found = _shown(merged[setting.key])
            yield diagnose("CP823", place, labels=labels, key=setting.key, found=found, wanted=_shown(setting.value))


def _holds(found: Value, wanted: Value) -> bool:
    """Equal; of a map, at least what is wanted: a cluster may reserve more, or name options that are not planned."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        return all(key in found and _holds(found[key], item) for key, item in wanted.items())
    return found == wanted


def _merge(old: Value | None, new: Value) -> Value:
    if isinstance(old, dict) and isinstance(new, dict):
        return {**old, **new}
    return new


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_shown(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(_shown(item) for item in value)
    return str(value)


def _line_of(subject: Subject, path: str, key: str) -> Position:
    """Where the key stands: JSON or YAML, at the first line that names it."""
    for number, line in enumerate((subject.root.read(path) or "").splitlines(), start=1):
        column = line.find(key)
        if column >= 0:
            return Position(subject.root.shown(path), number, column + 1, len(line.rstrip()) + 1)
    return Position(subject.root.shown(path), 1, 1)
