"""The configuration in force: defaults, the file, drop-ins in their order, flags."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from cpuplan.check.compare import LINK_TO_NOTHING, scrubbed
from cpuplan.check.kubelet.sources import Sources, sources
from cpuplan.check.subject import Subject
from cpuplan.components import derived, kubelet
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Position
from cpuplan.platforms.versions import Version
from cpuplan.simulate import kubeletfile
from cpuplan.simulate.kubeletfile import NO_FILE, Command, File
from cpuplan.simulate.managers import Finding
from cpuplan.upstream.kubelet import server
from cpuplan.upstream.kubelet.config.codec import raw_fields
from cpuplan.upstream.kubernetes.errors import PanicError
from cpuplan.upstream.kubernetes.kube_features import LATEST

_CACHE = "configuration of the kubelet in force"
#: Codes of files that stop the kubelet while it reads them.
_UNREADABLE = "CP710"
#: Of these and of fields without effect, no planned key is the cause.
_ALWAYS = (_UNREADABLE, "CP709")
_WITHOUT_TEXT = " is missing in "


class InForce(NamedTuple):
    """The effective fields, None where the kubelet stops; what is wrong with its files.

    `fields` are those of each file as they are written, by path.
    """

    config: Mapping[str, Any] | None
    findings: tuple[Diagnostic, ...]
    fields: Mapping[str, Mapping[str, Any]]


def release(subject: Subject) -> Version:
    """That of the kubelet, as the target says."""
    return subject.expected.release.kubernetes or LATEST


def is_v1(subject: Subject) -> bool:
    """Whether nodes have control groups of version 1."""
    return subject.expected.facts.get(derived.CGROUPS) == "v1"


def in_force(subject: Subject) -> InForce:
    """What the kubelet's files and flags come to; worked out once."""
    if _CACHE not in subject.cache:
        subject.cache[_CACHE] = _in_force(subject, sources(subject))
    found: InForce = subject.cache[_CACHE]
    return found


def _in_force(subject: Subject, read: Sources) -> InForce:
    root = subject.root
    texts = {path: root.read(path) for path in read.paths}
    missing = [path for path, text in texts.items() if text is None]
    if missing or read.unread:
        return InForce(None, tuple(_missing(subject, read, missing)), {})
    given = [File(root.shown(path), text or "") for path, text in texts.items()]
    main, drop_ins = (given[0], given[1:]) if read.main else (NO_FILE, given)
    found = list(_located(subject, read, main, drop_ins))
    if found:
        found = _without_planned(subject, read, main, drop_ins, found)
    diagnostics = tuple(_diagnostic(finding, place, subject, read) for finding, place in found)
    fields = {path: raw_fields(text or "") for path, text in texts.items()}
    return InForce(_config(subject, read, main, drop_ins), diagnostics, fields)


def _located(
    subject: Subject,
    read: Sources,
    main: File,
    drop_ins: list[File],
    passed: Collection[str] = (),
) -> Iterator[tuple[Finding, Position | None]]:
    """What the kubelet refuses or drops; flags of the fields `passed` over do not count."""
    flags = {name: value for name, value in read.flags.fields.items() if name not in passed}
    return kubeletfile.located(
        main,
        release(subject),
        drop_ins,
        openshift=subject.expected.platform.forks_kubelet,
        cgroup_v1=is_v1(subject),
        command=Command(flags, read.place(subject.root)),
    )


def _without_planned(
    subject: Subject,
    read: Sources,
    main: File,
    drop_ins: list[File],
    found: list[tuple[Finding, Position | None]],
) -> list[tuple[Finding, Position | None]]:
    """The findings that would be left if all planned keys were in force: their own cause is told.

    What cannot be read, or is dropped, is found in any case.
    """
    settings = subject.expected.settings.of(kubelet.NAME)
    planned = File("", kubelet.render(settings))
    fields = {setting.key.partition(".")[0] for setting in settings}
    left = _located(subject, read, main, [*drop_ins, planned], fields)
    texts = {finding.text for finding, _ in left}
    return [
        (finding, place)
        for finding, place in found
        if finding.code in _ALWAYS or finding.text in texts
    ]


def _config(
    subject: Subject, read: Sources, main: File, drop_ins: list[File]
) -> Mapping[str, Any] | None:
    try:
        loaded = server.load(
            main.text,
            [file.text for file in drop_ins],
            release(subject),
            is_openshift=subject.expected.platform.forks_kubelet,
            cgroup_v1=is_v1(subject),
            flags=read.flags.fields,
        )
    except (server.StageError, PanicError):
        return None
    return loaded.config


def _missing(subject: Subject, read: Sources, paths: list[str]) -> Iterator[Diagnostic]:
    """What cannot be read is told by itself (CP805); what is not there stops the kubelet."""
    for path in paths:
        if subject.root.refused:
            return
        place = subject.place(path)
        if path != read.main:
            yield diagnose("CP821", place, path=place.path, problem=LINK_TO_NOTHING)
        elif subject.root.covers(path):
            shown = subject.root.shown(path)
            problem = f"its command line names {shown}, which does not exist"
            yield diagnose("CP820", read.place(subject.root), problem=problem)


def _diagnostic(
    finding: Finding, place: Position | None, subject: Subject, read: Sources
) -> Diagnostic:
    """The finding in the kubelet's words; of a file that it cannot read, without its content."""
    place = place or read.place(subject.root)
    if finding.code != _UNREADABLE:
        return diagnose(finding.code, place, where="this node", problem=finding.text)
    begin, cut, _ = finding.text.partition(_WITHOUT_TEXT)
    problem = f"{begin} is missing" if cut else scrubbed(finding.text)
    path = place.path if place else "its command line"
    return diagnose("CP821", place, path=path, problem=problem)
