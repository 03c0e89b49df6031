"""The kubelet's flags where no command line of its own is here: what its platform has instead.

K3s and RKE2 take them as `kubelet-arg`: in the unit, where an installer writes them, in variables,
and in a configuration with drop-ins. k0s takes them in its unit, as one argument. Snaps have a file
of flags.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from cpuplan.base import nodetext
from cpuplan.check.processes import Command, Program, command_of_unit, find_process
from cpuplan.check.services.units import unit_files
from cpuplan.check.subject import Subject
from cpuplan.facts.platforms import FlagFile, Host, Supervisor
from cpuplan.facts.settings.host import CONFIG_DIR
from cpuplan.upstream.kubelet.config.codec import raw_fields

_KEY = "kubelet-arg"
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
#: The program of MicroK8s that runs the kubelet, and its flag with the file.
_KUBELITE = Program("kubelite", "snap.microk8s.daemon-kubelite.service", "kubelite")
_ARGS_FILE = "kubelet-args-file"


class Flags(NamedTuple):
    """The command line that flags make, and why more of them may be somewhere else; "" if not."""

    command: Command | None
    unseen: str = ""


def of_platform(subject: Subject) -> Flags:
    """What the platform's own places say of flags."""
    platform = subject.expected.platform
    if platform.kubelet_host:
        return _of_host(subject, platform.kubelet_host)
    given = _of_supervisor(subject, platform.supervisor) if platform.supervisor else None
    for file in platform.flag_files:
        given = given or _of_file(subject, file)
    if given:
        return Flags(given)
    unit = subject.expected.kubelet_service
    return Flags(None, f"neither the kubelet's process nor a {unit} that starts it is here")


def _of_host(subject: Subject, host: Host) -> Flags:
    """The flags that K3s or RKE2 gives to the kubelet: of its files first, and of its unit."""
    start = _unit(subject, host)
    words, environment = (start.words, start.environment) if start else ((), {})
    prefix = host.program.upper()
    named = environment.get(f"{prefix}_CONFIG_FILE") or _first(words, "config", "c") or host.config
    given = _arguments(subject, named)
    data = [value for key, value, _ in given if key == "data-dir"]
    data += _values(words, "data-dir", "d")
    folder = (data or [environment.get(f"{prefix}_DATA_DIR") or host.data])[-1].rstrip("/")
    flags = [f"{CONFIG_DIR.key}={folder}/agent/etc/kubelet.conf.d"]
    flags += [_flag(value) for key, value, _ in given if key == _KEY]
    flags += [_flag(value) for value in _values(words, _KEY)]
    files = tuple(dict.fromkeys(path for _, _, path in given))
    units = " or ".join(host.units)
    unseen = "" if start else f"there is no {units} here that starts {host.program}"
    if "://" in named:
        unseen = f"the configuration of {host.program} is not on the node: {named}"
    if start:
        return Flags(start._replace(words=tuple(flags), files=(*files, *start.files)), unseen)
    return Flags(Command(tuple(flags), files[-1], files=files) if files else None, unseen)


def _of_supervisor(subject: Subject, supervisor: Supervisor) -> Command | None:
    """The flags that k0s gives to the kubelet, and those of its command line, which win."""
    start = _unit(subject, supervisor)
    if start is None:
        return None
    places: dict[str, str] = {}
    for name, (flag, usual) in (("data", supervisor.data), ("root", supervisor.root)):
        said = _values(start.words, flag)
        places[name] = said[-1].rstrip("/") if said else usual.format(**places)
    words = [flag.format(**places) for flag in supervisor.flags]
    for argument in _values(start.words, supervisor.argument):
        words += argument.split()
    return start._replace(words=tuple(words))


def _unit(subject: Subject, host: Host | Supervisor) -> Command | None:
    """What the unit that is enabled runs, or else the first that is installed."""
    files, own = unit_files(subject), subject.expected.release.kubelet_unit
    units = dict.fromkeys((own, *host.units) if own else host.units)
    enabled = [unit for unit in units if any(files.starters(unit))]
    for unit in (*enabled, *units):
        start = command_of_unit(subject, unit, host.program)
        if start:
            return start
    return None


def _arguments(subject: Subject, config: str) -> list[tuple[str, str, str]]:
    """(key, value, file) of the configuration and its drop-ins, in the order in which they count.

    A key replaces the values of files before, with `+` it adds to them.
    """
    main = config.lstrip("/")
    drop_ins = subject.root.files(f"{main}.d")
    paths = [main, *(path for path in drop_ins if path.lower().endswith((".yaml", ".yml")))]
    arguments: list[tuple[str, str, str]] = []
    for path in paths:
        for key, value in raw_fields(subject.root.read(path) or "").items():
            name = str(key).removesuffix("+")
            if not str(key).endswith("+"):
                arguments = [argument for argument in arguments if argument[0] != name]
            arguments += [(name, text, path) for text in _texts(value)]
    return [argument for argument in arguments if argument[0] in (_KEY, "data-dir")]


def _texts(value: Any) -> list[str]:
    if value is None:
        return []
    return [str(text) for text in value] if isinstance(value, list) else [str(value)]


def _flag(text: str) -> str:
    return f"--{text.lstrip('-')}"


def _values(words: tuple[str, ...], *names: str) -> list[str]:
    """The values of a flag in a command line, `--flag value` or `--flag=value`, all of them."""
    values = []
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if not word.startswith("-") or name.lstrip("-") not in names:
            continue
        if equals:
            values.append(value)
        elif at + 1 < len(words):
            values.append(words[at + 1])
    return values


def _first(words: tuple[str, ...], *names: str) -> str:
    return next(iter(_values(words, *names)), "")


def _of_file(subject: Subject, file: FlagFile) -> Command | None:
    """The flags of a file, and the program that runs with them."""
    process = find_process(subject, _KUBELITE)
    named = _first(process.words, _ARGS_FILE) if process else ""
    path = named.lstrip("/")
    text = subject.root.read(path) if path else None
    if text is None:
        # A copy, or an agent, may have the link to the revision's folder alone.
        path, text = file.path, subject.root.read(file.path)
    if text is None:
        return None
    return Command(tuple(_words(text, file.variables)), path, process=process, files=(path,))


def _words(text: str, variables: Mapping[str, str]) -> Iterator[str]:
    """The words of all lines but comments: quotes go, and the snap's own variables are replaced."""
    for line in nodetext.lines(text):
        if not line.lstrip().startswith("#"):
            for word in line.replace('"', "").replace("'", "").split():
                yield _VARIABLE.sub(lambda match: variables.get(match[1] or match[2], ""), word)
