"""Boot arguments of the running kernel, and those that the boot loader gives the next one."""

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from cpuplan.base import nodetext
from cpuplan.base.cpuset import EMPTY, CpuSet
from cpuplan.base.files import Unreadable
from cpuplan.base.text import joined
from cpuplan.check.kernel.kernel_log import CMDLINE
from cpuplan.check.subject import Subject, name
from cpuplan.components import cmdline, kernel
from cpuplan.components.cmdline import Occurrence, canonical, effective, lists, same
from cpuplan.components.derived import (
    CGROUPS,
    CPU_VENDOR,
    HUGE_PAGES,
    ISOLATED,
    MODEL_NUMBER,
    ONLINE,
)
from cpuplan.components.host import systemd
from cpuplan.components.openshift import machineconfig
from cpuplan.diagnostics import Severity
from cpuplan.diagnostics.source import Position
from cpuplan.plan.expected.evidence import NEXT_BOOT, Answer
from cpuplan.plan.setting import Setting
from cpuplan.upstream.linux import hugetlb, loaders
from cpuplan.upstream.linux.kernel_parameters import Cpu, Needs, undoing
from cpuplan.upstream.linux.loaders import Entry, in_order, is_rescue

_FACT = NEXT_BOOT
_UNREAD = "files of the next boot that cannot be read"
_ENTRIES = ("boot/loader/entries", "efi/loader/entries", "boot/efi/loader/entries")
_MENUS = ("boot/grub2/grub.cfg", "boot/grub/grub.cfg")
_BLOCKS = ("boot/grub2/grubenv", "boot/grub/grubenv", "boot/efi/EFI/redhat/grubenv")
_CONFS = ("boot/loader/loader.conf", "efi/loader/loader.conf", "boot/efi/loader/loader.conf")
_DEFAULTS, _FOLDER = "etc/default/grub", "etc/default/grub.d"
#: What a plan's delivery adds.
_DROP_IN = "etc/default/grub.d/50-cpuplan.cfg"
#: What kernel-install gives the entries that it writes.
_CMDLINE = "etc/kernel/cmdline"


class Source(NamedTuple):
    """A file with the arguments of the next boot, and the line in it, from 1."""

    path: str
    line: int
    arguments: str


class Lacking(NamedTuple):
    """The planned arguments that a source does not have, or has with another value."""

    source: Source
    settings: tuple[Setting, ...]


def next_boot(subject: Subject) -> Iterator[Answer]:
    """The default entry of the boot menu has every planned argument, if the running kernel has."""
    if not subject.expected.settings.of(kernel.NAME):
        return
    lack = lacking_at_boot(subject)
    if subject.cache[_UNREAD]:
        reason = "not every file of the boot loader can be read"
        yield subject.unread(_FACT, subject.cache[_UNREAD], reason)
        return
    if lack is None:
        yield subject.unverifiable(_FACT, "boot", "no file of a boot loader is here")
        return
    if not lack.settings:
        yield subject.held(_FACT, lack.source.path)
        return
    wanted = " ".join(map(kernel.argument, lack.settings))
    yield subject.differs(
        _FACT,
        "CP816",
        Position(subject.root.shown(lack.source.path), lack.source.line, 1),
        observed=_found(lack) or "nothing of these",
        expected=wanted,
        labels=subject.all_labels(lack.settings),
        path=f"/{lack.source.path}",
    )


def _found(lack: Lacking) -> str:
    """What the source says instead."""
    given = _times(lack.source.arguments)
    keys = (canonical(setting.key) for setting in lack.settings)
    texts = [times[-1].text for key in keys for times in [given.get(key)] if times]
    return " ".join(texts)


def lacking_at_boot(subject: Subject) -> Lacking | None:
    """What the next boot lacks of the planned arguments; None where no file says it."""
    if "next boot" not in subject.cache:
        known = set(subject.root.refused)
        subject.cache["next boot"] = _lacking(subject)
        unread = sorted(set(subject.root.refused) - known)
        subject.cache[_UNREAD] = unread[0] if unread else ""
    lacking: Lacking | None = subject.cache["next boot"]
    return lacking


def _lacking(subject: Subject) -> Lacking | None:
    """That of the first source with something missing: a menu, and what it will be made from."""
    lacks = [_compared(subject, source) for source in _sources(subject)]
    return next((lack for lack in lacks if lack.settings), lacks[0] if lacks else None)


