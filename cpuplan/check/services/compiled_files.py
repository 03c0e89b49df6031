"""The files that were compiled for a node, and whether it has them; on OpenShift, as rendered.

What the rendered MachineConfig of the machine config daemon has was delivered; what a file has
instead was changed afterwards. What it lacks never arrived: the pool has not rendered it yet, or is
paused, or another MachineConfig overrides it.
"""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from cpuplan.base import nodetext
from cpuplan.check.roots.root import PROGRAMS
from cpuplan.check.services.systemd_units import TYPES
from cpuplan.check.subject import Subject
from cpuplan.components import kernel
from cpuplan.components.openshift import mixedcpus
from cpuplan.components.units import UNIT_FOLDER
from cpuplan.diagnostics.source import Position
from cpuplan.plan.expected.evidence import FILE, FILES, Answer
from cpuplan.plan.expected.state import NodeFile
from cpuplan.upstream.mco.common import McoError
from cpuplan.upstream.mco.ignition.url import contents

#: pkg/daemon/constants/constants.go: CurrentConfigPath.
PATH = "etc/machine-config-daemon/currentconfig"
_CACHE = "rendered MachineConfig"


class Rendered(NamedTuple):
    """A rendered MachineConfig: its name, kernel arguments, and files and units by path."""

    name: str
    arguments: tuple[str, ...]
    files: dict[str, str]


def rendered_config(subject: Subject) -> Rendered | None:
    """That of the node; None where there is none that can be read."""
    return subject.once(_CACHE, lambda: _read(subject))


