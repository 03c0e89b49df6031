"""containerd's configuration: config.toml and all that it imports, merged as its release does."""

from collections.abc import Iterator
from contextlib import suppress

from cpuplan.check.compare import FileValues, compare, unreadable
from cpuplan.check.containerd_files import Files, of_loaded
from cpuplan.check.subject import Subject
from cpuplan.components import containerd
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.runtime.containerd.reading import RefusedError, load

MAIN = "/etc/containerd/config.toml"


def configuration(subject: Subject) -> Iterator[Diagnostic]:
    """Every planned key has its value after the last file that gives it."""
    target = subject.plan.node_class.target
    if target.runtime != containerd.NAME:
        return
    planned = subject.plan.settings.of(containerd.NAME)
    labels = subject.all_labels(planned)
    if subject.root.read(MAIN.lstrip("/")) is None:
        if planned and not subject.root.refused:
            problem = f"there is no {MAIN} that imports it"
            place = subject.place(containerd.DROP_IN.lstrip("/"))
            yield diagnose("CP843", place, labels=labels, problem=problem)
        return
    try:
        files, release = _files(subject), containerd.release(target)
        loaded = load(MAIN, release, files.read, files.names)
    except RefusedError as error:
        place, problem = unreadable(subject, error.path.lstrip("/"), error)
        yield diagnose("CP844", place, path=place.path, problem=problem)
        return
    is_there = subject.root.is_file(containerd.DROP_IN.lstrip("/"))
    # A file that is missing is a matter of CP845 alone.
    if planned and is_there and containerd.DROP_IN not in loaded.files:
        problem = f"no imports of {MAIN} name it"
        yield diagnose("CP843", subject.place(MAIN.lstrip("/")), labels=labels, problem=problem)
    values = containerd.flat(loaded.tables)
    last: dict[str, str] = {}
    for path, tables in loaded.files.items():
        last |= dict.fromkeys(containerd.flat(tables), path.lstrip("/"))
    actual = FileValues(values, last)
    yield from compare(subject, containerd.NAME, actual, MAIN.lstrip("/"), ("CP845", "CP846"))


def traps(subject: Subject) -> Iterator[Diagnostic]:
    """What containerd loses, leaves out or passes over in its files, and what will bite."""
    if subject.plan.node_class.target.runtime != containerd.NAME:
        return
    if subject.root.read(MAIN.lstrip("/")) is None:
        return
    files, release = _files(subject), containerd.release(subject.plan.node_class.target)
    driver = subject.plan.spec.kubelet.configuration.get("cgroupDriver", "systemd")
    with suppress(RefusedError):  # CP844 of the step before
        loaded = load(MAIN, release, files.read, files.names)
        others = files._replace(names=lambda folder: _others(files.names(folder)))
        yield from of_loaded(others, loaded, release, str(driver))


def _others(names: list[str]) -> list[str]:
    """Names of files without the compiled one, of which CP843 says whether it is imported."""
    return [name for name in names if name != containerd.DROP_IN.rpartition("/")[2]]


def _files(subject: Subject) -> Files:
    root = subject.root
    return Files(
        lambda path: root.read(path.lstrip("/")),
        lambda folder: root.names(folder.lstrip("/")),
        lambda path: root.shown(path.lstrip("/")),
    )
