"""What a kubelet makes of its configuration without a machine; findings by file and line.

That is reading KubeletConfiguration files, and making its managers (container_manager_linux.go).
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from types import MappingProxyType
from typing import Any, NamedTuple

from cpuplan.base.patterns import expression
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Field, Position, Source
from cpuplan.facts.settings.kubelet import (
    CPU_MANAGER_OPTIONS,
    CPU_MANAGER_POLICY,
    EVICTION_HARD,
    FEATURE_GATES,
    KUBE_RESERVED,
    MEMORY_MANAGER_POLICY,
    RESERVED_CPUS,
    RESERVED_MEMORY,
    SYSTEM_RESERVED,
    TOPOLOGY_MANAGER_OPTIONS,
    TOPOLOGY_MANAGER_POLICY,
)
from cpuplan.facts.versions import Version
from cpuplan.upstream.kubelet import node_container_manager, server
from cpuplan.upstream.kubelet.allowlist import check_allowlist
from cpuplan.upstream.kubelet.config.codec import (
    DUPLICATES,
    DecodeError,
    merge,
    raw_fields,
    unread_fields,
)
from cpuplan.upstream.kubelet.config.options import override
from cpuplan.upstream.kubelet.config.types import API_VERSION, KIND
from cpuplan.upstream.kubelet.eviction import MEMORY_AVAILABLE
from cpuplan.upstream.kubelet.memorymanager import memory_manager
from cpuplan.upstream.kubelet.policy_options import static_policy_options, topology_options
from cpuplan.upstream.kubernetes import quantity
from cpuplan.upstream.kubernetes.errors import KubeletError, PanicError
from cpuplan.upstream.kubernetes.kube_features import Gates
from cpuplan.upstream.kubernetes.pod import HUGEPAGES, MEMORY
from cpuplan.upstream.kubernetes.quantity import ZERO, Quantity
from cpuplan.upstream.kubernetes.strconv import quote

_WORD = expression("[A-Za-z][A-Za-z0-9-]*")
#: Fields that have other names in the kubelet's texts.
_CALLED = {
    "the limit type": RESERVED_MEMORY.key,
    "reserved memory": RESERVED_MEMORY.key,
    "pod logs path": "podLogsDir",
    "taint": "registerWithTaints",
    "CrashLoopBackOff.": "crashLoopBackOff",
    "ImageMaximumGCAge feature gate": "imageMaximumGCAge",
    "NodeLogQuery feature gate": "enableSystemLogQuery",
    "host using cgroup v1": "failCgroupV1",
    "--show-hidden-metrics": "showHiddenMetricsForVersion",
    "sysctl": "allowedUnsafeSysctls",
}


class Finding(NamedTuple):
    """A code, the kubelet's text, and the field or the line that it is about.

    `file` is the number of the file, where it is known before the field is looked for; 0 is the
    configuration file.
    """

    code: str
    text: str
    field: Field = ()
    is_key: bool = False
    line: int = 0
    file: int | None = None


def check_managers(
    config: dict[str, Any], version: Version, *, is_partial: bool = False
) -> Iterator[Finding]:
    """Policies and options of an effective configuration that no kubelet of the version takes.

    `is_partial`: reservations are not missed.
    """
    gates = Gates(config.get(FEATURE_GATES.head) or {}, version)
    policy, options = config[CPU_MANAGER_POLICY.key], config.get(CPU_MANAGER_OPTIONS.head) or {}
    if policy not in ("none", "static"):
        yield Finding("CP703", f"unknown policy: {quote(policy)}", (CPU_MANAGER_POLICY.key,))
    elif policy == "none" and options:
        shown = " ".join(f"{key}:{options[key]}" for key in sorted(options))
        text = f"new none policy error: None policy: received unsupported options=map[{shown}]"
        yield Finding("CP703", text, (CPU_MANAGER_OPTIONS.head,), is_key=True)
    elif policy == "static":
        yield from _options(
            CPU_MANAGER_OPTIONS.head, options, lambda: static_policy_options(options, gates)
        )
        amounts = [
            (config.get(field) or {}).get("cpu", "0")
            for field in (SYSTEM_RESERVED.head, KUBE_RESERVED.head)
        ]
        is_reserved = config.get(RESERVED_CPUS.key) or any(map(_is_more_than_nothing, amounts))
        if not is_reserved and not is_partial:
            text = "[cpumanager] unable to determine reserved CPU resources for static policy"
            yield Finding("CP703", text, (CPU_MANAGER_POLICY.key,))
    if config[TOPOLOGY_MANAGER_POLICY.key] != "none":
        given = config.get(TOPOLOGY_MANAGER_OPTIONS.head) or {}
        yield from _options(
            TOPOLOGY_MANAGER_OPTIONS.head, given, lambda: topology_options(given, gates)
        )
    try:
        check_allowlist(config.get("allowedUnsafeSysctls") or ())
    except KubeletError as error:
        yield Finding("CP703", str(error), ("allowedUnsafeSysctls",))
    memory = config[MEMORY_MANAGER_POLICY.key]
    if memory not in ("None", "Static"):
        yield Finding("CP703", f"unknown policy: {quote(memory)}", (MEMORY_MANAGER_POLICY.key,))
    yield from _reservations(config)
    if memory == "Static":
        yield from _huge_pages(config)
        if not is_partial:
            yield from _reserved_memory(config)


def _reservations(config: Mapping[str, Any]) -> Iterator[Finding]:
    """Amounts of reservations that no machine can keep."""
    for field in (SYSTEM_RESERVED.head, KUBE_RESERVED.head):
        for name, text in sorted((config.get(field) or {}).items()):
            try:
                node_container_manager.parse_reservation(name, text)
            except KubeletError as error:
                yield Finding("CP703", str(error), (field, name))


def _huge_pages(config: Mapping[str, Any]) -> Iterator[Finding]:
    """CP711: huge pages in reservedMemory."""
    for index, entry in enumerate(config.get(RESERVED_MEMORY.key) or ()):
        for kind in entry.get("limits") or {}:
            if kind.startswith(HUGEPAGES):
                field = (RESERVED_MEMORY.key, index, "limits", kind)
                yield Finding("CP711", kind, field, is_key=True)


def _reserved_memory(config: Mapping[str, Any]) -> Iterator[Finding]:
    """Memory that is not the sum of the reservations."""
    given = memory_manager.by_node(config)
    reservation = _reserved_anywhere(config)
    if reservation is None:
        return
    amounts = {node: {MEMORY: limits.get(MEMORY, ZERO)} for node, limits in given.items()}
    try:
        memory_manager.check_total(amounts, reservation)
    except KubeletError as error:
        is_given = bool(config.get(RESERVED_MEMORY.key))
        field = RESERVED_MEMORY.key if is_given else MEMORY_MANAGER_POLICY.key
        yield Finding("CP703", str(error), (field,), is_key=is_given)


def _reserved_anywhere(config: Mapping[str, Any]) -> dict[str, Quantity] | None:
    """Memory that pods cannot have on any machine; None where a share of the machine is kept free.

    Amounts that cannot be read have findings of their own, and nothing can be said of their sum.
    """
    threshold = (config.get(EVICTION_HARD.head) or {}).get(MEMORY_AVAILABLE, "0%")
    if threshold.endswith("%") and threshold not in ("0%", "100%"):
        return None
    try:
        parts = node_container_manager.Reservations(
            node_container_manager.parse_reserved(config.get(SYSTEM_RESERVED.head) or {}),
            node_container_manager.parse_reserved(config.get(KUBE_RESERVED.head) or {}),
            node_container_manager.parse_eviction({MEMORY_AVAILABLE: threshold}, {}),
        )
    except KubeletError:
        return None
    return parts.total({MEMORY: ZERO})


def _is_more_than_nothing(amount: str) -> bool:
    """An amount that is none is found on the machine, where all reservations are read."""
    try:
        return quantity.parse(amount).nano > 0
    except KubeletError:
        return True


def _options(field: str, options: dict[str, str], parse: Any) -> Iterator[Finding]:
    try:
        parse()
    except KubeletError as error:
        entry = next((name for name in options if name in str(error)), None)
        yield Finding("CP703", str(error), (field,) if entry is None else (field, entry))


def field_of(text: str, config: dict[str, Any]) -> tuple[str, ...]:
    """The field, and its entry, that a text of the kubelet is about; empty if it names none."""
    words = _WORD.findall(text)
    for word in words:
        if word in config:
            inside = config[word]
            entry = next(
                (other for other in words if isinstance(inside, dict) and other in inside), None
            )
            return (word,) if entry is None else (word, entry)
    gates = config.get(FEATURE_GATES.head)
    if gate := next((word for word in words if isinstance(gates, dict) and word in gates), None):
        return (FEATURE_GATES.head, gate)
    return next(
        ((field,) for called, field in _CALLED.items() if called in text and field in config), ()
    )


#: What to do about a text of the kubelet, by a part of it; the first that fits.
_HINTS = (
    (
        re.compile('total amount "[^"]*" of type "memory" is not equal to the value "([^"]*)"'),
        f"make {RESERVED_MEMORY.key} of all NUMA nodes \\1 in total, as the reservations have it",
    ),
    (re.compile("unknown policy"), "write one of the policies that the kubelet has"),
    (
        re.compile("received unsupported options"),
        f"set {CPU_MANAGER_POLICY.key} to static, or remove the options",
    ),
    (
        re.compile("unable to determine reserved CPU"),
        f"add {RESERVED_CPUS.key}, or CPU to {SYSTEM_RESERVED.head}",
    ),
    (re.compile("can't use reservedSystemCPUs"), "remove the cgroups, or the list of CPUs"),
    (re.compile(r"(\w+ReservedCgroup) \(.*must be specified"), "add \\1, or enforce pods only"),
    (re.compile(r"requires feature gate (\w+)"), "switch the feature gate \\1 on, or remove it"),
    (re.compile(r"(?:must be one of|Valid options are):? (.*)"), "write one of \\1"),
    (re.compile("reserved memory may not be zero"), "remove the entry"),
    (
        re.compile('Resource "(\\w+)" has a reservation of \\S+ but capacity of (\\S+)\\.'),
        "reserve less than \\2 of \\1",
    ),
    (re.compile("has a duplicate value"), "leave one of the entries"),
    (re.compile(r"cannot reserve (\S+) resource"), "remove \\1 from the reservation"),
    (re.compile(r"failed to parse quantity"), "write an amount such as 500m or 1Gi"),
)


def hint_for(problem: str) -> str:
    """What to do about a text of a kubelet that does not take its configuration."""
    for pattern, hint in _HINTS:
        match = pattern.search(problem)
        if match:
            return match.expand(hint)
    return "correct the value"


_KIND = expression(rf"""^\s*["']?kind["']?\s*:\s*["']?{KIND}\b""", re.MULTILINE)
#: A KubeletConfig of OpenShift holds one: the file itself is none.
_MACHINE_CONFIG_API = expression(
    r"""["']?apiVersion["']?\s*:\s*["']?machineconfiguration\.openshift\.io/"""
)
_LINE = expression(r"\bline ([0-9]+):")
_UNKNOWN = expression('unknown field "(.*)"')
_STRUCT_FIELD = expression(r"Go struct field \w+\.(\S+) of type")
_PART = expression(r"[^.\[\]]+")


class Command(NamedTuple):
    """The fields of a kubelet's flags, where its command line stands, and why it is refused."""

    fields: Mapping[str, Any] = MappingProxyType({})
    place: Position | None = None
    problem: str = ""


