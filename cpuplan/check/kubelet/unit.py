"""The steps on a kubelet in the order of the answers, and those on its process and its unit."""

from collections.abc import Iterable, Iterator

from cpuplan.check import processes
from cpuplan.check.kubelet import configuration, sources, statefiles
from cpuplan.check.kubelet.sources import find_sources, program
from cpuplan.check.services.systemd_units import Line
from cpuplan.check.services.units import unit_files
from cpuplan.check.subject import Subject
from cpuplan.components.host import kubelet_unit
from cpuplan.plan.expected.evidence import Answer
from cpuplan.plan.setting import Setting


def runs(subject: Subject) -> Iterator[Answer]:
    """CP828: nothing is held where no kubelet runs."""
    yield from processes.runs(subject, program(subject))


def restarted(subject: Subject) -> Iterator[Answer]:
    """CP827: the files are read when the kubelet starts."""
    read = find_sources(subject)
    process = read.command.process if read.command else None
    yield from processes.restarted(subject, program(subject), process, read.paths)


_REASON = "the unit's files here do not say so; whether the compiled drop-in is there is told apart"


def unit(subject: Subject) -> Iterator[Answer]:
    """Units that are required or come first, and the variable of old kubelets.

    A drop-in that is missing or edited is a finding of the compiled files.
    """
    name = subject.expected.kubelet_service
    lines = unit_files(subject).lines(name)
    for setting in subject.expected.settings.of(kubelet_unit.NAME):
        if setting.key == kubelet_unit.CONFIG_DIR:
            continue
        path = _said(lines, setting)
        if path:
            yield subject.held(setting, path)
        else:
            yield subject.unverifiable(setting, "", _REASON)


def _said(lines: Iterable[Line], setting: Setting) -> str:
    """The file that has the last line of a setting, if all that it names is there."""
    names = setting.value if isinstance(setting.value, tuple) else (setting.value,)
    wanted = {str(name) for name in names}
    key = "Environment" if setting.key == kubelet_unit.ALPHA else setting.key
    path_by_word: dict[str, str] = {}
    for line in lines:
        words = line.value.replace('"', "").split() if line.key == key else ()
        path_by_word |= dict.fromkeys(words, line.path)
    if setting.key == kubelet_unit.ALPHA:
        return path_by_word.get(f"{setting.key}={setting.value}", "")
    return path_by_word[next(iter(wanted))] if wanted <= path_by_word.keys() else ""


def in_force(subject: Subject) -> Iterator[Answer]:
    """What its files and flags come to."""
    yield from sources.as_seen(subject, configuration.configuration(subject))


STEPS = (
    runs,
    sources.drop_in_folder,
    unit,
    in_force,
    restarted,
    statefiles.states,
)
