"""Kubernetes objects in files of others, and manifests below `pods/`, put into intents.

What is wrong in such a file is reported at its own place.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from cpuplan.base.files import Unreadable, read_regular
from cpuplan.base.text import did_you_mean, joined
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Field, Position, Source
from cpuplan.language.read import kustomize, yaml
from cpuplan.language.read.files import POD_FOLDER, object_files
from cpuplan.language.read.pods import template_of

#: What YAML readers disagree on (`defaultMode: 0644`, tabs) keeps no pod from being understood.
_PASSED_OVER = ("CP103", "CP104", "CP113")
Read = tuple[list[Source], list[Diagnostic]]


def read_files(paths: Iterable[Path], shown: Callable[[Path], str]) -> Read:
    """The objects in files, and in the files of folders; `shown` is what messages call a file."""
    sources: list[Source] = []
    problems: list[Diagnostic] = []
    for path in paths:
        files, refused = object_files(path)
        problems += refused
        for file in files:
            if file.name in kustomize.NAMES:
                problems += _of_kustomize(file, shown(file))
                continue
            contained, wrong = read_file(file, shown(file))
            sources += contained
            problems += wrong
    return sources, problems


def read_file(path: Path, name: str) -> Read:
    """The objects in one file; `name` is what messages call it."""
    sources, wrong = yaml.read(path, name)
    if wrong and _is_template(path):
        return [], [diagnose("CP1569", Position(name, 1, 1), path=name)]
    return _understood((sources, wrong))


def _is_template(path: Path) -> bool:
    """Whether a program, such as Helm, has still to fill in what stands in two braces."""
    try:
        return b"{{" in read_regular(path)
    except Unreadable:
        return False


def _of_kustomize(path: Path, name: str) -> list[Diagnostic]:
    """CP1570 for a kustomization that changes objects: they are read as they are in the files."""
    sources, wrong = yaml.read(path, name)
    if wrong or not sources:
        return _understood((sources, wrong))[1]
    changes = kustomize.changes_of(sources[0].data)
    if not changes:
        return []
    place = sources[0].key_at((changes[0],))
    return [diagnose("CP1570", place, keys=joined(changes), folder=str(Path(name).parent))]


def _understood(read: Read) -> Read:
    sources, wrong = read
    return sources, [problem for problem in wrong if problem.code not in _PASSED_OVER]


def is_manifest(name: str) -> bool:
    """Whether a file of the project is no document, but may be a manifest."""
    return name.startswith(f"{POD_FOLDER}/")


def insert(sources: Iterable[Source], texts: Mapping[str, bytes]) -> Iterator[Diagnostic]:
    """Put the contents of files into intents instead of their names.

    CP321 for names of no file, and files that do not have one pod or workload.
    """
    for source in sources:
        for at, workload in _workloads(source.data):
            name = workload.get("manifest")
            if isinstance(name, str):
                yield from _insert(source, at, name, texts)


def _workloads(document: Any) -> Iterator[tuple[Field, dict[str, Any]]]:
    spec = document.get("spec") if isinstance(document, dict) else None
    listed = spec.get("workloads") if isinstance(spec, dict) else None
    is_intent = isinstance(document, dict) and document.get("kind") == "Intent"
    for index, workload in enumerate(listed if is_intent and isinstance(listed, list) else ()):
        if isinstance(workload, dict):
            yield ("spec", "workloads", index, "manifest"), workload


def _insert(
    source: Source, at: Field, name: str, texts: Mapping[str, bytes]
) -> Iterator[Diagnostic]:
    place = source.value_at(at)
    if name not in texts:
        hint = did_you_mean(name, texts) if texts else f"put the file below {POD_FOLDER}/"
        yield diagnose("CP321", place, name=name, problem="does not exist", hint=hint)
        return
    objects, problems = _understood(yaml.decode(name, texts[name]))
    pods = [candidate for candidate in objects if template_of(candidate.data)]
    if problems:
        yield from problems
    elif len(pods) != 1:
        problem = f"has {len(pods) or 'no'} pods or workloads, not one"
        hint = "give each of them a file of its own"
        yield diagnose("CP321", place, name=name, problem=problem, hint=hint)
    else:
        source.graft(at, pods[0])
