"""KubeletConfigurations and flags in what people have, told by the documents of a file.

Known are: a kubelet's own file; files of kubeadm; the ConfigMap `kubelet-config`; a List; the
answer of `configz`; clusters of kind; objects of Cluster API; configurations of K3s and RKE2, of
Talos and of EKS nodes (NodeConfig).
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

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
from cpuplan.upstream.kubelet.config.options import parse_flags
from cpuplan.upstream.kubelet.config.types import API_VERSION, KIND
from cpuplan.upstream.kubernetes.errors import KubeletError

_GROUP = API_VERSION.partition("/")[0]
#: In whose objects texts with documents, and flags, stand anywhere below.
_NESTING = ("kubeadm", "kind", "Cluster API")
_EXTRA_ARGS = "kubeletExtraArgs"
_KUBELET_ARG = "kubelet-arg"
#: Options of a server or agent of K3s and RKE2 (docs.k3s.io, cli/server and cli/agent).
_RANCHER = frozenset(
    {
        "agent-token",
        "cluster-cidr",
        "cluster-init",
        "cni",
        "data-dir",
        "disable",
        "etcd-expose-metrics",
        "flannel-backend",
        "kube-apiserver-arg",
        "kube-proxy-arg",
        "node-ip",
        "node-label",
        "node-name",
        "node-taint",
        "profile",
        "protect-kernel-defaults",
        "selinux",
        "server",
        "service-cidr",
        "tls-san",
        "token",
        "write-kubeconfig-mode",
    }
)


class Judged(NamedTuple):
    """A configuration, what is merged over it, and flags.

    `is_partial`: its platform lays it over one of its own, so that reservations may be there.
    """

    main: File
    drop_ins: tuple[File, ...] = ()
    command: Command = NO_COMMAND
    is_partial: bool = False


class Documents(NamedTuple):
    """What a file has for kubelets, and whose file it is, for people."""

    owner: str
    judged: tuple[Judged, ...]


def documents(path: str, text: str) -> Documents | None:
    """What a file has for kubelets; None for a file that is none of these."""
    sources, problems = yaml.parse(path, text)
    if not sources or _is_configuration(sources[0].data):
        is_broken = not sources and bool(problems) and is_kubelet_configuration(text)
        if not sources and not is_broken:
            return None
        flags = [command for source in sources[1:] for command in _flags(source)]
        return Documents("the kubelet", (Judged(File(path, text), command=_first(flags)),))
    owners = [owner for source in sources if (owner := _owner(source.data))]
    if not owners or any(map(_is_read_elsewhere, sources)):
        return None
    lines = text.split("\n")
    parts = [part for source in sources for part in _of_document(source, lines)]
    flags = [command for source in sources for command in _flags(source)]
    return Documents(owners[0], tuple(_with_flags(parts, flags, path)))


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


def _is_configuration(data: Any) -> bool:
    """Whether a document is a KubeletConfiguration, of whatever version."""
    if not isinstance(data, dict) or data.get("kind") != KIND:
        return False
    return str(data.get("apiVersion", _GROUP)).startswith(_GROUP)


def _owner(data: Any) -> str:
    """Whose document it is; empty where that is not known."""
    if not isinstance(data, dict):
        return ""
    group, kind = str(data.get("apiVersion", "")), data.get("kind")
    rows: tuple[tuple[bool, str], ...] = (
        (_is_configuration(data), "the kubelet"),
        (isinstance(data.get("kubeletconfig"), dict), "the kubelet (configz)"),
        (group.startswith("kubeadm.k8s.io/"), "kubeadm"),
        (group.startswith("kind.x-k8s.io/"), "kind"),
        ("cluster.x-k8s.io/" in group, "Cluster API"),
        (group.startswith("node.eks.aws/"), "EKS"),
        (group == "v1" and kind == "ConfigMap" and bool(_texts(data)), "the kubelet (ConfigMap)"),
        (kind == "List" and any(map(_owner, _items(data))), "the kubelet (List)"),
        (not group and isinstance(data.get("machine"), dict), "Talos"),
        (not group and not kind and _is_of_rancher(data), "K3s or RKE2"),
    )
    return next((name for is_so, name in rows if is_so), "")


def _is_of_rancher(data: Mapping[str, Any]) -> bool:
    names = {str(name).removesuffix("+") for name in data}
    return _KUBELET_ARG in names or (bool(names) and names <= _RANCHER)


def _items(data: Mapping[str, Any]) -> list[Any]:
    items = data.get("items")
    return items if isinstance(items, list) else []


def _texts(data: Mapping[str, Any]) -> list[str]:
    """The keys of a ConfigMap below which a KubeletConfiguration stands."""
    entries = data.get("data")
    if not isinstance(entries, dict):
        return []
    return [name for name, value in entries.items() if isinstance(value, str) and KIND in value]


def _of_document(source: Source, lines: Sequence[str]) -> Iterator[Judged]:
    data: Any = source.data
    owner = _owner(data)
    if owner == "the kubelet":
        yield Judged(_file(source, ()))
    elif owner == "the kubelet (configz)":
        yield Judged(_file(source, ("kubeletconfig",)))
    elif owner == "the kubelet (List)":
        for index in range(len(_items(data))):
            yield from _of_document(source.part(("items", index)), lines)
    elif owner == "the kubelet (ConfigMap)":
        for name in _texts(data):
            yield from _of_text(source, ("data", name), lines, is_partial=False)
    elif owner == "Talos":
        yield from _laid_over(source, ("machine", "kubelet", "extraConfig"), NO_FILE)
    elif owner == "EKS":
        base = {"apiVersion": API_VERSION, "kind": KIND, **_reserved_cgroups()}
        yield from _laid_over(source, ("spec", "kubelet", "config"), File("", json.dumps(base)))
    elif owner in _NESTING:
        for field, value in _walk(data):
            if isinstance(value, str) and KIND in value:
                yield from _of_text(source, field, lines, is_partial=True)


def _reserved_cgroups() -> dict[str, Any]:
    """Of what lies under the configuration of an EKS node, all that a given one can contradict."""
    return {name: value for name, value in EKS.base().items() if name.endswith("ReservedCgroup")}


def _file(source: Source, field: Field) -> File:
    """The value at a field as a kubelet's file, at its places in the document."""
    part = source.part(field) if field else source
    given: Any = part.data
    head = {"apiVersion": API_VERSION, "kind": KIND}
    return File(source.path, json.dumps({**head, **given}, default=str), part)