def _compared(subject: Subject, source: Source) -> Lacking:
    given = _times(source.arguments)
    lacks = []
    for setting in subject.expected.settings.of(kernel.NAME):
        times = given.get(canonical(setting.key))
        if not times or not cmdline.same(setting.key, cmdline.effective(times), setting.value):
            lacks.append(setting)
    return Lacking(source, tuple(lacks))


def _sources(subject: Subject) -> Iterator[Source]:
    """The default entry of the menu, and what GRUB's menu is made from where it is made."""
    path, menu = _menu(subject)
    entries = _loader_entries(subject)
    if entries and (menu.has_bls or not menu.entries):
        yield _chosen(subject, entries, menu.default)
        return
    if menu.entries:
        yield _chosen(subject, dict.fromkeys(menu.entries, path), menu.default)
    source = _made_from(subject) if subject.expected.platform.takes_files else None
    if source and (menu.entries or subject.root.names(_FOLDER)):
        yield source


def _menu(subject: Subject) -> tuple[str, loaders.Menu]:
    """GRUB's menu and its file; one without entries where there is none."""
    for path in _MENUS:
        if text := subject.root.read(path):
            return path, loaders.grub_menu(text, _environment(subject))
    return "", loaders.Menu((), "", has_bls=False)


def _environment(subject: Subject) -> dict[str, str]:
    texts = (subject.root.read(path) for path in _BLOCKS)
    return next((loaders.grub_environment(text) for text in texts if text), {})


def _loader_entries(subject: Subject) -> dict[Entry, str]:
    """The entries of the Boot Loader Specification with their files, highest version first."""
    variables = _environment(subject)
    for folder in _ENTRIES:
        names = [name for name in subject.root.names(folder) if name.endswith(".conf")]
        entries = {
            loaders.bls_entry(name.removesuffix(".conf"), text, variables): f"{folder}/{name}"
            for name in names
            if (text := subject.root.read(f"{folder}/{name}"))
        }
        if entries:
            newest = sorted(entries, key=lambda entry: in_order(entry.version), reverse=True)
            return {path: entries[path] for path in newest}
    return {}


def _chosen(subject: Subject, entries: dict[Entry, str], default: str) -> Source:
    """The entry that boots by itself: the one that is named or counted, else the first."""
    usual = [candidate for candidate in entries if not is_rescue(candidate)] or list(entries)
    saved = _environment(subject).get("saved_entry", "")
    wanted = default or saved or _of_systemd_boot(subject)
    named = [candidate for candidate in entries if _is_named(candidate, wanted)]
    at = nodetext.natural(wanted)
    if at is not None:
        named = list(entries)[at:][:1]
    entry = (named or usual)[0]
    return Source(entries[entry], entry.line, entry.arguments)


def _is_named(entry: Entry, wanted: str) -> bool:
    """Whether a default means an entry: by its id, title or file, or below a submenu (`>`)."""
    last = wanted.rpartition(">")[2].removesuffix(".conf")
    return bool(last) and (last in (entry.name, entry.title) or fnmatchcase(entry.name, last))


def _of_systemd_boot(subject: Subject) -> str:
    texts = (subject.root.read(path) for path in _CONFS)
    return next((loaders.default_of_systemd_boot(text) for text in texts if text), "")


def _made_from(subject: Subject) -> Source | None:
    """The arguments that the next menu gets: a new kernel, or update-grub, writes one."""
    folder = [f"{_FOLDER}/{name}" for name in subject.root.names(_FOLDER) if name.endswith(".cfg")]
    read = ((path, subject.root.read(path)) for path in (_DEFAULTS, *folder))
    files = [(path, text) for path, text in read if text]
    values = loaders.grub_defaults([text for _, text in files])
    line = " ".join(values[name] for name in loaders.ARGUMENTS if values.get(name))
    if not line and (text := subject.root.read(_CMDLINE)):
        return Source(_CMDLINE, 1, text.strip())
    if not line:
        # Debian's GRUB reads the folder, where a plan's file belongs.
        return Source(_DROP_IN, 1, "") if folder else None
    last = [path for path, text in files if _gives_arguments(text)]
    return Source(last[-1], 1, line)


def _gives_arguments(text: str) -> bool:
    return any(name in text for name in loaders.ARGUMENTS)


#: Characters; the longest that an architecture takes is 4,096 (COMMAND_LINE_SIZE).
_MAX_LINE = 65_536

Times = dict[str, list[Occurrence]]


