"""KubeletConfigurations and flags in what people have, told by the documents of a file.

Known are: a kubelet's own file; files of kubeadm; the ConfigMap `kubelet-config`; a List; the
answer of `configz`; clusters of kind; objects of Cluster API; configurations of K3s and RKE2, of
Talos and of EKS nodes (NodeConfig).
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from cpuplan.diagnostics import Diagnostic
from cpuplan.diagnostics.source import Field, Position, Source
from cpuplan.facts.platforms import EKS
from cpuplan.language.read import yaml
from cpuplan.simulate.files.kubelet_configuration import (
    NO_COMMAND,
    NO_FILE,
    Command,
    File,
    is_kubelet_configuration,
)
from cpuplan.simulate.files.kubelet_owners import (
    EXTRA_ARGS,
    KUBELET_ARG,
    Owner,
    faults,
    form_fault,
    is_configuration,
    items_of,
    owner_of,
    texts_of,
)
from cpuplan.simulate.files.platform_files import (
    command_of,
    of_bottlerocket,
    of_command_line,
    of_flags,
    of_patch,
)
from cpuplan.upstream.kubelet.config.types import API_VERSION, KIND, with_fractions

#: In whose objects texts with documents, and flags, stand anywhere below.
_NESTING = (Owner.KUBEADM, Owner.KIND, Owner.CLUSTER_API)


class Judged(NamedTuple):
    """A configuration, what is merged over it, and flags.

    `is_partial`: its platform lays it over one of its own, so that reservations may be there.
    """

    main: File
    drop_ins: tuple[File, ...] = ()
    command: Command = NO_COMMAND
    is_partial: bool = False


class Documents(NamedTuple):
    """What a file has for kubelets, whose file it is, and what its program refuses."""

    owner: Owner
    judged: tuple[Judged, ...]
    faults: tuple[Diagnostic, ...] = ()
    place: Position | None = None


def documents(path: str, text: str) -> Documents | None:
    """What a file has for kubelets; None for a file that is none of these."""
    if (of_name := _of_name(path, text)) is not None:
        return of_name
    sources, problems = yaml.parse(path, text)
    if problems and "{{" in text:
        return None  # a template: what it becomes is for its program
    if not sources or is_configuration(sources[0].data):
        is_broken = not sources and bool(problems) and is_kubelet_configuration(text)
        if not sources and not is_broken:
            return None
        flags = [command for source in sources[1:] for command in _flags(source)]
        return Documents(Owner.KUBELET, (Judged(File(path, text), command=_first(flags)),))
    owners = [owner for source in sources if (owner := owner_of(source.data))]
    if not owners or any(map(_is_read_elsewhere, sources)):
        return None
    lines, place = text.split("\n"), sources[0].value_at(("kind",))
    wrong = list(_syntax(problems))
    for source in sources:
        wrong += [*faults(source), *_form_faults(source)]
    parts = [part for source in sources for part in _of_document(source, lines, wrong)]
    flags = [command for source in sources for command in _flags(source)]
    return Documents(owners[0], tuple(_with_flags(parts, flags, path)), tuple(wrong), place)


#: Targets of kubeadm's `--patches`, of which one is the kubelet's (cmd/kubeadm/app/util/patches).
_PATCH = re.compile(r"kubeletconfiguration[^+./]*(\+(?P<type>strategic|merge|json))?\.(json|yaml)")


def _of_name(path: str, text: str) -> Documents | None:
    """What only the name of a file, or its form, tells: patches, settings, flags in lines."""
    name = path.rpartition("/")[2]
    if patch := _PATCH.fullmatch(name):
        owner, laid = Owner.PATCH, of_patch(path, text, is_json=patch["type"] == "json")
    elif name.endswith(".toml"):
        owner, laid = Owner.BOTTLEROCKET, of_bottlerocket(path, text)
    else:
        owner, laid = Owner.MICROK8S, of_flags(path, text)
    if laid is None:
        return None
    drop_ins = (laid.fields,) if laid.fields else ()
    main = NO_FILE._replace(path=path)
    judged = Judged(main, drop_ins, laid.command or NO_COMMAND, is_partial=True)
    return Documents(owner, (judged,))


def flags_of_text(path: str, text: str) -> Documents | None:
    """A command line of a kubelet, or a file of flags or variables; None for any other text."""
    command = of_command_line(path, text)
    judged = command and Judged(NO_FILE, command=command, is_partial=True)
    return Documents(Owner.FLAGS, (judged,)) if judged else None


def _is_read_elsewhere(source: Source) -> bool:
    """Whether a document is one of cpuplan, or of OpenShift, which others read."""
    data: Any = source.data
    group = str(data.get("apiVersion", "")) if isinstance(data, dict) else ""
    return "cpuplan.io/" in group or "openshift.io/" in group


def _first(flags: Iterable[Command]) -> Command:
    return next(iter(flags), NO_COMMAND)


def _with_flags(parts: list[Judged], flags: list[Command], path: str) -> Iterator[Judged]:
    """Flags count for the configuration of their file; else for the platform's own one."""
    if len(parts) == 1 and flags:
        yield parts[0]._replace(command=flags[0])
        flags = flags[1:]
    else:
        yield from parts
    own = NO_FILE._replace(path=path)
    for command in flags:
        yield Judged(own, command=command, is_partial=True)


