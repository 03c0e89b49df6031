"""Every planned key of KubeletConfiguration against the configuration in force."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from cpuplan.check.compare import line_of
from cpuplan.check.kubelet.folder import unread_folder
from cpuplan.check.kubelet.inforce import InForce, in_force, release
from cpuplan.check.kubelet.sources import PLACES, Sources, sources
from cpuplan.check.kubelet.values import entry, same
from cpuplan.check.subject import Subject
from cpuplan.check.values import shown
from cpuplan.components import derived, kubelet, mixedcpus
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.plan.expected.answer import Answer
from cpuplan.plan.setting import Setting, from_plain
from cpuplan.upstream.kubelet.config.codec import convert, encode
from cpuplan.upstream.kubelet.config.types import of_version

_PERIOD = "cpuCFSQuotaPeriod"
#: Fields whose entries all come from the plan: another one changes what pods get.
_WHOLE = ("cpuManagerPolicyOptions", "topologyManagerPolicyOptions")
_FACT = "kubelet configuration"
_STOPPED = "the kubelet does not start with its files"


class _Differing(NamedTuple):
    """A setting that is not in force, with what is and where it comes from."""

    setting: Setting
    found: str
    path: str


def configuration(subject: Subject) -> Iterator[Answer]:
    """The files and flags are as the kubelet takes them, and give every planned key its value."""
    read = sources(subject)
    settings = subject.expected.settings.of(kubelet.NAME)
    if read.problem:
        place = read.place(subject.root)
        finding = diagnose("CP829", place, problem=read.problem)
        yield subject.answered(_FACT, finding, observed=read.problem)
        yield from _unknown(subject, settings, "the kubelet does not take its command line")
        return
    if not read.paths and not read.command and not read.unread:
        yield from _nothing(subject, settings)
        return
    found = in_force(subject)
    for finding in found.findings:
        yield subject.answered(_FACT, finding)
    if found.config is None:
        reason = "a file of the kubelet cannot be read" if read.unread else _STOPPED
        yield from _unknown(subject, settings, reason)
        return
    if not found.findings:
        yield subject.held(_FACT, _evidence(read))
    yield from _keys(subject, read, found, found.config)
    if not found.findings:
        yield from _others(subject, read, found, found.config)
    yield from _period(subject, found, found.config)


def _nothing(subject: Subject, settings: Iterable[Setting]) -> Iterator[Answer]:
    """CP820: no file is where a kubelet could have it."""
    own = subject.expected.release.kubelet_drop_in.lstrip("/")
    if not any(map(subject.root.covers, filter(None, (*PLACES, own)))):
        yield from _unknown(subject, settings, "the copy has no file of the kubelet")
        return
    first, second = map(subject.root.shown, PLACES[:2])
    problem = f"neither {first} nor {second} exists, nor a drop-in"
    yield subject.answered(_FACT, diagnose("CP820", problem=problem), observed="none")
    yield from _unknown(subject, settings, "no configuration of the kubelet is here")


def _unknown(subject: Subject, settings: Iterable[Setting], reason: str) -> Iterator[Answer]:
    for setting in settings:
        yield subject.unverifiable(setting, "", reason)


def _evidence(read: Sources) -> str:
    """The file that decides: the last one, or the command line without any."""
    if read.paths:
        return read.paths[-1]
    return read.command.path if read.command else ""


def _keys(
    subject: Subject, read: Sources, found: InForce, config: Mapping[str, Any]
) -> Iterator[Answer]:
    """Held, or CP822 to CP824: no file gives the value, another file or a flag gives another."""
    settings = subject.expected.settings.of(kubelet.NAME)
    wanted = convert(of_version(kubelet.configuration(settings), release(subject)), any_case=False)
    texts = encode(dict(config))
    missing: list[_Differing] = []
    for setting in settings:
        way = _way(setting)
        if same(way[0], entry(config, way), entry(wanted, way)):
            yield subject.held(setting, _given_by(read, found, way) or _evidence(read))
            continue
        value = shown(from_plain(entry(texts, way))) if entry(texts, way) is not None else "not set"
        path = _given_by(read, found, way)
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


def _given_by(read: Sources, found: InForce, way: tuple[str, ...]) -> str:
    """The last file that has the field, and its entry; drop-ins spell it in any case."""
    field, *names = way
    for path in reversed(read.paths):
        fields: Any = found.fields.get(path, {})
        if path != read.main:
            spelt = (name for name in fields if str(name).lower() == field.lower())
            field = next(spelt, field)
        if entry(fields, (field, *names)) is not None:
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
    setting, flag = differing.setting, _flag(read, way)
    place = read.place(subject.root, flag) or subject.place("")
    return subject.differs(
        setting,
        "CP824",
        place,
        observed=differing.found,
        expected=shown(setting.value),
        key=setting.key,
        program="the kubelet",
        flag=flag,
    )


def _by_file(subject: Subject, differing: _Differing) -> Answer:
    setting = differing.setting
    place = line_of(subject, differing.path, setting.key)
    wanted = shown(setting.value)
    return subject.differs(
        setting, "CP823", place, observed=differing.found, expected=wanted, key=setting.key
    )


def _missing(subject: Subject, read: Sources, missing: list[_Differing]) -> Iterator[Answer]:
    """CP822, one for all: without the compiled file it is everything."""
    if not missing or subject.root.refused:
        return
    settings = [each.setting for each in missing]
    own = subject.expected.release.kubelet_drop_in.lstrip("/")
    if own and own not in read.paths and not subject.root.covers(own):
        yield from _unknown(subject, settings, f"the copy has no file where /{own} would be")
        return
    text = "; ".join(f"{setting.key}: {shown(setting.value)}" for setting in settings)
    place = subject.place(_evidence(read))
    labels = subject.all_labels(settings)
    # That the folder is not read is the cause of all that it would give.
    finding = unread_folder(subject) or diagnose("CP822", place, labels=labels, settings=text)
    for each in missing:
        wanted = shown(each.setting.value)
        yield subject.answered(each.setting, finding, observed=each.found, expected=wanted)


def _others(
    subject: Subject, read: Sources, found: InForce, config: Mapping[str, Any]
) -> Iterator[Answer]:
    """CP823 for what the plan does not have, and what changes the CPUs that pods get."""
    planned = subject.expected.settings.values(kubelet.NAME)
    ways = [(field, name) for field in _WHOLE for name in config.get(field) or {}]
    foreign = (way for way in ways if ".".join(way) not in planned and _is_on(config, way))
    for way in foreign:
        path = _given_by(read, found, way)
        key, value = ".".join(way), shown(entry(config, way))
        place = line_of(subject, path, key) if path else read.place(subject.root)
        wanted = "not set"
        finding = diagnose("CP823", place, key=key, found=value, wanted=wanted)
        yield subject.answered(f"kubelet {key}", finding, observed=value, expected=wanted)


def _is_on(config: Mapping[str, Any], way: tuple[str, ...]) -> bool:
    return not same(way[0], entry(config, way), "false")


def _period(subject: Subject, found: InForce, config: Mapping[str, Any]) -> Iterator[Answer]:
    """CP856: containers with shared CPUs are throttled with another period."""
    if not subject.expected.facts.get(derived.MIXED_CPUS):
        return
    given = encode({name: config[name] for name in (_PERIOD, "cpuCFSQuota") if name in config})
    period = mixedcpus.other_period(given)
    if period and subject.expected.facts[derived.CGROUPS] == "v2":
        yield subject.answered(f"kubelet {_PERIOD}", _other_period(subject, found, period))


def _other_period(subject: Subject, found: InForce, period: str) -> Diagnostic:
    read = sources(subject)
    path = _given_by(read, found, (_PERIOD,))
    place = line_of(subject, path, _PERIOD) if path else read.place(subject.root)
    return diagnose("CP856", place, period=period)
