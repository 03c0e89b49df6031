"""`cpuplan import kubelet`: an Intent for each kubelet's configuration, or for those alike."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from cpuplan.base import naming
from cpuplan.base.naming import fold_names
from cpuplan.base.text import joined
from cpuplan.cli.kubelets import Known
from cpuplan.cli.output import note, settings
from cpuplan.diagnostics import CpuplanError, Diagnostic, diagnose
from cpuplan.facts import platforms
from cpuplan.facts.programs import PROGRAMS
from cpuplan.fleet.groups import Group, build_groups
from cpuplan.importers.documents import DEFAULT_CLUSTER
from cpuplan.language.read import files
from cpuplan.language.read.documents import Documents
from cpuplan.profiles import loading
from cpuplan.simulate.files import kubelet_intents

if TYPE_CHECKING:
    from cpuplan.base.topology import Topology


class Asked(NamedTuple):
    """What the options say; empty where they say nothing."""

    cluster: str = ""
    node: str = ""
    platform: str = ""
    release: str = ""


class Adopted(NamedTuple):
    """The Intents by name, and what is to be said of them."""

    intents: Mapping[str, Mapping[str, Any]]
    diagnostics: tuple[Diagnostic, ...]


def adopt(known: Sequence[Known], asked: Asked, imported: Mapping[str, str]) -> Adopted:
    """The Intents of kubelets; `imported` are the documents of their machines, by file name."""
    around = _Around(imported)
    diagnostics: list[Diagnostic] = []
    intents: list[dict[str, Any]] = []
    for kubelet in known:
        made = kubelet_intents.intent(kubelet.judged, _wanted(kubelet, asked, around))
        diagnostics += made.diagnostics
        if kubelet.unseen:
            diagnostics.append(diagnose("CP2529", path=kubelet.path, reason=kubelet.unseen))
        intents += [made.intent] if made.intent else []
    return Adopted(_by_name(_alike(intents)), tuple(dict.fromkeys(diagnostics)))


def _alike(intents: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """One Intent for nodes whose kubelets say the same."""
    alike: dict[str, list[dict[str, Any]]] = {}
    for intent in intents:
        spec = intent["spec"]
        clusters = spec["selector"].get("clusters")
        rest = {name: value for name, value in spec.items() if name != "selector"}
        alike.setdefault(repr((clusters, rest)), []).append(intent)
    for first, *others in alike.values():
        selector = first["spec"]["selector"]
        names = [name for known in (first, *others) for name in _nodes(known)]
        if names:
            selector["nodes"] = fold_names(sorted(set(names)))
        yield first


def _nodes(intent: Mapping[str, Any]) -> list[str]:
    names: list[str] = intent["spec"]["selector"].get("nodes", [])
    return names


def _by_name(intents: Iterable[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The Intents by their names, of which each has one of its own."""
    named: dict[str, dict[str, Any]] = {}
    for intent in intents:
        base = str(intent["metadata"]["name"])
        numbered = (f"{base}-{number}" for number in range(2, len(named) + 3))
        name = base if base not in named else next(n for n in numbered if n not in named)
        intent["metadata"]["name"] = name
        named[name] = intent
    return named


class _Around:
    """What the machines that are imported too, and the project, say of nodes."""

    def __init__(self, imported: Mapping[str, str]) -> None:
        self._imported = imported

    @cached_property
    def project(self) -> Documents:
        """The project's documents; those with mistakes are said by `validate`."""
        root = settings().root
        return loading.read(root, files.input_files(root).files)[0]

    @cached_property
    def _groups(self) -> list[tuple[Documents, Group]]:
        """Groups of nodes, those of the imported machines first."""
        texts = {f"inventories/{name}": text.encode() for name, text in self._imported.items()}
        known = [loading.from_texts(texts)[0]] if texts else []
        known.append(self.project)
        return [(documents, group) for documents in known for group in build_groups(documents, [])]

    def cluster(self, node: str) -> str:
        """The cluster of a node, or the only one of the inventory."""
        groups = [group for _, group in self._groups if not node or node in group.names]
        names = {group.cluster for group in groups}
        return names.pop() if len(names) == 1 else DEFAULT_CLUSTER

    def topology(self, cluster: str, node: str) -> "Topology | None":
        """The machine of a node, or of all nodes of a cluster where they have the same one."""
        from cpuplan.fleet.hardware import build

        groups = [
            (documents, group)
            for documents, group in self._groups
            if group.cluster == cluster and (not node or node in group.names)
        ]
        if node:
            groups = groups[:1]
        if len({(group.hardware, str(group.offline)) for _, group in groups}) != 1:
            return None
        documents, group = groups[0]
        document = documents.by_name.get(("Hardware", group.hardware))
        return build(document.spec, group.offline)[0] if document else None

    def releases(self, platform: platforms.Platform) -> list[str]:
        """The releases of the project's targets of a platform."""
        intents = self.project.of_kind("Intent")
        targets = [target for intent in intents for target in intent.spec.targets]
        own = [target for target in targets if platforms.of(target) is platform]
        return sorted({target.version for target in own})


def _wanted(known: Known, asked: Asked, around: _Around) -> kubelet_intents.Wanted:
    node = asked.node or known.told.node
    cluster = asked.cluster or around.cluster(node)
    selector: dict[str, Any] = {"clusters": [cluster]}
    if node:
        selector["nodes"] = [node]
    name = naming.name_from(node or cluster, "kubelet")
    return kubelet_intents.Wanted(
        name,
        selector,
        _target(known, asked, around),
        around.topology(cluster, node),
        known.is_effective,
    )


def _target(known: Known, asked: Asked, around: _Around) -> dict[str, str]:
    told = known.told
    name = asked.platform or told.platform or _platform(known)
    platform = platforms.PLATFORMS[name]
    release = asked.release or told.release or _only(around.releases(platform), platform)
    if release not in platform.releases:
        from cpuplan.components.checks import releases

        raise CpuplanError([releases.unknown(PROGRAMS[name], release)])
    target = {"platform": name, "version": release}
    if platform.has_runtime_choice and told.runtime:
        target["runtime"] = told.runtime
    return target


def _platform(known: Known) -> str:
    """Kubernetes, unless the file is one of K3s or RKE2, which have the same."""
    if known.is_rancher:
        raise click.UsageError(
            f"{known.path} is a configuration of K3s or RKE2, and does not say of which: give "
            "--platform k3s or --platform rke2"
        )
    return platforms.KUBERNETES.name


def _only(releases: Sequence[str], platform: platforms.Platform) -> str:
    """The release that the project's targets have, if they have one; else the user is asked."""
    if len(releases) == 1:
        note(f"note: the kubelet is read for {platform.title} {releases[0]}, as the project's are")
        return releases[0]
    why = f"the project has targets of {joined(releases)}" if releases else "no file says it"
    example = list(platform.releases)[-1]
    raise click.UsageError(
        f"unknown release of {platform.title}: {why}; give it with --release, such as "
        f"--release {example}"
    )
