"""The documents of a project's files; PerformanceProfiles are read as Intents."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from cpuplan.base.progress import follow
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Source
from cpuplan.language.read import documents, manifests, yaml
from cpuplan.language.read import files as inputs
from cpuplan.language.read.documents import Documents
from cpuplan.language.read.files import FOLDERS, LOCK_NAME, manifest_files

#: The apiVersion of Kubernetes objects; see `profiles.reader`.
_API_VERSION = re.compile(
    r"v[0-9]+((alpha|beta)[0-9]+)?|[a-z0-9.-]+\.[a-z0-9.-]+/v[0-9]+((alpha|beta)[0-9]+)?|(apps|batch|policy|autoscaling)/v[0-9]+\w*"
)


def read(
    root: Path, files: Iterable[Path], release: Callable[[], str] | None = None
) -> tuple[Documents, list[Diagnostic]]:
    """Read the documents of `files`; paths in diagnostics are relative to `root`.

    Files below `root` must not be links that leave it. `release` returns the release of
    PerformanceProfiles if no object next to them has it; by default, the newest one.
    """
    paths = [path for path in files if path.name != LOCK_NAME]
    texts, refused = inputs.read_files(root, [*paths, *manifest_files(root)])
    return from_texts(texts, refused, release)


def from_texts(
    texts: Mapping[str, bytes],
    refused: Sequence[Diagnostic] = (),
    release: Callable[[], str] | None = None,
) -> tuple[Documents, list[Diagnostic]]:
    """The documents of files by name; `refused` reports further files that cannot be read."""
    diagnostics = [*refused]
    sources: list[Source] = []
    pods: dict[str, bytes] = {}
    for name, data in follow("documents", len(texts), texts.items(), lambda item: item[0]):
        if manifests.is_manifest(name):
            pods[name] = data
            continue
        of_file, problems = yaml.decode(name, data)
        sources += of_file
        diagnostics += problems
    diagnostics += manifests.insert(sources, pods)
    read_documents, problems = _documents(sources, release)
    read_documents = read_documents._replace(sources=tuple(sources))
    if diagnostics:
        read_documents = read_documents._replace(broken=read_documents.broken | {("", "")})
    # A scalar that was refused as YAML is wrong as a value too, and is reported once.
    wrong = {diagnostic.position for diagnostic in diagnostics}
    diagnostics += [problem for problem in problems if problem.position not in wrong]
    if not sources and not diagnostics:
        diagnostics.append(diagnose("CP109", path=" and ".join(f"{folder}/" for folder in FOLDERS)))
    return read_documents, diagnostics


def _documents(
    sources: list[Source], release: Callable[[], str] | None
) -> tuple[Documents, list[Diagnostic]]:
    own = [source for source in sources if not _is_of_cluster(source)]
    read_documents, diagnostics = documents.from_sources(own)
    if len(own) == len(sources):
        return read_documents, diagnostics
    from cpuplan.profiles import reader as openshift  # few projects have such objects

    of_cluster = [source for source in sources if _is_of_cluster(source)]
    profiles = openshift.read(of_cluster, release) if release else openshift.read(of_cluster)
    together, problems = documents.by_name([*read_documents.by_name.values(), *profiles.intents])
    broken = read_documents.broken | profiles.broken
    return together._replace(broken=broken), [*diagnostics, *profiles.diagnostics, *problems]


def _is_of_cluster(source: Source) -> bool:
    """Whether a document is an object of a cluster, possibly with a misspelt apiVersion or kind."""
    data: Any = source.data
    version, kind = data.get("apiVersion"), data.get("kind")
    if not isinstance(version, str) or not isinstance(kind, str) or kind in documents.KINDS:
        return False
    return bool(_API_VERSION.fullmatch(version)) and "cpuplan" not in version
