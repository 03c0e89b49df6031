"""CRI-O's configuration: the main file and all drop-ins, and the mixed-CPU file beside it."""

from collections.abc import Iterator

from cpuplan import backends
from cpuplan.check import crio_files
from cpuplan.check.compare import compare, line_of, merged, unreadable
from cpuplan.check.subject import Subject
from cpuplan.components import crio
from cpuplan.components.host import irqbalance
from cpuplan.components.openshift import mixedcpus
from cpuplan.diagnostics import Diagnostic, diagnose

MAIN = "etc/crio/crio.conf"
DROP_INS = "etc/crio/crio.conf.d"


def configuration(subject: Subject) -> Iterator[Diagnostic]:
    """Every planned key has its value after the last file that names it."""
    compiled = backends.of(subject.plan.node_class).PATHS.get(crio.NAME)
    if compiled is None or subject.plan.node_class.target.runtime != crio.NAME:
        return
    # CRI-O does not start with a file that it cannot read, whatever its name ends in.
    drop_ins = subject.root.files(DROP_INS)
    paths = [path for path in (MAIN, *drop_ins) if path in drop_ins or subject.root.is_file(path)]
    if not paths:
        if not subject.root.refused:
            yield diagnose("CP830", path=subject.root.shown(DROP_INS))
        return
    actual = yield from merged(subject, paths, "CP831", crio.parse, crio.merge)
    own = compiled.lstrip("/")
    nearest = own if own in paths else DROP_INS
    yield from compare(subject, crio.NAME, actual, nearest, ("CP832", "CP833"))


def traps(subject: Subject) -> Iterator[Diagnostic]:
    """What CRI-O refuses, leaves out or passes over in its files, and what will bite."""
    if subject.plan.node_class.target.runtime != crio.NAME:
        return
    if subject.root.files(DROP_INS) and crio_files.are_readable(subject.root):
        yield from crio_files.findings(subject.root, crio_files.FOLDER)
        # Where the plan places interrupts, irqbalance gets its list from a drop-in of its unit.
        if not subject.plan.settings.of(irqbalance.NAME):
            yield from crio_files.irqbalance(subject.root)


def mixed_cpus(subject: Subject) -> Iterator[Diagnostic]:
    """The file with which OpenShift's kubelet offers shared CPUs; bad JSON disables it silently."""
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
        values = mixedcpus.parse(text)
    except (ValueError, RecursionError) as error:
        place, problem = unreadable(subject, path, error)
        yield diagnose("CP841", place, labels=labels, path=name, problem=problem)
        return
    for setting in settings:
        key, wanted = setting.key, setting.value
        value = values.get(key, "missing")
        if value != wanted:
            place = line_of(subject, path, key)
            yield diagnose("CP842", place, labels=labels, key=key, found=value, wanted=wanted)