def _syntax(problems: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """What is no YAML for any reader; what they disagree on is for the program to judge."""
    yield from (problem for problem in problems if problem.code == "CP101")


def _form_faults(source: Source) -> Iterator[Diagnostic]:
    for field, value in _walk(source.data):
        if field and field[-1] == EXTRA_ARGS and (wrong := form_fault(source, field, value)):
            yield wrong


def _of_document(source: Source, lines: Sequence[str], wrong: list[Diagnostic]) -> Iterator[Judged]:
    data: Any = source.data
    owner = owner_of(data)
    if owner is Owner.KUBELET:
        yield Judged(_file(source, ()))
    elif owner is Owner.CONFIGZ:
        yield Judged(_file(source, ("kubeletconfig",)))
    elif owner is Owner.LIST:
        for index in range(len(items_of(data))):
            yield from _of_document(source.part(("items", index)), lines, wrong)
    elif owner is Owner.CONFIG_MAP:
        for name in texts_of(data):
            yield from _of_text(source, ("data", name), lines, wrong, is_partial=False)
    elif owner is Owner.TALOS:
        yield from _laid_over(source, ("machine", "kubelet", "extraConfig"), NO_FILE)
    elif owner is Owner.EKS:
        base = {"apiVersion": API_VERSION, "kind": KIND, **_reserved_cgroups()}
        yield from _laid_over(source, ("spec", "kubelet", "config"), File("", json.dumps(base)))
    elif owner in _NESTING:
        for field, value in _walk(data):
            if isinstance(value, str) and KIND in value:
                yield from _of_text(source, field, lines, wrong, is_partial=True)


def _reserved_cgroups() -> dict[str, Any]:
    """Of what lies under the configuration of an EKS node, all that a given one can contradict."""
    return {name: value for name, value in EKS.base().items() if name.endswith("ReservedCgroup")}


def _file(source: Source, field: Field) -> File:
    """The value at a field as a kubelet's file, at its places in the document."""
    part = source.part(field) if field else source
    given: Any = part.data
    head = {"apiVersion": API_VERSION, "kind": KIND}
    fields = with_fractions({**head, **given})
    return File(source.path, json.dumps(fields, default=str), part)


def _laid_over(source: Source, field: Field, base: File) -> Iterator[Judged]:
    """A map of fields that a platform merges over its own configuration."""
    if isinstance(_value(source.data, field), dict):
        yield Judged(base, (_file(source, field),), is_partial=True)


def _of_text(
    source: Source,
    field: Field,
    lines: Sequence[str],
    wrong: list[Diagnostic],
    *,
    is_partial: bool,
) -> Iterator[Judged]:
    """The KubeletConfigurations in a text; their places are those of the text's lines."""
    text = str(_value(source.data, field))
    place = source.key_at(field)
    sources, problems = yaml.parse(source.path, text)
    wrong += [problem._replace(position=place, labels=()) for problem in _syntax(problems)]
    for inner in sources:
        if is_configuration(inner.data):
            moved = _moved(inner, place, text, lines)
            yield Judged(_file(moved, ()), is_partial=is_partial)


def _moved(inner: Source, place: Position, text: str, lines: Sequence[str]) -> Source:
    """A document of a block of text, whose lines begin below the key; else all at the key."""
    below = lines[place.line] if place.line < len(lines) else ""
    if below.strip() and below.strip() == text.partition("\n")[0].strip():
        return inner.moved(place.line, len(below) - len(below.lstrip()))
    return Source(inner.path, inner.data, {}, (place.line - 1, place.column - 1))


def _value(data: Any, field: Field) -> Any:
    for name in field:
        if isinstance(data, dict):
            data = data.get(name)
        elif isinstance(data, list) and isinstance(name, int) and name < len(data):
            data = data[name]
        else:
            return None
    return data


def _walk(data: Any) -> Iterator[tuple[Field, Any]]:
    """Each value of a document with its field, outer ones first."""
    todo: list[tuple[Field, Any]] = [((), data)]
    for field, value in todo:
        yield field, value
        if isinstance(value, dict):
            todo += [((*field, name), child) for name, child in value.items()]
        elif isinstance(value, list):
            todo += [((*field, index), child) for index, child in enumerate(value)]


def _flags(source: Source) -> Iterator[Command]:
    """The flags of kubelets in a document, each group with its place."""
    data: Any = source.data
    owner = owner_of(data)
    groups: Iterable[tuple[Field, list[str]]] = ()
    if owner is Owner.RANCHER:
        groups = _of_rancher(data)
    elif owner is Owner.TALOS:
        groups = _at(data, ("machine", "kubelet", "extraArgs"))
    elif owner is Owner.EKS:
        groups = _at(data, ("spec", "kubelet", "flags"))
    elif owner in _NESTING:
        groups = _extra_arguments(data)
    for field, words in groups:
        yield command_of(words, source.key_at(field))


def _at(data: Any, field: Field) -> Iterator[tuple[Field, list[str]]]:
    value = _value(data, field)
    if value:
        yield field, _words(value)


def _extra_arguments(data: Any) -> Iterator[tuple[Field, list[str]]]:
    for field, value in _walk(data):
        if field and field[-1] == EXTRA_ARGS:
            yield field, _words(value)


def _of_rancher(data: Mapping[str, Any]) -> Iterator[tuple[Field, list[str]]]:
    """`kubelet-arg`, and `kubelet-arg+` after it, as K3s merges them."""
    words: list[str] = []
    names = [name for name in (KUBELET_ARG, f"{KUBELET_ARG}+") if name in data]
    for name in names:
        words += _words(data[name])
    if names:
        yield (names[0],), words


def _words(value: Any) -> list[str]:
    """Flags as a map, as a list of texts, or as kubeadm's list of names and values."""
    if isinstance(value, dict):
        return [f"--{name}={_text(given)}" for name, given in value.items()]
    words = []
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, dict):
            words.append(f"--{item.get('name')}={_text(item.get('value'))}")
        else:
            words.append(f"--{str(item).lstrip('-')}")
    return words


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