def _laid_over(source: Source, field: Field, base: File) -> Iterator[Judged]:
    """A map of fields that a platform merges over its own configuration."""
    if isinstance(_value(source.data, field), dict):
        yield Judged(base, (_file(source, field),), is_partial=True)


def _of_text(
    source: Source, field: Field, lines: Sequence[str], *, is_partial: bool
) -> Iterator[Judged]:
    """The KubeletConfigurations in a text; their places are those of the text's lines."""
    text = str(_value(source.data, field))
    place = source.key_at(field)
    for inner in yaml.parse(source.path, text)[0]:
        if _is_configuration(inner.data):
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
    owner = _owner(data)
    groups: Iterable[tuple[Field, list[str]]] = ()
    if owner == "K3s or RKE2":
        groups = _of_rancher(data)
    elif owner == "Talos":
        groups = _at(data, ("machine", "kubelet", "extraArgs"))
    elif owner == "EKS":
        groups = _at(data, ("spec", "kubelet", "flags"))
    elif owner in _NESTING:
        groups = _extra_arguments(data)
    for field, words in groups:
        yield _command(words, source.key_at(field))


def _command(words: Sequence[str], place: Position) -> Command:
    try:
        return Command(parse_flags(words).fields, place)
    except KubeletError as error:
        return Command(place=place, problem=str(error))


def _at(data: Any, field: Field) -> Iterator[tuple[Field, list[str]]]:
    value = _value(data, field)
    if value:
        yield field, _words(value)


def _extra_arguments(data: Any) -> Iterator[tuple[Field, list[str]]]:
    for field, value in _walk(data):
        if field and field[-1] == _EXTRA_ARGS:
            yield field, _words(value)


def _of_rancher(data: Mapping[str, Any]) -> Iterator[tuple[Field, list[str]]]:
    """`kubelet-arg`, and `kubelet-arg+` after it, as K3s merges them."""
    words: list[str] = []
    names = [name for name in (_KUBELET_ARG, f"{_KUBELET_ARG}+") if name in data]
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
