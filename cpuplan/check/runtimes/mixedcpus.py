"""The file with which OpenShift's kubelet offers shared CPUs."""

from collections.abc import Iterator

from cpuplan.check.subject import Subject, line_of, unreadable
from cpuplan.components.openshift import mixedcpus
from cpuplan.diagnostics import diagnose
from cpuplan.plan.expected.evidence import Answer


def limit(subject: Subject) -> Iterator[Answer]:
    """CP840 to CP842; bad JSON disables shared CPUs silently."""
    settings = subject.expected.settings.of(mixedcpus.NAME)
    if not settings:
        return
    path = mixedcpus.PATH.lstrip("/")
    text = subject.root.read(path)
    labels = subject.labels(settings[0].reasons)
    name = subject.root.shown(path)
    if text is None:
        for setting in settings:
            if subject.root.refused or not subject.root.covers(path):
                yield subject.unverifiable(setting, path, "the file is not part of this copy")
            else:
                finding = diagnose("CP840", labels=labels, path=name)
                yield subject.answered(setting, finding, observed="no file")
        return
    try:
        values = mixedcpus.parse(text)
    except (ValueError, RecursionError) as error:
        place, problem = unreadable(subject, path, error)
        finding = diagnose("CP841", place, labels=labels, path=name, problem=problem)
        yield from (subject.answered(setting, finding) for setting in settings)
        return
    for setting in settings:
        value = values.get(setting.key, "missing")
        if value == setting.value:
            yield subject.held(setting, path)
            continue
        place = line_of(subject, path, setting.key)
        yield subject.differs(
            setting, "CP842", place, observed=str(value), expected=str(setting.value)
        )
