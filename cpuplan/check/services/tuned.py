"""TuneD: the profile in force, what its options do, whether it runs, and what it says itself."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from cpuplan.base import nodetext
from cpuplan.base.cpuset import CpuSet, cpus_text
from cpuplan.check.interrupts.irqs import named
from cpuplan.check.services.systemd_units import unit_lines
from cpuplan.check.services.units import unit_files
from cpuplan.check.subject import Subject, shown
from cpuplan.check.threads import tasks
from cpuplan.check.threads.tasks import threads
from cpuplan.components import derived
from cpuplan.components.host import tuned
from cpuplan.diagnostics.source import Position
from cpuplan.plan.expected.evidence import Answer
from cpuplan.plan.setting import Setting

#: The beginnings of the sentence of `tuned-adm verify` (tuned/admin/admin.py).
_SUCCEEDED, _FAILED = "Verification succeeded", "Verification failed"
_LOADING = "tuned.profiles.loader: loading profile"
_VERIFYING = "verifying profile"
_LINE = re.compile(r"\S+ \S+ (?P<level>[A-Z]+) +(?P<logger>tuned\S*): (?P<text>.*)\Z")
#: tuned/consts.py: STR_VERIFY_PROFILE_FAIL and its kin.
_DIFFERS = "verify: failed: "
_NO_PROFILE = ("Cannot load profile", "Cannot find profile", "Cannot set initial profile")
_NO_PLUGIN = "failed to initialize plugin "


class Log(NamedTuple):
    """What the log says of the profile that was loaded last."""

    profile: str
    #: Plugins that could not be loaded, so that none of their options holds.
    lost: tuple[str, ...]
    #: What the last verification found: `'x' = '1', expected '2'`.
    failed: tuple[str, ...]
    #: Why no profile could be loaded; "" if one was.
    refused: str = ""


def verified(text: str) -> bool | None:
    """Whether `tuned-adm verify` succeeded; None for what is not its output."""
    if _SUCCEEDED in text:
        return True
    return False if _FAILED in text else None


def log_since_load(text: str) -> Log:
    """The log since the last profile was loaded, or since the log was begun."""
    profile = refused = ""
    lost: list[str] = []
    failed: list[str] = []
    for line in nodetext.lines(text):
        match = _LINE.match(line)
        if match is None:
            continue
        said = match["text"]
        if _LOADING in line:
            profile, refused = said.rpartition(": ")[2].strip(), ""
            lost, failed = [], []
        elif said.startswith(_VERIFYING):
            failed = []
        elif said.startswith(_NO_PLUGIN) and match["level"] == "ERROR":
            lost.append(said.removeprefix(_NO_PLUGIN).strip())
        elif match["level"] == "ERROR" and any(text in said for text in _NO_PROFILE):
            refused = said
        elif said.startswith(_DIFFERS):
            failed.append(said.removeprefix(_DIFFERS).strip())
    return Log(profile, tuple(dict.fromkeys(lost)), tuple(dict.fromkeys(failed)), refused)


_SYSTEM = "sys/devices/system/cpu"
#: Options that are a file of each CPU: its path, and the words for a value where it is a number.
_PER_CPU = {
    "cpu.governor": ("cpufreq/scaling_governor", {}),
    "cpu.energy_perf_bias": ("power/energy_perf_bias", {"performance": "0"}),
}
_FREQUENCY = f"sysfs./{_SYSTEM}/cpufreq/policy"
_FREQUENCY_FILE = "cpufreq/scaling_max_freq"
_GROUP, _SERVICE = "scheduler.group.", "service.service."
#: TuneD's letters (plugin_scheduler) as the kernel's numbers of policies (sched.h).
_POLICIES = {"o": 0, "f": 1, "r": 2, "b": 3, "i": 5}


def options(subject: Subject) -> Iterator[Answer]:
    """CP8208 to CP8210 for options that are not in force."""
    frequencies = []
    for setting in subject.expected.settings.of(tuned.NAME):
        if setting.key in _PER_CPU:
            file, numbers = _PER_CPU[setting.key]
            value = str(setting.value)
            wanted = {cpu: numbers.get(value, value) for cpu in _online(subject)}
            yield _per_cpu(subject, setting, file, wanted, value)
        elif setting.key.startswith(_GROUP):
            yield _threads(subject, setting)
        elif setting.key.startswith(_SERVICE):
            yield _service(subject, setting)
        elif setting.key.startswith(_FREQUENCY):
            frequencies.append(setting)
    for value in sorted({str(setting.value) for setting in frequencies}):
        yield from _frequencies(
            subject, [frequency for frequency in frequencies if frequency.value == value]
        )


def _online(subject: Subject) -> CpuSet:
    return subject.expected.cpus(derived.ONLINE)


def _per_cpu(
    subject: Subject, setting: Setting, file: str, wanted: dict[int, str], value: str
) -> Answer:
    """One answer for the files of all CPUs."""
    cpus_of_value: dict[str, list[int]] = {}
    for cpu in wanted:
        text = subject.root.read(f"{_SYSTEM}/cpu{cpu}/{file}")
        if text is not None:
            cpus_of_value.setdefault(text.strip(), []).append(cpu)
    path = f"{_SYSTEM}/cpu{min(wanted, default=0)}/{file}"
    if not cpus_of_value:
        return subject.unverifiable(setting, path, f"no CPU has a file {file} here")
    others = {text: cpus for text, cpus in cpus_of_value.items() if text != wanted[cpus[0]]}
    if not others:
        return subject.held(setting, path)
    observed = named(f"{text} on {cpus_text(CpuSet(cpus))}" for text, cpus in others.items())
    return subject.differs(setting, "CP8208", path, observed=observed, expected=value)


def _frequencies(subject: Subject, settings: Sequence[Setting]) -> Iterator[Answer]:
    """The settings of all CPUs with one limit, of which the first stands for the finding."""
    value = str(settings[0].value)
    by_cpu = {
        int(frequency.key[len(_FREQUENCY) :].partition("/")[0]): frequency for frequency in settings
    }
    answer = _per_cpu(subject, settings[0], _FREQUENCY_FILE, dict.fromkeys(by_cpu, value), value)
    yield answer
    for setting in settings[1:]:
        if answer.finding is None:
            yield answer._replace(fact=f"{setting.component} {setting.key}")


def _threads(subject: Subject, setting: Setting) -> Answer:
    """The policy and priority of the kernel's threads of a name."""
    _rule, letter, priority, _affinity, pattern = str(setting.value).split(":", 4)
    wanted = (_POLICIES.get(letter), int(priority))
    name = re.compile(pattern)
    matching = [task for task in threads(subject).kernel() if name.match(task.name)]
    known = [task for task in matching if task.policy is not None]
    if not known:
        return subject.unverifiable(setting, "proc", f"nothing here shows a thread {pattern}")
    strays = [
        f"policy {task.policy} with priority {task.priority} of {task.name}"
        for task in known
        if (task.policy, task.priority) != wanted
    ]
    if not strays:
        return subject.held(setting, "proc")
    text = f"policy {wanted[0]} with priority {priority}"
    return subject.differs(setting, "CP8209", "proc", observed=named(strays, 2), expected=text)