NO_COMMAND = Command()


class File(NamedTuple):
    """A file that a kubelet reads: its path as messages show it, and its text.

    `source` has the places, where the text is a part of the file.
    """

    path: str
    text: str
    source: Source | None = None


#: The configuration file of a kubelet that has drop-ins only.
NO_FILE = File("", f"apiVersion: {API_VERSION}\nkind: {KIND}\n")


def is_kubelet_configuration(text: str) -> bool:
    """Whether a file says so of itself."""
    named = API_VERSION.partition("/")[0] in text and bool(_KIND.search(text))
    return named and not _MACHINE_CONFIG_API.search(text)


def check(
    main: File,
    version: Version,
    drop_ins: Sequence[File] = (),
    *,
    openshift: bool = False,
    cgroup_v1: bool = False,
    command: Command = NO_COMMAND,
    is_partial: bool = False,
) -> list[Diagnostic]:
    """Everything that a kubelet of the version refuses, or drops with only a line in its log.

    `drop_ins` are those of its folder, in the order in which it merges them.
    """
    where = "these files" if drop_ins else "this file"
    placed = located(
        main,
        version,
        drop_ins,
        openshift=openshift,
        cgroup_v1=cgroup_v1,
        command=command,
        is_partial=is_partial,
    )
    return [
        diagnose(
            finding.code,
            position,
            where=where,
            problem=finding.text,
            hint=hint_for(finding.text),
        )
        for finding, position in placed
    ]


