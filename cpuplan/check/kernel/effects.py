"""What the kernel made of its arguments, where a file or its log shows that."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from cpuplan.base.cpuset import EMPTY, CpuSet, CpuSetError
from cpuplan.base.files import Unreadable
from cpuplan.check.kernel import arguments, tunables
from cpuplan.check.kernel.kernel_log import CMDLINE, log_of_boot
from cpuplan.check.kernel.tunables import kernel_release, read_value
from cpuplan.check.subject import Subject, shown
from cpuplan.components import cmdline, kernel
from cpuplan.components.derived import CALLBACKS
from cpuplan.facts.settings.kernel import CPU_AFFINITY, DEFAULT_HUGEPAGESZ, NOHZ_FULL, RCU_NOCBS
from cpuplan.facts.settings.row import Form
from cpuplan.plan.expected.evidence import Answer
from cpuplan.plan.setting import Evidence, Setting

_UNITS = "sys/class/iommu"
_GROUPS = "sys/kernel/iommu_groups"
#: Devices that are not trusted, or that virtual machines have, keep domains of their own.
_DIRECT = "identity"


class Observed(NamedTuple):
    """What the folders of IOMMUs say of an argument."""

    path: str
    text: str = ""
    wanted: str = ""
    is_wanted: bool = False
    #: Why nothing shows.
    problem: str = ""


def observed_iommu(subject: Subject, setting: Setting) -> Observed:
    """Whether there are IOMMUs, and with `pt` whether devices reach memory past them."""
    units = subject.root.names(_UNITS)
    if not units:
        return Observed(_UNITS, problem="no IOMMU is here")
    if setting.key in ("iommu", "iommu.passthrough"):
        return _direct(subject, setting)
    if setting.value != "on":
        return Observed(_UNITS, problem="nothing shows it")
    return Observed(_UNITS, ", ".join(units[:4]), "IOMMUs in use", True)


def _direct(subject: Subject, setting: Setting) -> Observed:
    """The types of the groups of devices (sysfs-kernel-iommu_groups, since Linux 5.11)."""
    if setting.value not in ("pt", "1"):
        return Observed(_GROUPS, problem="nothing shows it")
    paths = (f"{_GROUPS}/{group}/type" for group in subject.root.names(_GROUPS))
    types = [text.strip() for path in paths if (text := subject.root.read(path))]
    if not types:
        return Observed(_GROUPS, problem="there is no type of a group of devices here")
    listed = ", ".join(sorted(set(types)))
    return Observed(_GROUPS, listed, _DIRECT, _DIRECT in types)


_SYSTEM = "sys/devices/system/cpu"
_ISOLATED, _NOHZ_FULL = f"{_SYSTEM}/isolated", f"{_SYSTEM}/{NOHZ_FULL.key}"
#: A file that every kernel has beside another: without it, a copy lacks its folder.
_BESIDE = {_NOHZ_FULL: f"{_SYSTEM}/isolated", _ISOLATED: f"{_SYSTEM}/online"}
#: Parameters of modules; a copy may have one alone, and not the others.
_MODULES, _FEW = "sys/module/", 4
#: Other steps say what these do: huge pages, and the affinity of services.
_ELSEWHERE = ("hugepagesz", DEFAULT_HUGEPAGESZ.key, CPU_AFFINITY.key)
_NO_VALUE = {
    Form.CPUS: "it holds no list of CPUs",
    Form.MASK: "it holds no mask of CPUs",
    Form.NUMBER: "it holds no number",
}
_UNSHOWN = "only /proc/cmdline shows it"

Step = Callable[[Subject, Setting], Iterator[Answer]]


def effects(subject: Subject) -> Iterator[Answer]:
    """The effect of each argument that the kernel was given as planned."""
    for setting in subject.expected.settings.of(kernel.NAME):
        name = cmdline.canonical(setting.key).partition("=")[0]
        if name in _ELSEWHERE or not arguments.as_planned(subject, setting):
            continue
        shown_by = setting.effect.evidence if setting.effect else ()
        own = _OWN.get(name)
        if own:
            yield from own(subject, setting)
        for evidence in shown_by:
            yield _answer(subject, setting, evidence)
        if not own and not shown_by:
            yield _unknown_or_unshown(subject, setting)
    yield from _unplanned_lists(subject)


def fact(setting: Setting) -> str:
    """The name of an argument's effect."""
    return f"effect of {setting.key}"


