"""CRI-O's configuration: the main file and all drop-ins, and the mixed-CPU file beside it."""

from collections.abc import Generator, Iterator

from cpuplan import backends, versions
from cpuplan.check import crio_files
from cpuplan.check.compare import LINK_TO_NOTHING, FileValues, compare, line_of, unreadable
from cpuplan.check.subject import Subject
from cpuplan.components import crio
from cpuplan.components.host import irqbalance
from cpuplan.components.openshift import mixedcpus
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.runtime.configuration.keys import LATEST
from cpuplan.runtime.configuration.reading import (
    File,
    NotTomlError,
    RefusedError,
    decode,
    merge,
    of_release,
)

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
    files = yield from _files(subject, paths)
    last = {key: path for path, file in files.items() for key in crio.flat(file.tables)}
    own = compiled.lstrip("/")
    nearest = own if own in paths else DROP_INS
    actual = FileValues(crio.flat(merge(files)), last)
    yield from compare(subject, crio.NAME, actual, nearest, ("CP832", "CP833"))


def _files(subject: Subject, paths: list[str]) -> Generator[Diagnostic, None, dict[str, File]]:
    """What each file gives to this release; CP831 for what is no TOML."""
    files: dict[str, File] = {}
    for path in paths:
        text = subject.root.read(path)
        try:
            if text is None and not subject.root.refused:
                raise NotTomlError(LINK_TO_NOTHING)
            files[path] = of_release(decode(path, text or ""), _release(subject))
        except NotTomlError as error:
            place, problem = unreadable(subject, path, error)
            yield diagnose("CP831", place, path=place.path, problem=problem)
        except RefusedError:
            continue  # CP847 of the next step
    return files


def _release(subject: Subject) -> versions.Version:
    return versions.kubernetes_version(subject.plan.node_class.target) or LATEST


def traps(subject: Subject) -> Iterator[Diagnostic]:
    """What CRI-O refuses, leaves out or passes over in its files, and what will bite."""
    if subject.plan.node_class.target.runtime != crio.NAME:
        return
    if subject.root.files(DROP_INS) and crio_files.are_readable(subject.root):
        yield from crio_files.findings(subject.root, crio_files.FOLDER, _release(subject))
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
