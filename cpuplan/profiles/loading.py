"""The documents of a project's files; PerformanceProfiles are read as Intents."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from cpuplan.base.progress import follow
from cpuplan.base.text import nearest
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Position, Source
from cpuplan.fleet import cluster_objects, openshift
from cpuplan.language.read import documents, kustomize, manifests, yaml
from cpuplan.language.read import files as inputs
from cpuplan.language.read.documents import Documents
from cpuplan.language.read.files import FOLDERS, LOCK_NAME, manifest_files

#: The apiVersion of Kubernetes objects; see `profiles.reader`.
_API_VERSION = re.compile(
    r"v[0-9]+((alpha|beta)[0-9]+)?|[a-z0-9.-]+\.[a-z0-9.-]+/v[0-9]+((alpha|beta)[0-9]+)?|(apps|batch|policy|autoscaling)/v[0-9]+\w*"
)


def read(
    root: Path, files: Iterable[Path], release: Callable[[], str] | None = None, mode: str = ""
) -> tuple[Documents, list[Diagnostic]]:
    """Read the documents of `files`; paths in diagnostics are relative to `root`.

    Files below `root` must not be links that leave it. `release` returns the release of
    PerformanceProfiles if no object next to them has it; by default, the newest one. `mode` is that
    of Intents which take their place.
    """
    paths = [path for path in files if path.name != LOCK_NAME]
    texts, refused = inputs.read_files(root, [*paths, *manifest_files(root)])
    return from_texts(texts, refused, release, mode)


def from_texts(
    texts: Mapping[str, bytes],
    refused: Sequence[Diagnostic] = (),
    release: Callable[[], str] | None = None,
    mode: str = "",
) -> tuple[Documents, list[Diagnostic]]:
    """The documents of files by name; `refused` reports further files that cannot be read."""
    diagnostics = [*refused]
    sources: list[Source] = []
    pods: dict[str, bytes] = {}
    texts, unmade = kustomize.set_aside(texts)
    for name, data in follow("documents", len(texts), texts.items(), lambda item: item[0]):
        if manifests.is_manifest(name):
            pods[name] = data
            continue
        of_file, problems = yaml.decode(name, data)
        problems = [problem for problem in problems if not _is_of_others(problem, of_file)]
        is_own = name.startswith(_OWN_FOLDERS)
        if problems and not is_own and b"{{" in data:
            unmade.append(diagnose("CP2404", Position(name, 1, 1), path=name))
            continue
        taken = of_file if is_own else list(filter(_is_object, of_file))
        sources += taken
        # A file of another name was given by name: it is meant to be read.
        is_meant = is_own or taken or not name.endswith((".yaml", ".yml", ".json"))
        diagnostics += [problem for problem in problems if is_meant or problem.code not in _ALIEN]
    diagnostics += manifests.insert(sources, pods)
    read_documents, problems = _documents(sources, release or openshift.newest, mode)
    read_documents = read_documents._replace(sources=tuple(sources))
    if diagnostics:
        read_documents = read_documents._replace(broken=read_documents.broken | {("", "")})
    # A scalar that was refused as YAML is wrong as a value too, and is reported once.
    wrong = {diagnostic.position for diagnostic in diagnostics}
    diagnostics += [problem for problem in problems if problem.position not in wrong]
    diagnostics += unmade
    if not sources and not diagnostics:
        diagnostics.append(diagnose("CP109", path=" and ".join(f"{folder}/" for folder in FOLDERS)))
    return read_documents, diagnostics


_OWN_FOLDERS = tuple(f"{folder}/" for folder in FOLDERS)


def _is_object(source: Source) -> bool:
    """Whether a document of a file that is not the project's is an object, or is meant as ours."""
    data: Any = source.data
    version, kind = str(data.get("apiVersion") or ""), str(data.get("kind") or "")
    if _is_of_cluster(source) or "cpuplan" in version or kind in documents.KINDS:
        return True
    if version:
        return False
    return bool(nearest(kind, documents.KINDS)) if kind else {"metadata", "spec"} <= data.keys()


def is_read(source: Source) -> bool:
    """Whether anything looks at a document of a file that is not the project's."""
    if not _is_of_cluster(source):
        return _is_object(source)
    from cpuplan.profiles import reader  # few projects have such objects

    return reader.is_read(source.data)


#: What YAML readers disagree on, and what is legal but not read.
_ODD = ("CP103", "CP104", "CP113")
_LEGAL = ("CP105", "CP107")
_ALIEN = (*_ODD, *_LEGAL)
#: Profiles, and what may contain them.
_WITH_PROFILE = re.compile("PerformanceProfile|ConfigMap|(Configuration)?Policy|.*List")


def _is_of_others(problem: Diagnostic, sources: Sequence[Source]) -> bool:
    """Whether a problem is of YAML that others write and read, and says nothing of the plan."""
    line = problem.position.line if problem.position else 0
    around = [source for source in sources if source.start[0] < line]
    if not around or not _is_of_cluster(around[-1]):
        return False
    data: Any = around[-1].data
    kind = data["kind"]
    if kind in openshift.KINDS:
        return problem.code in _ODD
    return not _WITH_PROFILE.fullmatch(kind) and problem.code in _ALIEN


def _documents(
    sources: list[Source], release: Callable[[], str], mode: str
) -> tuple[Documents, list[Diagnostic]]:
    own = [source for source in sources if not _is_of_cluster(source)]
    read_documents, diagnostics = documents.from_sources(own)
    if len(own) == len(sources):
        return read_documents, diagnostics
    from cpuplan.profiles import reader  # few projects have such objects

    of_cluster = [source for source in sources if _is_of_cluster(source)]
    profiles = reader.read(of_cluster, release, mode)
    together, problems = documents.by_name([*read_documents.by_name.values(), *profiles.intents])
    broken = read_documents.broken | profiles.broken
    together = cluster_objects.with_given(together._replace(broken=broken), profiles.objects)
    return together, [*diagnostics, *profiles.diagnostics, *problems]


def _is_of_cluster(source: Source) -> bool:
    """Whether a document is an object of a cluster, possibly with a misspelt apiVersion or kind."""
    data: Any = source.data
    version, kind = data.get("apiVersion"), data.get("kind")
    if not isinstance(version, str) or not isinstance(kind, str) or kind in documents.KINDS:
        return False
    return bool(_API_VERSION.fullmatch(version)) and "cpuplan" not in version