def _answer(subject: Subject, setting: Setting, evidence: Evidence) -> Answer:
    about, path = fact(setting), evidence.path
    text = subject.root.read(path)
    if text is None:
        return _missing(subject, setting, evidence)
    wanted = _wanted(evidence)
    try:
        observed = _found(evidence, text)
    except ValueError:
        subject.root.refuse(path, Unreadable(_NO_VALUE[evidence.form]))
        return subject.unverifiable(about, path, _NO_VALUE[evidence.form])
    if observed == evidence.value or (
        isinstance(evidence.value, tuple) and observed in evidence.value
    ):
        return _held(subject, setting, path, shown(observed))
    if path in tunables.sysctl_paths(subject):
        return subject.unverifiable(about, path, "another setting writes it after the boot")
    return _differs(subject, setting, path, shown(observed) or "empty", wanted)


def _found(evidence: Evidence, text: str) -> CpuSet | str:
    value = read_value(evidence.form, text)
    return value if isinstance(value, CpuSet) else str(value)


def _wanted(evidence: Evidence) -> str:
    if isinstance(evidence.value, tuple):
        return shown(evidence.value[0]) or "absent"
    return shown(evidence.value) or "empty"


def _held(subject: Subject, setting: Setting, path: str, text: str) -> Answer:
    return subject.held(fact(setting), path)._replace(expected=text, observed=text)


def _differs(subject: Subject, setting: Setting, path: str, observed: str, wanted: str) -> Answer:
    """CP814, with the kernel's own words where its log has some on such lists."""
    words = ""
    if isinstance(setting.value, CpuSet | tuple) and (log := log_of_boot(subject).log):
        words = "".join(f"; the kernel said: {complaint}" for complaint in log.dropped[:1])
    return subject.differs(
        fact(setting),
        "CP814",
        path,
        observed=observed,
        expected=wanted,
        labels=subject.labels(setting.reasons),
        argument=kernel.argument(setting),
        file=f"/{path}",
        said=words,
    )


def _missing(subject: Subject, setting: Setting, evidence: Evidence) -> Answer:
    """No file. The list of tickless CPUs is there in each kernel that can have any."""
    path, about = evidence.path, fact(setting)
    if _is_lacking(subject, path) and not evidence.since:
        return subject.differs(
            about,
            "CP806",
            path,
            observed="no such file",
            expected=_wanted(evidence),
            labels=subject.labels(setting.reasons),
            path=subject.root.shown(path),
        )
    if isinstance(evidence.value, tuple) and "" in evidence.value:
        if subject.root.is_running and subject.root.covers(path):
            return _held(subject, setting, path, "absent")
        return subject.unverifiable(about, path, "it is absent, as it should be, or was not copied")
    if evidence.since and (running := kernel_release(subject)):
        first = tuple(map(int, evidence.since.split(".")))
        if running < first:
            reason = f"it came with Linux {evidence.since}; the node runs {running[0]}.{running[1]}"
            return subject.unshown(about, path, reason)
    return subject.unverifiable(about, path, "there is no such file here")


def _is_lacking(subject: Subject, path: str) -> bool:
    """Whether the kernel lacks a file, and not the copy: it has others that stand beside it.

    Of other files a kernel that lacks them has nothing that the argument could switch off.
    """
    if subject.root.refused or not subject.root.covers(path):
        return False
    if path in _BESIDE:
        return subject.root.is_file(_BESIDE[path])
    folder = path.rpartition("/")[0]
    return path.startswith(_MODULES) and len(subject.root.names(folder)) >= _FEW


