"""What TuneD's options do, where it is one thing for many CPUs, threads or devices.

Options that one file shows have it as evidence (`components/host/tuned.py`).
"""

import re
from collections.abc import Iterator, Sequence

from cpuplan.base.cpuset import CpuSet, cpus_text
from cpuplan.check.interrupts.seen import named
from cpuplan.check.services import programs
from cpuplan.check.services.units import unit_files
from cpuplan.check.subject import Subject
from cpuplan.check.threads.view import threads
from cpuplan.components import derived
from cpuplan.components.host import tuned
from cpuplan.plan.expected.answer import Answer
from cpuplan.plan.setting import Setting

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
        yield from _frequencies(subject, [each for each in frequencies if each.value == value])


def _online(subject: Subject) -> CpuSet:
    return subject.expected.cpus(derived.ONLINE)


def _per_cpu(
    subject: Subject, setting: Setting, file: str, wanted: dict[int, str], value: str
) -> Answer:
    """One answer for the files of all CPUs."""
    found: dict[str, list[int]] = {}
    for cpu in wanted:
        text = subject.root.read(f"{_SYSTEM}/cpu{cpu}/{file}")
        if text is not None:
            found.setdefault(text.strip(), []).append(cpu)
    path = f"{_SYSTEM}/cpu{min(wanted, default=0)}/{file}"
    if not found:
        return subject.unverifiable(setting, path, f"no CPU has a file {file} here")
    others = {text: cpus for text, cpus in found.items() if text != wanted[cpus[0]]}
    if not others:
        return subject.held(setting, path)
    observed = named(f"{text} on {cpus_text(CpuSet(cpus))}" for text, cpus in others.items())
    return subject.differs(
        setting, "CP8208", path, observed=observed, expected=value, key=setting.key
    )


def _frequencies(subject: Subject, settings: Sequence[Setting]) -> Iterator[Answer]:
    """The settings of all CPUs with one limit, of which the first stands for the finding."""
    value = str(settings[0].value)
    by_cpu = {int(each.key[len(_FREQUENCY) :].partition("/")[0]): each for each in settings}
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
    found = [task for task in threads(subject).kernel() if name.match(task.name)]
    known = [task for task in found if task.policy is not None]
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
    return subject.differs(
        setting, "CP8209", "proc", observed=named(strays, 2), expected=text, key=setting.key
    )


def _service(subject: Subject, setting: Setting) -> Answer:
    """A service that runs, or a unit that nothing starts."""
    name, actions = setting.key.removeprefix(_SERVICE), str(setting.value).split(",")
    program = name.removesuffix(".service")
    is_running = program in programs.of(subject)
    if "start" in actions:
        if is_running:
            return subject.held(setting, "proc")
        if not programs.are_known(subject):
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
    return subject.differs(
        setting, "CP8210", path, observed=observed, expected=str(setting.value), key=setting.key
    )