def _service(subject: Subject, setting: Setting) -> Answer:
    """A service that runs, or a unit that nothing starts."""
    name, actions = setting.key.removeprefix(_SERVICE), str(setting.value).split(",")
    program = name.removesuffix(".service")
    is_running = program in tasks.running_programs(subject)
    if "start" in actions:
        if is_running:
            return subject.held(setting, "proc")
        if not tasks.are_programs_known(subject):
            reason = "the processes of the node are not shown here"
            return subject.unverifiable(setting, "proc", reason)
        return _other(subject, setting, "proc", "not running")
    if is_running:
        return _other(subject, setting, "proc", "running")
    files = unit_files(subject)
    unit = name if "." in name else f"{name}.service"
    starter = next(files.starters(unit), None)
    if starter and not files.mask(unit):
        return _other(subject, setting, starter, "enabled")
    if not files.folders:
        return subject.unverifiable(setting, "etc/systemd/system", "there are no unit files here")
    return subject.held(setting, "etc/systemd/system")


def _other(subject: Subject, setting: Setting, path: str, observed: str) -> Answer:
    return subject.differs(setting, "CP8210", path, observed=observed, expected=str(setting.value))


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
    path_of_name = next((path for path in ACTIVE if subject.root.read(path) is not None), "")
    if not path_of_name and subject.expected.platform.has_pools:
        reason = "TuneD runs in a container, and its files are not here"
        yield subject.unshown("profile of TuneD", ACTIVE[0], reason)
        return
    if not path_of_name and subject.root.refused:
        return
    name = (subject.root.read(path_of_name) or "").strip() if path_of_name else ""
    if name == profile:
        yield subject.held("profile of TuneD", path_of_name)
        return
    yield subject.differs(
        "profile of TuneD",
        "CP874",
        path_of_name or ACTIVE[0],
        observed=name or "none",
        expected=profile,
        labels=subject.labels(settings[0].reasons),
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
    actual = tuned.parse(text)
    settings = subject.expected.settings.of(tuned.NAME)
    others = [setting for setting in settings if actual.get(setting.key) != setting.value]
    if not others:
        yield subject.held(fact, path)
        return
    options = named(f"{setting.key}={shown(setting.value)}" for setting in others)
    first = others[0].key.partition(".")[2]
    at = next((line.number for line in unit_lines(text, path) if line.key == first), 1)
    yield subject.differs(
        fact,
        "CP871",
        Position(subject.root.shown(path), at, 1),
        observed=named(f"{setting.key}={shown(actual.get(setting.key, ''))}" for setting in others),
        expected=options,
        labels=subject.labels(others[0].reasons),
        path=f"/{path}",
        problem=f"these options should be: {options}",
    )


def runs(subject: Subject) -> Iterator[Answer]:
    """CP898: TuneD does not run, so that what it sets is lost with the next change of a device."""
    if not wanted(subject):
        return
    known = tasks.running_programs(subject)
    main = unit_lines(subject.root.read(_MAIN) or "", _MAIN)
    if any(line.key == "daemon" and line.value in ("0", "false", "no") for line in main):
        yield subject.held(_DAEMON, _MAIN)
    elif any(name in known for name in _PROGRAMS) or subject.root.read(_CGROUP):
        yield subject.held(_DAEMON, "proc")
    elif tasks.are_programs_known(subject):
        yield _problem(subject, _DAEMON, "proc", "it does not run")
    else:
        yield subject.unverifiable(_DAEMON, "proc", "the processes of the node are not shown here")


def verdict(subject: Subject) -> Iterator[Answer]:
    """CP898: TuneD could not load a plugin, or found other values when it verified its profile."""
    if not wanted(subject):
        return
    log_path, log_text = _first(subject, _LOGS)
    path, text = _first(subject, _VERDICTS)
    log = log_since_load(log_text)
    said = verified(text)
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
        problem=problem,
    )