def _read(subject: Subject) -> Rendered | None:
    text = subject.root.read(PATH)
    if text is None:
        return None
    try:
        return parse(text)
    except (ValueError, McoError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def parse(text: str) -> Rendered:
    """The object of a text. Raises ValueError, McoError, KeyError, TypeError or AttributeError."""
    data = json.loads(text)
    config = data["spec"]["config"]
    files = {path: data.decode("utf-8", "replace") for path, data in contents(config).items()}
    units = config.get("systemd", {}).get("units") or []
    for unit in units:
        files |= _unit(unit)
    arguments = data["spec"].get("kernelArguments") or []
    return Rendered(str(data["metadata"]["name"]), tuple(map(str, arguments)), files)


def _unit(unit: dict[str, Any]) -> dict[str, str]:
    """The file of a unit and its drop-ins; of a masked one none."""
    path = f"{UNIT_FOLDER}/{unit['name']}"
    files = {path: str(unit["contents"])} if unit.get("contents") else {}
    for drop_in in unit.get("dropins") or ():
        files[f"{path}.d/{drop_in['name']}"] = str(drop_in.get("contents") or "")
    return files


#: Folders whose files are merged with others' before they count, and a file with a step of its own.
_ELSEWHERE = (
    "/etc/crio/",
    "/etc/containerd/",
    "/etc/systemd/system/kubepods",
    mixedcpus.PATH,
)
_EXECUTABLE = 0o111
_NOWHERE = "/dev/null"


def compiled(subject: Subject) -> Iterator[Answer]:
    """An answer for each file: CP870 for all that are missing, CP871 for each that differs.

    CP899 stands for all that another MachineConfig wrote: the compiled one did not arrive.
    """
    rendered = rendered_config(subject)
    missing, others = [], []
    keeps_modes = _keeps_modes(subject)
    for path, file in _files(subject):
        text = subject.root.read(path.lstrip("/"))
        if text != file.text and rendered and rendered.files.get(path) == text:
            others.append(path)
        elif text is None and not subject.root.covers(path.lstrip("/")):
            reason = f"this is {subject.root.kind.value} without {path.rpartition('/')[0]}"
            yield subject.unverifiable(_fact(path), path.lstrip("/"), reason)
        elif text is None:
            missing.append(path)
        elif not _is_same(subject, path, text, file.text):
            yield _differing(subject, path, text, file.text)
        elif file.is_executable and keeps_modes:
            yield _mode(subject, path)
        else:
            yield subject.held(_fact(path), path.lstrip("/"))
    if missing and not subject.root.refused:
        yield _missing(subject, missing)
    yield from _delivered(subject, rendered, others)


def _files(subject: Subject) -> Iterator[tuple[str, NodeFile]]:
    own = subject.expected.release.kubelet_drop_in
    for path, file in subject.expected.files.items():
        # A masked unit is a matter of CP867.
        is_unit = path.startswith("/etc/systemd/") and path.endswith(TYPES)
        is_masked = is_unit and subject.root.link(path.lstrip("/")) == _NOWHERE
        if path != own and not path.startswith(_ELSEWHERE) and not is_masked:
            yield path, file


def _is_same(subject: Subject, path: str, actual: str, wanted: str) -> bool:
    """Whether a file says what was compiled; the machine config daemon compares each byte."""
    if actual == wanted or subject.expected.platform.has_pools:
        return actual == wanted
    return _said(path, actual) == _said(path, wanted)


def _said(path: str, text: str) -> list[str]:
    """The lines of a file without comments and blank lines; those of a script begin with `#!`."""
    marks = ("#", ";") if path.startswith("/etc/systemd/") else ("#",)
    shebang = text.partition("\n")[0] if text.startswith("#!") else ""
    kept = (line.rstrip() for line in nodetext.lines(text))
    return [shebang, *(line for line in kept if line and not line.lstrip().startswith(marks))]


def _fact(path: str) -> str:
    return f"{FILE}{path}"


def _missing(subject: Subject, paths: list[str]) -> Answer:
    named = ", ".join(paths)
    place = subject.place(paths[0].lstrip("/"))
    return subject.differs(FILES, "CP870", place, observed="missing", expected=named, paths=named)


def _differing(subject: Subject, path: str, actual: str, wanted: str) -> Answer:
    """CP871 at the first line that differs."""
    lines, own = nodetext.lines(actual), nodetext.lines(wanted)
    differ = (at for at, pair in enumerate(zip(lines, own, strict=False)) if pair[0] != pair[1])
    at = next(differ, min(len(lines), len(own)))
    place = Position(subject.root.shown(path.lstrip("/")), at + 1, 1)
    line = own[at] if at < len(own) else "no further line"
    problem = f"this line should be: {line}"
    observed = lines[at] if at < len(lines) else "no further line"
    return subject.differs(
        _fact(path), "CP871", place, observed=observed, expected=line, path=path, problem=problem
    )


def _keeps_modes(subject: Subject) -> bool:
    """Whether the root tells which files are executable: a copy made file by file does not."""
    modes = (subject.root.mode(path) for path in (*PROGRAMS, *_scripts(subject)))
    return any(mode is not None and mode & _EXECUTABLE for mode in modes)


def _scripts(subject: Subject) -> Iterator[str]:
    """All compiled scripts."""
    for path, file in subject.expected.files.items():
        if file.is_executable:
            yield path.lstrip("/")


def _mode(subject: Subject, path: str) -> Answer:
    mode = subject.root.mode(path.lstrip("/"))
    if mode is not None and mode & _EXECUTABLE:
        return subject.held(_fact(path), path.lstrip("/"))
    return subject.differs(
        _fact(path),
        "CP871",
        path.lstrip("/"),
        observed=f"mode {mode or 0:04o}",
        expected="executable",
        path=path,
        problem="it is not executable",
    )


def _delivered(subject: Subject, rendered: Rendered | None, others: list[str]) -> Iterator[Answer]:
    """Whether the MachineConfig on the node is the plan's."""
    if not subject.expected.platform.has_pools:
        return
    fact = "rendered MachineConfig"
    if rendered is None:
        reason = "the machine config daemon's copy of it cannot be read here"
        yield subject.unverifiable(fact, PATH, reason)
        return
    arguments = [kernel.argument(setting) for setting in subject.expected.settings.of(kernel.NAME)]
    have = " ".join(rendered.arguments).split()
    lacking = [word for argument in arguments for word in argument.split() if word not in have]
    if not others and not lacking:
        yield subject.held(fact, PATH)
        return
    parts = [*others, *([f"boot arguments {' '.join(lacking)}"] if lacking else [])]
    yield subject.differs(
        fact,
        "CP899",
        PATH,
        observed=rendered.name,
        expected="the compiled files and boot arguments",
        name=rendered.name,
        parts=", ".join(parts),
    )
