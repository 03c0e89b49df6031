"""The folder of the kubelet's drop-ins, which is read only where its command line says so."""

from collections.abc import Iterator

from cpuplan.check.kubelet.sources import sources
from cpuplan.check.subject import Subject
from cpuplan.components.host import kubelet_unit
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.plan.expected.answer import Answer
from cpuplan.plan.setting import Setting


def folder(subject: Subject) -> Iterator[Answer]:
    """CP876: the kubelet does not read the folder."""
    read = sources(subject)
    for setting in _settings(subject):
        finding = unread_folder(subject)
        if read.command is None or read.problem:
            yield subject.unverifiable(setting, "", "no command line of the kubelet is here")
        elif finding:
            observed = read.flags.config_dir or "not given"
            yield subject.answered(setting, finding, observed=observed, expected=str(setting.value))
        else:
            yield subject.held(setting, read.command.path)


def _settings(subject: Subject) -> list[Setting]:
    planned = subject.expected.settings.of(kubelet_unit.NAME)
    return [setting for setting in planned if setting.key == kubelet_unit.CONFIG_DIR]


def unread_folder(subject: Subject) -> Diagnostic | None:
    """CP876 for a kubelet whose command line is known and names another folder, or none."""
    read = sources(subject)
    if read.command is None or read.problem:
        return None
    for setting in _settings(subject):
        if read.flags.config_dir.rstrip("/") != str(setting.value).rstrip("/"):
            place, labels = read.place(subject.root), subject.labels(setting.reasons)
            return diagnose("CP876", place, labels=labels, folder=setting.value)
    return None
