"""containerd's configuration: config.toml and all that it imports, merged as its release does."""

from collections.abc import Iterator

from cpuplan.check.compare import FileValues, compare, unreadable
from cpuplan.check.subject import Subject
from cpuplan.components import containerd
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.runtime.containerd import Loaded, RefusedError, load

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
        loaded = _loaded(subject)
    except RefusedError as error:
        place, problem = unreadable(subject, error.path.lstrip("/"), error)
        yield diagnose("CP844", place, path=place.path, problem=problem)
        return
    if planned and containerd.DROP_IN not in loaded.files:
        problem = f"no imports of {MAIN} name it"
        yield diagnose("CP843", subject.place(MAIN.lstrip("/")), labels=labels, problem=problem)
    values = containerd.flat(loaded.tables)
    files: dict[str, str] = {}
    for path, tables in loaded.files.items():
        files |= dict.fromkeys(containerd.flat(tables), path.lstrip("/"))
    actual = FileValues(values, files)
    yield from compare(subject, containerd.NAME, actual, MAIN.lstrip("/"), ("CP845", "CP846"))


def _loaded(subject: Subject) -> Loaded:
    root = subject.root
    return load(
        MAIN,
        containerd.release(subject.plan.node_class.target),
        lambda path: root.read(path.lstrip("/")),
        lambda folder: root.names(folder.lstrip("/")),
    )
