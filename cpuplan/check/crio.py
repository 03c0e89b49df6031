"""CRI-O's configuration: the main file and all drop-ins, merged as CRI-O merges them; the mixed-CPU
file beside it.
"""

from collections.abc import Iterator

from cpuplan.check.compare import LINK_TO_NOTHING, Found, compare, line_of, unreadable
from cpuplan.check.subject import Subject
from cpuplan.components import crio, mixedcpus
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.setting import Value

MAIN = "etc/crio/crio.conf"
DROP_INS = "etc/crio/crio.conf.d"


def configuration(subject: Subject) -> Iterator[Diagnostic]:
    """Every planned key, as it holds after the last file that names it."""
    drop_ins = subject.root.files(DROP_INS)
    paths = [path for path in (MAIN, *drop_ins) if path in drop_ins or subject.root.is_file(path)]
    if not paths:
        if not subject.root.refused:
            yield diagnose("CP830", path=subject.root.shown(DROP_INS))
        return
    merged: dict[str, Value] = {}
    written: dict[str, str] = {}
    for path in paths:
        text = subject.root.read(path)
        try:
            if text is None and not subject.root.refused:
                raise ValueError(LINK_TO_NOTHING)
            values = crio.parse(text or "")
        except (ValueError, RecursionError) as error:
            # CRI-O does not start with a file that it cannot read, whatever its name ends in.
            place, problem = unreadable(subject, path, error)
            yield diagnose("CP831", place, path=place.path, problem=problem)
            continue
        merged = crio.merge(merged, values)
        written |= dict.fromkeys(values, path)
    compiled = crio.path(subject.plan).lstrip("/")
    nearest = compiled if compiled in paths else DROP_INS
    yield from compare(subject, crio.NAME, Found(merged, written), nearest, ("CP832", "CP833"))


def mixed_cpus(subject: Subject) -> Iterator[Diagnostic]:
    """The file that makes the kubelet of OpenShift offer shared CPUs: bad JSON switches it off
    without a word.
    """
    settings = subject.plan.settings.of(mixedcpus.NAME)
    if not settings:
        return
    path = mixedcpus.PATH.lstrip("/")
    name = subject.root.shown(path)
    text = subject.root.read(path)
    labels = subject.labels(settings[0].reasons)
    if text is None:
        if not subject.root.refused:
            yield diagnose("CP840", labels=labels, path=name)
        return
    try:
        found = mixedcpus.parse(text)
    except (ValueError, RecursionError) as error:
        place, problem = unreadable(subject, path, error)
        yield diagnose("CP841", place, labels=labels, path=name, problem=problem)
        return
    for setting in settings:
        value = found.get(setting.key, "missing")
        if value != setting.value:
            place = line_of(subject, path, setting.key)
            yield diagnose(
                "CP842", place, labels=labels, key=setting.key, found=value, wanted=setting.value
            )
