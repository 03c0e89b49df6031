"""TuneD: the profile in force, whether TuneD runs, and what it says itself."""

from collections.abc import Iterable, Iterator

from cpuplan.check.interrupts.seen import named
from cpuplan.check.services import programs, tunedlog
from cpuplan.check.services.unitlines import lines
from cpuplan.check.subject import Subject
from cpuplan.check.values import shown
from cpuplan.components import derived
from cpuplan.components.host import tuned
from cpuplan.diagnostics.source import Position
from cpuplan.plan.expected.answer import Answer, Heals

#: Of TuneD of the host, and of TuneD in a container of the node tuning operator, which keeps what
#: it has there too.
ACTIVE = ("etc/tuned/active_profile", "var/lib/ocp-tuned/active_profile")
#: Folders of the profiles that the operator writes, by its release.
_PROFILES = ("var/lib/ocp-tuned/profiles", "etc/tuned", "etc/tuned/profiles")
_LOGS = ("var/log/tuned/tuned.log", "sos_commands/tuned/tuned.log")
#: Outputs of `tuned-adm verify`.
_VERDICTS = ("cpuplan/tuned-adm-verify", "sos_commands/tuned/tuned-adm_verify")
_MAIN = "etc/tuned/tuned-main.conf"
_CGROUP = "sys/fs/cgroup/system.slice/tuned.service/cgroup.procs"
_PROGRAMS = ("tuned", "openshift-tuned")
_VERDICT, _DAEMON = "verdict of TuneD", "TuneD"


def wanted(subject: Subject) -> str:
    """The name of the profile; "" where there is none."""
    value = subject.expected.facts.get(derived.TUNED_PROFILE, "")
    return value if isinstance(value, str) else ""


def active(subject: Subject) -> Iterator[Answer]:
    """CP874: another profile than the compiled one is in force."""
    profile = wanted(subject)
    if not profile:
        return
    settings = subject.expected.settings.of(tuned.NAME)
    found = next((path for path in ACTIVE if subject.root.read(path) is not None), "")
    if not found and subject.expected.platform.has_pools:
        reason = "TuneD runs in a container, and its files are not here"
        yield subject.unshown("profile of TuneD", ACTIVE[0], reason)
        return
    if not found and subject.root.refused:
        return
    name = (subject.root.read(found) or "").strip() if found else ""
    if name == profile:
        yield subject.held("profile of TuneD", found)
        return
    yield subject.differs(
        "profile of TuneD",
        "CP874",
        found or ACTIVE[0],
        observed=name or "none",
        expected=profile,
        labels=subject.labels(settings[0].reasons),
        heals=Heals.RESTART,
        active=name or "none",
    )


def installed(subject: Subject) -> Iterator[Answer]:
    """CP871: the operator's copy of the profile has other options than the compiled one.

    Without an operator, the profile is one of the compiled files.
    """
    profile = wanted(subject)
    if not profile or not subject.expected.platform.has_pools:
        return
    fact = "options of the profile of TuneD"
    path, text = _first(subject, [f"{folder}/{profile}/tuned.conf" for folder in _PROFILES])
    if not path:
        reason = "TuneD runs in a container, and its files are not here"
        yield subject.unverifiable(fact, f"{_PROFILES[0]}/{profile}/tuned.conf", reason)
        return
    found = tuned.parse(text)
    settings = subject.expected.settings.of(tuned.NAME)
    others = [each for each in settings if found.get(each.key) != each.value]
    if not others:
        yield subject.held(fact, path)
        return
    options = named(f"{each.key}={shown(each.value)}" for each in others)
    first = others[0].key.partition(".")[2]
    at = next((line.number for line in lines(text, path) if line.key == first), 1)
    yield subject.differs(
        fact,
        "CP871",
        Position(subject.root.shown(path), at, 1),
        observed=named(f"{each.key}={shown(found.get(each.key, ''))}" for each in others),
        expected=options,
        labels=subject.labels(others[0].reasons),
        heals=Heals.RESTART,
        path=f"/{path}",
        problem=f"these options should be: {options}",
    )


def runs(subject: Subject) -> Iterator[Answer]:
    """CP898: TuneD does not run, so that what it sets is lost with the next change of a device."""
    if not wanted(subject):
        return
    known = programs.of(subject)
    main = lines(subject.root.read(_MAIN) or "", _MAIN)
    if any(line.key == "daemon" and line.value in ("0", "false", "no") for line in main):
        yield subject.held(_DAEMON, _MAIN)
    elif any(name in known for name in _PROGRAMS) or subject.root.read(_CGROUP):
        yield subject.held(_DAEMON, "proc")
    elif programs.are_known(subject):
        yield _problem(subject, _DAEMON, "proc", "it does not run")
    else:
        yield subject.unverifiable(_DAEMON, "proc", "the processes of the node are not shown here")


def verdict(subject: Subject) -> Iterator[Answer]:
    """CP898: TuneD could not load a plugin, or found other values when it verified its profile."""
    if not wanted(subject):
        return
    log_path, log_text = _first(subject, _LOGS)
    path, text = _first(subject, _VERDICTS)
    log = tunedlog.log(log_text)
    said = tunedlog.verdict(text)
    if log.refused:
        yield _problem(subject, _VERDICT, log_path, f"no profile is loaded: {log.refused}")
    elif log.lost:
        names = named(log.lost)
        yield _problem(subject, _VERDICT, log_path, f"it could not load its plugins: {names}")
    elif said is False or (said is None and log.failed):
        details = f": {named(log.failed)}" if log.failed else ""
        problem = f"verification of its profile failed{details}"
        yield _problem(subject, _VERDICT, path or log_path, problem)
    elif said:
        yield subject.held(_VERDICT, path)
    else:
        reason = "there is no output of tuned-adm verify here"
        # TuneD tells it to who asks; of what went wrong its log has a line.
        is_told = subject.root.is_running and bool(log_text)
        tell = subject.unshown if is_told else subject.unverifiable
        yield tell(_VERDICT, path or log_path, reason)


def _first(subject: Subject, paths: Iterable[str]) -> tuple[str, str]:
    """The first file that is there, and its text."""
    for path in paths:
        text = subject.root.read(path)
        if text is not None:
            return path, text
    return "", ""


def _problem(subject: Subject, fact: str, path: str, problem: str) -> Answer:
    settings = subject.expected.settings.of(tuned.NAME)
    return subject.differs(
        fact,
        "CP898",
        path,
        observed=problem,
        expected="the profile holds",
        labels=subject.labels(settings[0].reasons),
        heals=Heals.RESTART,
        problem=problem,
    )