def located(
    main: File,
    version: Version,
    drop_ins: Sequence[File] = (),
    *,
    openshift: bool = False,
    cgroup_v1: bool = False,
    command: Command = NO_COMMAND,
    is_partial: bool = False,
) -> Iterator[tuple[Finding, Position | None]]:
    """The same with a command line, as findings and their places."""
    read = [main, *drop_ins]
    # Problems of this reader are not the kubelet's: it takes octal numbers, anchors and keys that
    # are there twice.
    sources = [file.source or _first_document(file) for file in read]
    texts = [file.text for file in read]
    if command.problem:
        yield Finding("CP703", command.problem), command.place
    for finding in findings(
        texts,
        version,
        openshift=openshift,
        cgroup_v1=cgroup_v1,
        flags=command.fields,
        is_partial=is_partial,
    ):
        if finding.field and finding.field[0] in command.fields:
            yield finding, command.place
            continue
        number, field = _place(finding, texts)
        yield finding, _position(read[number], sources[number], finding._replace(field=field))


def place_of(files: Sequence[File], command: Command, field: Field) -> Position | None:
    """Where the files, or the command line that counts after them, say a field."""
    if field[0] in command.fields:
        return command.place
    number, spelt = _place(Finding("", "", field), [file.text for file in files])
    source = files[number].source or _first_document(files[number])
    return _position(files[number], source, Finding("", "", spelt, is_key=True))


