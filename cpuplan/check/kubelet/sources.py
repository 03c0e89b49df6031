"""Which files the kubelet of a node reads: its command line says so, or else where it runs.

The folder of drop-ins is read only where the command line says so (CP876). What platforms have
instead of a command line is in `flags`.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from cpuplan.check.kubelet import flags
from cpuplan.check.processes import Command, Program, command, place_in_command
from cpuplan.check.roots.root import Root
from cpuplan.check.subject import Subject
from cpuplan.components.host import kubelet_unit
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Position
from cpuplan.facts.platforms import Platform
from cpuplan.plan.expected.evidence import Answer, Verdict
from cpuplan.plan.setting import Setting
from cpuplan.simulate.files.kubelet_configuration import is_kubelet_configuration
from cpuplan.upstream.kubelet.config import options
from cpuplan.upstream.kubelet.config.options import Flags
from cpuplan.upstream.kubernetes.errors import KubeletError

_KUBECONFIG = re.compile(r"""kind["']?\s*:\s*["']?Config\b""")
_CACHE = "sources of the kubelet"


class Sources(NamedTuple):
    """The files that the kubelet reads, as paths below the root, and its flags.

    `main` is empty where it has none. `problem` is why it does not take its command line, `unread`
    are the paths that could not be read on the way. `unseen` is why it may have further flags.
    """

    main: str
    drop_ins: tuple[str, ...]
    flags: Flags = Flags()
    command: Command | None = None
    problem: str = ""
    unread: tuple[str, ...] = ()
    unseen: str = ""

    @property
    def paths(self) -> tuple[str, ...]:
        """All files, in the order in which they are merged."""
        return (self.main, *self.drop_ins) if self.main else self.drop_ins

    def state(self, name: str) -> str:
        """The path of a state file."""
        return f"{self.flags.root_dir.strip('/')}/{name}"

    def place(self, root: Root, flag: str = "") -> Position | None:
        """Where the command line, or one of its flags, stands."""
        return place_in_command(root, self.command, flag) if self.command else None


def program(subject: Subject) -> Program:
    """The kubelet of the platform."""
    return Program("kubelet", subject.expected.kubelet_service, "the kubelet")


def find_sources(subject: Subject) -> Sources:
    """What the kubelet reads; looked up once."""
    if _CACHE not in subject.cache:
        known = set(subject.root.refused)
        sources = _sources(subject)
        unread = tuple(path for path in subject.root.refused if path not in known)
        subject.cache[_CACHE] = sources._replace(unread=unread)
    cached: Sources = subject.cache[_CACHE]
    return cached


def _sources(subject: Subject) -> Sources:
    root = subject.root
    start = command(subject, program(subject))
    unseen = _without_unit(subject, start) if start else ""
    if start is None:
        start, unseen = flags.of_platform(subject)
    if start is None:
        platform = subject.expected.platform
        drop_ins = _drop_ins(root, platform.kubelet_folder)
        usual = Flags(root_dir=platform.root_directory)
        return Sources(_usual(root, platform), drop_ins, usual, unseen=unseen)
    try:
        given = options.parse_flags(start.words)
    except KubeletError as error:
        return Sources("", (), Flags(), start, str(error))
    main, drop_ins = given.config.lstrip("/"), _drop_ins(root, given.config_dir)
    return Sources(main, drop_ins, given, start, unseen=unseen)


def _without_unit(subject: Subject, start: Command) -> str:
    """Why variables of a command line may be missing: the compiled drop-in gives it, to no unit."""
    own = kubelet_unit.FILE
    unit = subject.expected.kubelet_service
    if start.process or not start.path.endswith(f"/{own}"):
        return ""
    is_there = any(path.endswith(f"/{unit}") for path in start.files)
    return "" if is_there else f"the {unit} that {own} belongs to is not here"


def as_seen(subject: Subject, answers: Iterable[Answer]) -> Iterator[Answer]:
    """Answers without a yes where flags that nobody has read would change it."""
    unseen = find_sources(subject).unseen
    for answer in answers:
        if unseen and answer.verdict is Verdict.HELD:
            verdict = Verdict.UNVERIFIABLE
            yield answer._replace(verdict=verdict, observed="", reason=unseen)
        else:
            yield answer


def _usual(root: Root, platform: Platform) -> str:
    """The usual file that says of itself what it is, or else the first that is no kubeconfig."""
    there = {path: root.read(path) for path in platform.kubelet_files if root.is_file(path)}
    named = (path for path, text in there.items() if is_kubelet_configuration(text or ""))
    others = (path for path, text in there.items() if not _KUBECONFIG.search(text or ""))
    return next(named, "") or next(others, "")


def _drop_ins(root: Root, folder: str) -> tuple[str, ...]:
    """The files of a folder that the kubelet takes, in its order; none without a folder."""
    files = root.files(folder.strip("/")) if folder else []
    return tuple(path for path in files if path.endswith(".conf"))


def drop_in_folder(subject: Subject) -> Iterator[Answer]:
    """CP876: the kubelet does not read the folder."""
    read = find_sources(subject)
    for setting in _settings(subject):
        finding = unread_folder(subject)
        if read.command is None or read.problem:
            yield subject.unverifiable(setting, "", "no command line of the kubelet is here")
        elif finding:
            observed = read.flags.config_dir or "not given"
            yield subject.answered(setting, finding, observed=observed, expected=str(setting.value))
        else:
            yield subject.held(setting, read.command.path)


def _settings(subject: Subject) -> list[Setting]:
    planned = subject.expected.settings.of(kubelet_unit.NAME)
    return [setting for setting in planned if setting.key == kubelet_unit.CONFIG_DIR]


def _remedy(subject: Subject) -> str:
    """What gives the kubelet the flag: the compiled drop-in of its unit, or somebody."""
    platform = subject.expected.platform
    flag = platform.folder_flag
    if flag.by_hand:
        return f"{flag.by_hand.format(folder=platform.kubelet_folder)}, and restart it"
    end = f"; a unit without ${flag.variable} needs" if flag.variable else ", which has"
    folder = f"{kubelet_unit.CONFIG_DIR}={platform.kubelet_folder}"
    itself = " itself" if flag.variable else ""
    return f"run `systemctl daemon-reload` and restart the kubelet{end} {folder}{itself}"


def unread_folder(subject: Subject) -> Diagnostic | None:
    """CP876 for a kubelet whose command line is known and names another folder, or none."""
    read = find_sources(subject)
    if read.command is None or read.problem:
        return None
    for setting in _settings(subject):
        if read.flags.config_dir.rstrip("/") != str(setting.value).rstrip("/"):
            place, labels = read.place(subject.root), subject.labels(setting.reasons)
            return diagnose(
                "CP876", place, labels=labels, folder=setting.value, remedy=_remedy(subject)
            )
    return None