def running_arguments(subject: Subject) -> Times | None:
    """The arguments of the running kernel by canonical name; None where they cannot be read."""
    return subject.once("boot arguments", lambda: _running(subject))


def _running(subject: Subject) -> Times | None:
    line = subject.root.read(CMDLINE)
    if line is None:
        return None
    if len(line) > _MAX_LINE:
        subject.root.refuse(CMDLINE, Unreadable("it is longer than any kernel's command line"))
        return None
    return _times(line)


def _times(line: str) -> Times:
    """The occurrences by canonical name, in the order of the line; `1G` and `1024M` are one."""
    times: Times = {}
    for key, given in kernel.occurrences(line).items():
        known = times.get(canonical(key), [])
        times[canonical(key)] = sorted([*known, *given], key=lambda time: time.column)
    return times


def arguments(subject: Subject) -> Iterator[Answer]:
    """Every planned argument is on the command line, once, with its value."""
    planned = subject.expected.settings.of(kernel.NAME)
    given = running_arguments(subject)
    if given is None:
        yield from _unread(subject, planned)
        return
    missing = []
    for setting in planned:
        times = given.get(canonical(setting.key))
        if times:
            yield _argument(subject, setting, times)
        else:
            missing.append(setting)
    if missing:
        yield from _missing(subject, missing)


def _unread(subject: Subject, planned: Sequence[Setting]) -> Iterator[Answer]:
    if not subject.root.refused:
        yield subject.differs(
            "boot arguments",
            "CP810",
            CMDLINE,
            observed="not there",
            expected="the command line",
            path=subject.root.shown(CMDLINE),
        )
    for setting in planned:
        yield subject.unverifiable(setting, CMDLINE, "the command line cannot be read")


def _missing(subject: Subject, missing: Sequence[Setting]) -> Iterator[Answer]:
    """One finding for all: before the first reboot it is the whole line."""
    words = " ".join(map(kernel.argument, missing))
    first = subject.differs(
        missing[0],
        "CP811",
        CMDLINE,
        observed="missing",
        expected=words,
        labels=subject.all_labels(missing),
        arguments=words,
        next=_at_next_boot(subject, missing),
    )
    yield first
    for setting in missing[1:]:
        wanted = kernel.argument(setting)
        yield first._replace(fact=name(setting), expected=wanted, finding=None)


def _at_next_boot(subject: Subject, missing: Sequence[Setting]) -> str:
    """Whether the files of the boot loader have what the running kernel lacks."""
    lacking = lacking_at_boot(subject)
    if lacking is None:
        return ""
    keys = {setting.key for setting in lacking.settings}
    if any(setting.key in keys for setting in missing):
        return f"; /{lacking.source.path} does not have them either"
    path = lacking.source.path
    if path.startswith("etc/"):
        return f"; /{path} has them: run what makes the boot menu, then reboot"
    return f"; /{path} has them, and only a reboot is left"


def _argument(subject: Subject, setting: Setting, times: Sequence[Occurrence]) -> Answer:
    last, value = times[-1], effective(times)
    path = subject.root.shown(CMDLINE)
    place = Position(path, 1, last.column, last.column + len(last.text))
    texts = joined(list(dict.fromkeys(occurrence.text for occurrence in times)))
    wanted = kernel.argument(setting)
    if not same(setting.key, value, setting.value):
        shown = last.text if value == last.value else texts
        return subject.differs(setting, "CP812", place, observed=shown, expected=wanted)
    # Of huge pages the kernel takes the first, and drops a size that comes again.
    is_about_pages = _name(setting.key) in hugetlb.NAMES
    if len(times) <= len(lists(setting.value)) or is_about_pages:
        return subject.held(setting, CMDLINE)
    answer = subject.differs(
        setting, "CP813", place, observed=texts, expected=wanted, count=len(times), values=texts
    )
    if holds(setting, times) and answer.finding:
        # The same twice does no harm by itself: two programs give the node its arguments.
        return answer._replace(finding=answer.finding._replace(severity=Severity.WARNING))
    return answer


def holds(setting: Setting, times: Sequence[Occurrence]) -> bool:
    """Whether every occurrence has the value, or a part of it."""
    wanted = lists(setting.value)
    for occurrence in times:
        if not any(same(setting.key, occurrence.value, value) for value in wanted):
            return False
    return True