def _unknown_or_unshown(subject: Subject, setting: Setting) -> Answer:
    """An argument that shows nowhere, unless the kernel says that it does not know it.

    What the intent adds may be for programs of the node, which get what the kernel does not know.
    """
    kernel_log = log_of_boot(subject)
    words = kernel.argument(setting).split()
    if kernel_log.log is None or not any(word in kernel_log.log.unknown for word in words):
        return subject.unshown(fact(setting), CMDLINE, _UNSHOWN)
    if any("kernel.extraArguments" in reason.origin for reason in setting.reasons):
        reason = "the kernel does not know it, and passes it on to the programs of the node"
        return subject.unshown(fact(setting), kernel_log.path, reason)
    return subject.differs(
        fact(setting),
        "CP814",
        kernel_log.path,
        observed="unknown to the kernel",
        expected="known",
        labels=subject.labels(setting.reasons),
        argument=kernel.argument(setting),
        file="the argument",
        said="",
    )


def _callbacks(subject: Subject, setting: Setting) -> Iterator[Answer]:
    """The CPUs whose RCU callbacks run elsewhere: the kernel says them once, while it boots."""
    kernel_log, wanted = log_of_boot(subject), subject.expected.cpus(CALLBACKS)
    if kernel_log.log is None:
        # A buffer that is overwritten, and that containers may not read.
        yield subject.unshown(fact(setting), kernel_log.path, kernel_log.problem)
        return
    text = kernel_log.log.callbacks
    cpus = _listed(text or "")
    if cpus == wanted:
        yield _held(subject, setting, kernel_log.path, str(cpus))
    else:
        observed = text or "nothing is said of it"
        yield _differs(subject, setting, kernel_log.path, observed, str(wanted))


def _listed(text: str) -> CpuSet:
    """A list in the kernel's log; empty for a word, and for what is no list."""
    try:
        return CpuSet.parse_kernel(text)
    except CpuSetError:
        return EMPTY


def _unplanned_lists(subject: Subject) -> Iterator[Answer]:
    """CPUs that the kernel isolates though no argument of the plan or of others asks for it.

    Kernels that list isolated partitions too may show those of the plan.
    """
    planned = subject.expected.settings.values(kernel.NAME)
    given = arguments.running_arguments(subject) or {}
    for path, key in ((_ISOLATED, "isolcpus"), (_NOHZ_FULL, NOHZ_FULL.key)):
        of_others = key in given and key not in planned
        if of_others or _shows(subject, path):
            continue
        cpus = _cpus(subject, path)
        extra = cpus - subject.expected.pool("isolated").cpus
        if extra:
            yield subject.differs(
                f"effect of {key}",
                "CP814",
                path,
                observed=str(cpus),
                expected="empty",
                argument="the plan",
                file=f"/{path}",
                said="",
            )


def _cpus(subject: Subject, path: str) -> CpuSet:
    """A list of CPUs; none where there is no file, or none that can be read."""
    text = subject.root.read(path)
    try:
        value = None if text is None else read_value(Form.CPUS, text)
    except ValueError:
        subject.root.refuse(path, Unreadable(_NO_VALUE[Form.CPUS]))
        return EMPTY
    return value if isinstance(value, CpuSet) else EMPTY


def _shows(subject: Subject, path: str) -> bool:
    """Whether a setting of the plan shows in a file."""
    effects = (setting.effect for setting in subject.expected.settings.of(kernel.NAME))
    return any(
        evidence.path == path for effect in effects if effect for evidence in effect.evidence
    )


def _iommu(subject: Subject, setting: Setting) -> Iterator[Answer]:
    iommu = observed_iommu(subject, setting)
    about = fact(setting)
    if iommu.problem:
        yield subject.unverifiable(about, iommu.path, iommu.problem)
    elif iommu.is_wanted:
        yield _held(subject, setting, iommu.path, iommu.text)
    else:
        yield _differs(subject, setting, iommu.path, iommu.text, iommu.wanted)


_OWN: dict[str, Step] = {
    RCU_NOCBS.key: _callbacks,
    "intel_iommu": _iommu,
    "amd_iommu": _iommu,
    "iommu": _iommu,
    "iommu.passthrough": _iommu,
}
