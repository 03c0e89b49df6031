"""containerd's configuration: config.toml and all that it imports, merged as its release does."""

from collections.abc import Iterable, Iterator, Mapping

from cpuplan.check.processes import Program, command
from cpuplan.check.runtimes.containerd_files import Files, of_loaded
from cpuplan.check.subject import Subject, line_of, shown, unreadable
from cpuplan.components import containerd, derived
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.plan.expected.evidence import Answer
from cpuplan.plan.setting import Setting
from cpuplan.upstream.containerd.config import Loaded, RefusedError, load

PROGRAM = Program("containerd", "containerd.service", "containerd")
_MAIN = "/etc/containerd/config.toml"
_FACT, _FILES = "containerd configuration", "containerd files"


def main(subject: Subject) -> str:
    """The configuration file: that of the command line (-c, --config), or the usual one."""
    start = command(subject, PROGRAM)
    words = list(reversed(start.words)) if start else []
    path = _MAIN
    while words:
        name, equals, value = words.pop().partition("=")
        if name.lstrip("-") in ("c", "config") and name.startswith("-"):
            if equals:
                path = value
            elif words:
                path = words.pop()
    return path


def loaded(subject: Subject) -> Loaded | None:
    """What containerd makes of its files; None where it does not start with them."""
    release = subject.expected.release.containerd
    if release is None or subject.root.read(main(subject).lstrip("/")) is None:
        return None
    files = _files(subject)
    try:
        return load(main(subject), release, files.read, files.names)
    except RefusedError:
        return None


def paths(subject: Subject) -> Iterable[str]:
    """The files that are read, below the root; none where they cannot be."""
    taken = loaded(subject)
    return tuple(path.lstrip("/") for path in taken.files) if taken else ()


def configuration(subject: Subject) -> Iterator[Answer]:
    """Every planned key has its value after the last file that gives it."""
    release = subject.expected.release.containerd
    if release is None:
        return
    first, settings = main(subject), subject.expected.settings.of(containerd.NAME)
    if subject.root.read(first.lstrip("/")) is None:
        yield from _without_main(subject, first, settings)
        return
    files = _files(subject)
    try:
        taken = load(first, release, files.read, files.names)
    except RefusedError as error:
        place, problem = unreadable(subject, error.path.lstrip("/"), error)
        finding = diagnose("CP844", place, path=place.path, problem=problem)
        yield subject.answered(_FACT, finding, observed=problem)
        yield from subject.unknown(settings, "containerd does not start with its files")
        return
    yield from _keys(subject, first, taken)


def _without_main(subject: Subject, first: str, settings: Iterable[Setting]) -> Iterator[Answer]:
    if subject.root.refused or not subject.root.covers(first.lstrip("/")):
        yield from subject.unknown(settings, f"{first} is not part of this copy")
        return
    place = subject.place(containerd.DROP_IN.lstrip("/"))
    problem = f"there is no {first} that imports it"
    labels = subject.all_labels(settings)
    finding = diagnose("CP843", place, labels=labels, problem=problem)
    for setting in settings:
        yield subject.answered(setting, finding, observed="not set", expected=shown(setting.value))


def _keys(subject: Subject, first: str, taken: Loaded) -> Iterator[Answer]:
    """Held, or CP843, CP845, CP846: the drop-in is not read, no file or another gives a value."""
    values, last = containerd.flat(taken.tables), _last(taken)
    settings = subject.expected.settings.of(containerd.NAME)
    missing = [setting for setting in settings if setting.key not in values]
    unread = _unread(subject, first, taken, settings)
    text = "; ".join(f"{setting.key}: {shown(setting.value)}" for setting in missing)
    labels = subject.all_labels(missing)
    lacks = diagnose("CP845", subject.place(first.lstrip("/")), labels=labels, settings=text)
    for setting in settings:
        wanted = shown(setting.value)
        if setting in missing:
            finding = unread or lacks
            yield subject.answered(setting, finding, observed="not set", expected=wanted)
        elif values[setting.key] == setting.value:
            yield subject.held(setting, last.get(setting.key, first.lstrip("/")))
        elif unread:
            observed = shown(values[setting.key])
            yield subject.answered(setting, unread, observed=observed, expected=wanted)
        else:
            observed = shown(values[setting.key])
            place = line_of(subject, last.get(setting.key, first.lstrip("/")), setting.key)
            yield subject.differs(setting, "CP846", place, observed=observed)


def _last(taken: Loaded) -> Mapping[str, str]:
    """The last file that gives each key, below the root."""
    last: dict[str, str] = {}
    for path, tables in taken.files.items():
        last |= dict.fromkeys(containerd.flat(tables), path.lstrip("/"))
    return last


def _unread(
    subject: Subject, first: str, taken: Loaded, settings: Iterable[Setting]
) -> Diagnostic | None:
    """CP843; a drop-in that is missing is a matter of CP845 alone."""
    own = containerd.DROP_IN
    if own in taken.files or not subject.root.is_file(own.lstrip("/")):
        return None
    place, labels = subject.place(first.lstrip("/")), subject.all_labels(settings)
    return diagnose("CP843", place, labels=labels, problem=f"no imports of {first} name it")


def traps(subject: Subject) -> Iterator[Answer]:
    """What containerd loses, leaves out or passes over in its files, and what will bite."""
    release = subject.expected.release.containerd
    if release is None:
        return
    first, files = main(subject), _files(subject)
    if subject.root.read(first.lstrip("/")) is None:
        yield subject.unverifiable(_FILES, first.lstrip("/"), "there is no such file here")
        return
    driver = str(subject.expected.facts[derived.CGROUP_DRIVER])
    taken = loaded(subject)
    if taken is None:  # CP844 of the step before
        yield subject.unverifiable(_FILES, first.lstrip("/"), "containerd does not take its files")
        return
    others = files._replace(names=lambda folder: _others(files.names(folder)))
    findings = list(of_loaded(others, taken, release, driver))
    for finding in findings:
        yield subject.answered(_FILES, finding)
    if not findings:
        yield subject.held(_FILES, first.lstrip("/"))


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