def unbooted(subject: Subject, *keys: str) -> str:
    """Of the arguments `keys`, those that the kernel has not as planned, in words; or "".

    It is why what follows from them is otherwise, which is no second finding.
    """
    planned = (
        setting for setting in subject.expected.settings.of(kernel.NAME) if setting.key in keys
    )
    wrong = [setting.key for setting in planned if not as_planned(subject, setting)]
    return f"the kernel was not booted with {joined(wrong)} as planned" if wrong else ""


def as_planned(subject: Subject, setting: Setting) -> bool:
    """Whether `arguments` says nothing of an argument: a wrong one has the wrong effect too."""
    given = running_arguments(subject)
    if given is None:
        return True
    times = given.get(canonical(setting.key), ())
    is_same = bool(times) and same(setting.key, effective(times), setting.value)
    return is_same and holds(setting, times)


_VERSION = "proc/version"
#: What each kind has in its version, as `uname -rv` prints it.
_MARKS = {machineconfig.REAL_TIME: ("PREEMPT_RT", "PREEMPT RT"), "64k-pages": ("64k",)}
_USUAL = "default"


def kernel_kind(subject: Subject) -> str | None:
    """`realtime`, `64k-pages` or `default`; None where nothing says it."""
    text = subject.root.read(_VERSION)
    if not text:
        return None
    for kind, marks in _MARKS.items():
        if any(mark in text for mark in marks):
            return kind
    return _USUAL


def kernel_type(subject: Subject) -> Iterator[Answer]:
    """The kernel that a MachineConfig asks for."""
    for setting in subject.expected.settings.of(machineconfig.NAME):
        if setting.key != machineconfig.KERNEL_TYPE:
            continue
        actual, wanted = kernel_kind(subject), str(setting.value)
        if actual is None:
            yield subject.unverifiable(setting, _VERSION, "there is no such file here")
        elif actual == wanted:
            yield subject.held(setting, _VERSION)
        else:
            yield subject.differs(setting, "CP8207", _VERSION, observed=actual, expected=wanted)


_OF_OTHERS = "boot arguments of others"


def conflicting(subject: Subject) -> Iterator[Answer]:
    """No argument that the plan does not have takes from it what it needs."""
    line = subject.root.read(CMDLINE)
    if line is None:
        yield subject.unverifiable(_OF_OTHERS, CMDLINE, "the command line cannot be read")
        return
    path = subject.root.shown(CMDLINE)
    arguments = list(undoing(cmdline.arguments(line), _needs(subject)))
    for undone in arguments:
        column = max(line.find(undone.text), 0) + 1
        yield subject.differs(
            f"boot argument {undone.name}",
            "CP815",
            Position(path, 1, column, column + len(undone.text)),
            observed=undone.text,
            expected="not given",
            argument=undone.text,
            effect=undone.effect,
        )
    if not arguments:
        yield subject.held(_OF_OTHERS, CMDLINE)


def _needs(subject: Subject) -> Needs:
    expected = subject.expected
    topology = expected.topology
    planned = expected.settings.of(kernel.NAME)
    services = expected.settings.values(systemd.NAME).get(systemd.AFFINITY, EMPTY)
    memory = [fact.memory or 0 for fact in topology.numa_facts.values()]
    return Needs(
        cpus=expected.cpus(ONLINE),
        present=topology.online | topology.offline,
        first_threads=CpuSet(topology.cores),
        numa_nodes=len(topology.numa_nodes),
        arguments=frozenset(map(_name, (setting.key for setting in planned))),
        is_cgroup_v1=expected.facts.get(CGROUPS) == "v1",
        has_huge_pages=_has_pages(expected.facts.get(HUGE_PAGES)),
        has_isolated=bool(expected.cpus(ISOLATED)),
        is_real_time_kernel=kernel_kind(subject) == machineconfig.REAL_TIME,
        system=services if isinstance(services, CpuSet) else EMPTY,
        memory=sum(memory) if memory and all(memory) else None,
        cpu=_cpu(subject),
    )


def _cpu(subject: Subject) -> Cpu:
    """The CPU that was planned for."""
    facts = subject.expected.facts
    number = facts.get(MODEL_NUMBER)
    vendor = str(facts.get(CPU_VENDOR) or "")
    return Cpu(vendor=vendor, model=number if isinstance(number, int) else None)


def _name(key: str) -> str:
    return canonical(key).partition("=")[0]


def _has_pages(nodes: object) -> bool:
    return isinstance(nodes, Mapping) and any(nodes.values())
