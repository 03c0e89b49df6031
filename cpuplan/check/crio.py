"""CRI-O's configuration: the main file and all drop-ins, merged as CRI-O merges them."""

from collections.abc import Iterator

from cpuplan.check.host import Subject
from cpuplan.check.kubelet import _shown
from cpuplan.components import crio, mixedcpus
from cpuplan.components.setting import Setting, Value, of_component
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.source import Position

MAIN = "etc/crio/crio.conf"
DROP_INS = "etc/crio/crio.conf.d"


def configuration(subject: Subject) -> Iterator[Diagnostic]:
    """Every planned key, as it holds after the last file that names it."""
    paths = [path for path in (MAIN, *_drop_ins(subject, DROP_INS)) if subject.root.is_file(path)]
    if not paths:
        yield diagnose("CP830", path=subject.root.shown(DROP_INS))
        return
    merged: dict[str, Value] = {}
    written: dict[str, str] = {}
    for path in paths:
        try:
            found = crio.parse(subject.root.read(path) or "")
        except ValueError as error:
            # CRI-O does not start with a file that it cannot read, whatever its name ends in.
            yield diagnose(
                "CP831", Position(subject.root.shown(path), 1, 1), path=subject.root.shown(path), problem=error
            )
            continue
        merged = crio.merge(merged, found)
        written |= dict.fromkeys(found, path)
    for setting in of_component(subject.settings, crio.NAME):
        yield from _compare(subject, setting, merged, written)


def _drop_ins(subject: Subject, folder: str) -> Iterator[str]:
    """All files below the folder, whatever their names end in, hidden ones too, by name (CRI-O walks it)."""
    for name in subject.root.names(folder):
        path = f"{folder}/{name}"
        if subject.root.is_file(path):
            yield path
        else:
            yield from _drop_ins(subject, path)


def _compare(
    subject: Subject, setting: Setting, merged: dict[str, Value], written: dict[str, str]
) -> Iterator[Diagnostic]:
    labels = subject.labels(setting.reasons)
    if setting.key not in merged:
        place = Position(subject.root.shown(DROP_INS), 1, 1)
        yield diagnose("CP832", place, labels=labels, key=setting.key, wanted=_shown(setting.value))
    elif merged[setting.key] != setting.value:
        path = written.get(setting.key, DROP_INS)
        place = _line_of(subject, path, setting.key.rsplit(".", 1)[-1])
        found = _shown(merged[setting.key])
        yield diagnose("CP833", place, labels=labels, key=setting.key, found=found, wanted=_shown(setting.value))


def _line_of(subject: Subject, path: str, key: str) -> Position:
    lines = (subject.root.read(path) or "").splitlines()
    for number, line in enumerate(lines, start=1):
        if line.strip().lower().startswith(key.lower()):
            return Position(
                subject.root.shown(path), number, len(line) - len(line.lstrip()) + 1, len(line.rstrip()) + 1
            )
    return Position(subject.root.shown(path), 1, 1)


def mixed_cpus(subject: Subject) -> Iterator[Diagnostic]:
    """The file that makes the kubelet of OpenShift offer shared CPUs: bad JSON switches it off without a word."""
    settings = of_component(subject.settings, mixedcpus.NAME)
    if not settings:
        return
    path = mixedcpus.PATH.lstrip("/")
    shown = subject.root.shown(path)
    text = subject.root.read(path)
    labels = subject.labels(settings[0].reasons)
    if text is None:
        yield diagnose("CP840", labels=labels, path=shown)
        return
    try:
        found = mixedcpus.parse(text)
    except ValueError as error:
        yield diagnose("CP841", Position(shown, 1, 1), labels=labels, path=shown, problem=error)
        return
    for setting in settings:
        if found.get(setting.key) != setting.value:
            value = found.get(setting.key, "missing")
            yield diagnose(
                "CP842", Position(shown, 1, 1), labels=labels, key=setting.key, found=value, wanted=setting.value
            )
