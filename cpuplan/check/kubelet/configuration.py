"""The kubelet's configuration in force, against every planned key of KubeletConfiguration.

In force is what defaults, the file, drop-ins in their order and flags make together.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from cpuplan.check.kubelet.sources import Sources, find_sources, unread_folder
from cpuplan.check.subject import LINK_TO_NOTHING, Subject, line_of, scrubbed, shown
from cpuplan.components import derived, kubelet, mixedcpus
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Position
from cpuplan.facts.settings.kubelet import (
    CPU_MANAGER_OPTIONS,
    RESERVED_CPUS,
    TOPOLOGY_MANAGER_OPTIONS,
)
from cpuplan.facts.versions import Version
from cpuplan.plan.expected.evidence import Answer
from cpuplan.plan.setting import Setting, from_plain
from cpuplan.simulate.files import kubelet_configuration
from cpuplan.simulate.files.kubelet_configuration import NO_FILE, Command, File, Finding
from cpuplan.upstream.kubelet import server
from cpuplan.upstream.kubelet.config.codec import convert, encode, raw_fields
from cpuplan.upstream.kubelet.config.types import of_version
from cpuplan.upstream.kubernetes import quantity
from cpuplan.upstream.kubernetes.bits import parse_cpus
from cpuplan.upstream.kubernetes.errors import KubeletError, PanicError
from cpuplan.upstream.kubernetes.kube_features import LATEST
from cpuplan.upstream.kubernetes.strconv import parse_bool

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
    return subject.once(_CACHE, lambda: _in_force(subject, find_sources(subject)))


def _in_force(subject: Subject, read: Sources) -> InForce:
    root = subject.root
    texts = {path: root.read(path) for path in read.paths}
    missing = [path for path, text in texts.items() if text is None]
    if missing or read.unread:
        return InForce(None, tuple(_missing_file(subject, read, missing)), {})
    given = [File(root.shown(path), text or "") for path, text in texts.items()]
    main, drop_ins = (given[0], given[1:]) if read.main else (NO_FILE, given)
    located = list(_located(subject, read, main, drop_ins))
    if located:
        located = _without_planned(subject, read, main, drop_ins, located)
    diagnostics = tuple(_diagnostic(finding, place, subject, read) for finding, place in located)
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
    return kubelet_configuration.located(
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
    located: list[tuple[Finding, Position | None]],
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
        for finding, place in located
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


def _missing_file(subject: Subject, read: Sources, paths: list[str]) -> Iterator[Diagnostic]:
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
        hint = kubelet_configuration.hint_for(finding.text)
        return diagnose(finding.code, place, where="this node", problem=finding.text, hint=hint)
    begin, cut, _ = finding.text.partition(_WITHOUT_TEXT)
    problem = f"{begin} is missing" if cut else scrubbed(finding.text)
    path = place.path if place else "its command line"
    return diagnose("CP821", place, path=path, problem=problem)


_CPUS = RESERVED_CPUS.key
#: Of thresholds of eviction.
_PERCENTAGE = re.compile(r"[0-9]{1,3}(\.[0-9]{1,9})?%")


def is_same(field: str, actual: Any, wanted: Any) -> bool:
    """Whether decoded values of a field are the same to the kubelet.

    Amounts and switches of maps are texts there, the CPUs a list, and the order of a list of words
    says nothing. A text that is empty is one that nobody sets.
    """
    if actual == wanted or (wanted == "" and actual is None):
        return True
    if field == _CPUS:
        return _cpus(actual) == _cpus(wanted) is not None
    if isinstance(actual, dict) and isinstance(wanted, dict):
        return actual.keys() == wanted.keys() and all(
            is_same(field, actual[key], wanted[key]) for key in actual
        )
    if isinstance(actual, list) and isinstance(wanted, list):
        return _same_items(field, actual, wanted)
    return isinstance(actual, str) and isinstance(wanted, str) and _same_text(actual, wanted)


def _cpus(text: Any) -> int | None:
    try:
        return parse_cpus(text)
    except KubeletError:
        return None


def _same_items(field: str, actual: list[Any], wanted: list[Any]) -> bool:
    """In any order."""
    left = list(wanted)
    for item in actual:
        match = next((other for other in left if is_same(field, item, other)), None)
        if match is None:
            return False
        left.remove(match)
    return not left


def _same_text(actual: str, wanted: str) -> bool:
    if _PERCENTAGE.fullmatch(actual) and _PERCENTAGE.fullmatch(wanted):
        return float(actual[:-1]) == float(wanted[:-1])
    for parse in (quantity.parse, parse_bool):
        try:
            first, second = parse(actual), parse(wanted)
        except KubeletError:
            continue
        if isinstance(first, bool) or isinstance(second, bool):
            return first == second
        return first.nano == second.nano
    return False


def entry_at(config: Mapping[str, Any], path: Iterable[str]) -> Any:
    """What a configuration has at a path; None for nothing."""
    value: Any = config
    for part in path:
        value = value.get(part) if isinstance(value, dict) else None
    return value


_PERIOD = "cpuCFSQuotaPeriod"
#: Fields whose entries all come from the plan: another one changes what pods get.
_WHOLE = (CPU_MANAGER_OPTIONS.head, TOPOLOGY_MANAGER_OPTIONS.head)
_FACT = "kubelet configuration"
_STOPPED = "the kubelet does not start with its files"


class _Differing(NamedTuple):
    """A setting that is not in force, with what is and where it comes from."""

    setting: Setting
    observed: str
    path: str


def configuration(subject: Subject) -> Iterator[Answer]:
    """The files and flags are as the kubelet takes them, and give every planned key its value."""
    read = find_sources(subject)
    settings = subject.expected.settings.of(kubelet.NAME)
    if read.problem:
        place = read.place(subject.root)
        hint = "correct the flag that the text names"
        finding = diagnose("CP829", place, problem=read.problem, hint=hint)
        yield subject.answered(_FACT, finding, observed=read.problem)
        yield from subject.unknown(settings, "the kubelet does not take its command line")
        return
    if not read.paths and not read.command and not read.unread:
        yield from _nothing(subject, settings)
        return
    effective = in_force(subject)
    for finding in effective.findings:
        yield subject.answered(_FACT, finding)
    if effective.config is None:
        reason = "a file of the kubelet cannot be read" if read.unread else _STOPPED
        yield from subject.unknown(settings, reason)
        return
    if not effective.findings:
        yield subject.held(_FACT, _evidence(read))
    yield from _keys(subject, read, effective, effective.config)
    if not effective.findings:
        yield from _others(subject, read, effective, effective.config)
    yield from _period(subject, effective, effective.config)


def _nothing(subject: Subject, settings: Iterable[Setting]) -> Iterator[Answer]:
    """CP820: no file is where a kubelet could have it."""
    own = subject.expected.release.kubelet_drop_in.lstrip("/")
    files = subject.expected.platform.kubelet_files
    if not any(map(subject.root.covers, filter(None, (*files, own)))):
        yield from subject.unknown(settings, "the copy has no file of the kubelet")
        return
    problem = _absent([subject.root.shown(path) for path in (*files[:2], *filter(None, [own]))])
    yield subject.answered(_FACT, diagnose("CP820", problem=problem), observed="none")
    yield from subject.unknown(settings, "no configuration of the kubelet is here")


def _absent(paths: list[str]) -> str:
    """That none of some files exists."""
    *others, last = paths
    return f"neither {', '.join(others)} nor {last} exists" if others else f"{last} does not exist"


def _evidence(read: Sources) -> str:
    """The file that decides: the last one, or the command line without any."""
    if read.paths:
        return read.paths[-1]
    return read.command.path if read.command else ""


def _keys(
    subject: Subject, read: Sources, effective: InForce, config: Mapping[str, Any]
) -> Iterator[Answer]:
    """Held, or CP822 to CP824: no file gives the value, another file or a flag gives another."""
    settings = subject.expected.settings.of(kubelet.NAME)
    wanted = convert(of_version(kubelet.configuration(settings), release(subject)), any_case=False)
    texts = encode(dict(config))
    missing: list[_Differing] = []
    for setting in settings:
        way = _way(setting)
        if is_same(way[0], entry_at(config, way), entry_at(wanted, way)):
            yield subject.held(setting, _given_by(read, effective, way) or _evidence(read))
            continue
        value = (
            shown(from_plain(entry_at(texts, way)))
            if entry_at(texts, way) is not None
            else "not set"
        )
        path = _given_by(read, effective, way)
        differing = _Differing(setting, value, path)
        if _flag(read, way):
            yield _by_flag(subject, read, differing, way)
        elif path:
            yield _by_file(subject, differing)
        else:
            missing.append(differing)
    yield from _missing(subject, read, missing)


def _way(setting: Setting) -> tuple[str, ...]:
    """The field, and its entry."""
    field, dot, key = setting.key.partition(".")
    return (field, key) if dot else (field,)


def _given_by(read: Sources, effective: InForce, way: tuple[str, ...]) -> str:
    """The last file that has the field, and its entry; drop-ins spell it in any case."""
    field, *names = way
    for path in reversed(read.paths):
        fields: Any = effective.fields.get(path, {})
        if path != read.main:
            spelt = (name for name in fields if str(name).lower() == field.lower())
            field = next(spelt, field)
        if entry_at(fields, (field, *names)) is not None:
            return path
    return ""


def _flag(read: Sources, way: tuple[str, ...]) -> str:
    """The flag that sets a field or a part of it."""
    return next(
        (flag for field, flag in read.flags.spelt.items() if field.partition(".")[0] == way[0]), ""
    )


def _by_flag(
    subject: Subject, read: Sources, differing: _Differing, way: tuple[str, ...]
) -> Answer:
    setting, flag, observed = differing.setting, _flag(read, way), differing.observed
    place = read.place(subject.root, flag) or subject.place("")
    return subject.differs(
        setting,
        "CP824",
        place,
        observed=observed,
        program="the kubelet",
        flag=flag,
        hint=_hint(subject, flag),
    )


def _hint(subject: Subject, flag: str) -> str:
    """What to do about a flag; a unit of the platform keeps to a configuration that says it."""
    if subject.expected.platform.owns_kubelet_configuration:
        return "apply the compiled KubeletConfig: the platform's unit takes the value from there"
    return f"take {flag} out of the command line of the kubelet, and restart it"


def _by_file(subject: Subject, differing: _Differing) -> Answer:
    place = line_of(subject, differing.path, differing.setting.key)
    return subject.differs(differing.setting, "CP823", place, observed=differing.observed)


def _missing(subject: Subject, read: Sources, missing: list[_Differing]) -> Iterator[Answer]:
    """CP822, one for all: without the compiled file it is everything."""
    if not missing or subject.root.refused:
        return
    settings = [differing.setting for differing in missing]
    own = subject.expected.release.kubelet_drop_in.lstrip("/")
    if own and own not in read.paths and not subject.root.covers(own):
        yield from subject.unknown(settings, f"the copy has no file where /{own} would be")
        return
    text = "; ".join(f"{setting.key}: {shown(setting.value)}" for setting in settings)
    place = subject.place(_evidence(read))
    labels = subject.all_labels(settings)
    # That the folder is not read is the cause of all that it would give.
    finding = unread_folder(subject) or diagnose("CP822", place, labels=labels, settings=text)
    for differing in missing:
        wanted = shown(differing.setting.value)
        yield subject.answered(
            differing.setting, finding, observed=differing.observed, expected=wanted
        )


def _others(
    subject: Subject, read: Sources, effective: InForce, config: Mapping[str, Any]
) -> Iterator[Answer]:
    """CP823 for what the plan does not have, and what changes the CPUs that pods get."""
    planned = subject.expected.settings.values(kubelet.NAME)
    ways = [(field, name) for field in _WHOLE for name in config.get(field) or {}]
    foreign = (way for way in ways if ".".join(way) not in planned and _is_on(config, way))
    for way in foreign:
        path = _given_by(read, effective, way)
        key, value = ".".join(way), shown(entry_at(config, way))
        place = line_of(subject, path, key) if path else read.place(subject.root)
        wanted = "not set"
        finding = diagnose("CP823", place, key=key, found=value, wanted=wanted)
        yield subject.answered(f"kubelet {key}", finding, observed=value, expected=wanted)


def _is_on(config: Mapping[str, Any], way: tuple[str, ...]) -> bool:
    return not is_same(way[0], entry_at(config, way), "false")


def _period(subject: Subject, effective: InForce, config: Mapping[str, Any]) -> Iterator[Answer]:
    """CP856: containers with shared CPUs are throttled with another period."""
    if not subject.expected.facts.get(derived.MIXED_CPUS):
        return
    given = encode({name: config[name] for name in (_PERIOD, "cpuCFSQuota") if name in config})
    period = mixedcpus.other_period(given)
    if period and subject.expected.facts[derived.CGROUPS] == "v2":
        yield subject.answered(f"kubelet {_PERIOD}", _other_period(subject, effective, period))


def _other_period(subject: Subject, effective: InForce, period: str) -> Diagnostic:
    read = find_sources(subject)
    path = _given_by(read, effective, (_PERIOD,))
    place = line_of(subject, path, _PERIOD) if path else read.place(subject.root)
    return diagnose("CP856", place, period=period)