def _first_document(file: File) -> Source | None:
    from cpuplan.language.read import yaml

    return next(iter(yaml.parse(file.path, file.text)[0]), None)


def findings(
    texts: Sequence[str],
    version: Version,
    *,
    openshift: bool = False,
    cgroup_v1: bool = False,
    flags: Mapping[str, Any] = NO_COMMAND.fields,
    is_partial: bool = False,
) -> Iterator[Finding]:
    """The same without places, of the configuration file, its drop-ins and fields of flags.

    `is_partial`: reservations may be in what lies under these, and are not missed.
    """
    main, *drop_ins = texts
    raw = override(reduce(merge, map(raw_fields, texts)), flags)
    try:
        loaded = server.load(
            main, drop_ins, version, is_openshift=openshift, cgroup_v1=cgroup_v1, flags=flags
        )
    except server.StageError as error:
        yield from _unreadable(error)
        return
    except PanicError as error:
        field = field_of(str(error), {FEATURE_GATES.head: raw.get(FEATURE_GATES.head)})
        yield Finding("CP702", str(error), field, is_key=True)
        # What else is wrong does not depend on the gates that crash it.
        others = json.dumps({name: raw[name] for name in raw if name != FEATURE_GATES.head})
        yield from findings(
            [others], version, openshift=openshift, cgroup_v1=cgroup_v1, is_partial=is_partial
        )
        return
    yield from _dropped(loaded.strict_errors, 0)
    for number, text in enumerate(drop_ins, 1):
        yield from _dropped(unread_fields(text, version), number)
    for problem in loaded.errors:
        yield Finding("CP703", problem, field_of(problem, raw))
    yield from check_managers(loaded.config, version, is_partial=is_partial)


def _unreadable(error: server.StageError) -> Iterator[Finding]:
    """A file that cannot be read, or a value of the wrong type in the merged ones."""
    cause = error.__cause__
    yield from _dropped(cause.strict_errors if isinstance(cause, DecodeError) else (), 0)
    line, field = _LINE.search(str(error)), _STRUCT_FIELD.search(str(error))
    yield Finding(
        "CP710",
        str(error),
        _parts(field[1]) if field else (),
        line=int(line[1]) if line else 0,
        file=error.file,
    )


def _dropped(strict_errors: Iterable[str], number: int) -> Iterator[Finding]:
    """What the strict decoder refuses; all repeated keys are one text of the kubelet."""
    for error in strict_errors:
        for text in error.removeprefix(DUPLICATES).split("\n"):
            line, field = _LINE.search(text), _UNKNOWN.search(text)
            parts = _parts(field[1]) if field else ()
            yield Finding("CP709", text.strip(), parts, True, int(line[1]) if line else 0, number)


def _parts(path: str) -> Field:
    """`field[0].numaNode` as the way to a value."""
    return tuple(int(part) if part.isdecimal() else part for part in _PART.findall(path))


def _place(finding: Finding, texts: Sequence[str]) -> tuple[int, Field]:
    """The number of the file that a finding is about, and the field as it is spelt there.

    That is the last file that has the field, or else as much of the way to it as any.
    """
    if finding.file is not None:
        return finding.file, finding.field
    for length in range(len(finding.field), 0, -1):
        for number in reversed(range(len(texts))):
            spelt = _spelt(raw_fields(texts[number]), finding.field[:length], any_case=number > 0)
            if spelt is not None:
                return number, (*spelt, *finding.field[length:])
    return 0, finding.field


def _spelt(fields: Any, field: Field, *, any_case: bool) -> Field | None:
    """A field as a file spells it, which may be in any case in drop-ins; None if it has it not."""
    spelt: list[str | int] = []
    for part in field:
        if isinstance(fields, list):
            known: dict[Any, Any] = dict(enumerate(fields))
        else:
            known = fields if isinstance(fields, dict) else {}
        key = next((name for name in known if _same(name, part, any_case=any_case)), None)
        if key is None:
            return None
        spelt.append(key)
        fields = known[key]
    return tuple(spelt)


def _same(name: object, part: str | int, *, any_case: bool) -> bool:
    return name == part or (any_case and str(name).lower() == str(part).lower())


def _position(file: File, source: Source | None, finding: Finding) -> Position | None:
    if not file.path:
        return None
    if finding.line or source is None:
        return Position(file.path, finding.line or 1, 1)
    return (
        source.key_at(finding.field)
        if finding.is_key and finding.field
        else source.value_at(finding.field)
    )


_SOCKET = expression(r"/(crio|containerd)\.sock\b")


def runtimes_of(text: str) -> list[str]:
    """The container runtimes whose sockets a text names, each once."""
    return sorted(set(_SOCKET.findall(text)))
