"""The objects of a cluster in files: output of kubectl, and must-gathers."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from cpuplan.check.cluster.live_objects import KINDS, Key, Objects, namespace_of, problem_in
from cpuplan.check.cluster.machineconfig import CURRENT
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Source
from cpuplan.language.read.files import object_files
from cpuplan.language.read.manifests import read_file
from cpuplan.language.read.pods import value_of
from cpuplan.simulate.files.objects import Object, objects

#: The folder that every image of a must-gather writes to.
_MUST_GATHER = "cluster-scoped-resources"
_PLURALS = {kind.plural for kind in KINDS.values()}
_CONFIGS = KINDS["MachineConfig"].plural


def read_objects(
    paths: Iterable[Path], shown: Callable[[Path], str]
) -> tuple[Objects, list[Diagnostic]]:
    """The objects in files and folders, and what is wrong with these; `shown` names a file.

    Of a must-gather only what is compared is read: it has thousands of files.
    """
    sources: list[Source] = []
    problems: list[Diagnostic] = []
    late: list[Path] = []
    for path in paths:
        files, refused = object_files(path)
        problems += refused
        is_gathered = any(_MUST_GATHER in file.parts for file in files)
        for file in _relevant(files) if is_gathered else files:
            if is_gathered and file.parent.name == _CONFIGS:
                late.append(file)
                continue
            documents, wrong = read_file(file, shown(file))
            sources += documents
            problems += wrong
    wanted = set(_rendered(objects(sources)))
    for file in late:
        if file.stem in wanted:
            documents, wrong = read_file(file, shown(file))
            sources += documents
            problems += wrong
    kept: list[Object] = []
    unread: dict[Key, str] = {}
    for listed in objects(sources):
        problem = problem_in(listed.kind, listed.data) if listed.kind in KINDS else ""
        if not problem:
            kept.append(listed)
            continue
        unread[listed.kind, namespace_of(listed), listed.name] = (
            f"it is no {listed.kind}: {problem}"
        )
        place = listed.source.value_at(listed.at)
        said = diagnose("CP8133", place, object=listed.title, kind=listed.kind, problem=problem)
        problems.append(said)
    return Objects(kept, unread), problems


def _relevant(files: Iterable[Path]) -> Iterator[Path]:
    """Files in folders of the kinds that are compared, and the lists of these kinds."""
    for file in files:
        is_of_kind = file.parent.name in _PLURALS or file.stem in _PLURALS
        is_pod_or_namespace = "pods" in file.parts or file.parent.parent.name == "namespaces"
        if is_of_kind or is_pod_or_namespace:
            yield file


def _rendered(given: Iterable[Object]) -> Iterator[str]:
    """The names of the rendered MachineConfigs of nodes and pools; there are dozens of others."""
    for listed in given:
        if listed.kind == "Node":
            yield listed.annotations.get(CURRENT, "")
        elif listed.kind == "MachineConfigPool":
            yield str(value_of(listed.data, ("spec", "configuration", "name")))
