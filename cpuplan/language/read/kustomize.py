"""Files of Kustomize and Helm, which make objects of other files and are no objects themselves.

Upstream: kubernetes-sigs/kustomize api/types/kustomization.go, helm/helm pkg/chart/metadata.go
"""

import posixpath
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from cpuplan.base.text import first_of, joined
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Position, Source
from cpuplan.language.read import yaml

#: Of a kustomization.
NAMES = ("kustomization.yaml", "kustomization.yml")
_CHART = "Chart.yaml"
#: Fields with other files or folders that contain objects.
_INPUTS = ("resources", "bases", "components")
#: Fields that change objects or make further ones, with the keys of entries that name files; an
#: entry of text is a file itself.
_CHANGES: Mapping[str, tuple[str, ...]] = {
    "patches": ("path",),
    "patchesStrategicMerge": (),
    "patchesJson6902": ("path",),
    "replacements": ("path",),
    "transformers": (),
    "generators": (),
    "helmCharts": ("valuesFile", "additionalValuesFiles"),
    "helmChartInflationGenerator": ("values",),
    "namePrefix": (),
    "nameSuffix": (),
}
#: Fields with files that are no objects and change none that matter here.
_ASIDE: Mapping[str, tuple[str, ...]] = {
    "configurations": (),
    "crds": (),
    "validators": (),
    "openapi": ("path",),
    "configMapGenerator": ("files", "env", "envs"),
    "secretGenerator": ("files", "env", "envs"),
}
_PLUGINS = {
    "transformers": " --enable-alpha-plugins",
    "generators": " --enable-alpha-plugins",
    "helmCharts": " --enable-helm",
    "helmChartInflationGenerator": " --enable-helm",
}
_SHOWN = 3


def changes_of(kustomization: Any) -> list[str]:
    """The fields by which a kustomization changes objects, makes more of them or takes others."""
    known = (*_CHANGES, "replicas", "components", "bases")
    given = kustomization if isinstance(kustomization, dict) else {}
    return [key for key in given if key in known and given[key]]


def set_aside(texts: Mapping[str, bytes]) -> tuple[dict[str, bytes], list[Diagnostic]]:
    """The files that may have documents, and CP2402 for each that makes objects of others."""
    aside: set[str] = set()
    diagnostics: list[Diagnostic] = []
    for name in texts:
        folder, base = posixpath.split(name)
        if base == _CHART:
            below = f"{folder}/" if folder else ""
            aside |= {other for other in texts if other.startswith(below)}
            place, problem = Position(name, 1, 1), "is of a chart, whose templates are not read"
            diagnostics.append(_not_made(place, name, problem, "helm template"))
        elif base in NAMES:
            aside.add(name)
            sources, problems = yaml.decode(name, texts[name])
            diagnostics += [problem for problem in problems if problem.code == "CP101"]
            for source in sources:
                aside |= {posixpath.normpath(f"{folder}/{file}") for file in _files(source.data)}
                diagnostics += _not_applied(source, texts)
    return {name: text for name, text in texts.items() if name not in aside}, diagnostics


def _files(kustomization: Any) -> Iterator[str]:
    """The files that a kustomization reads and that are no objects, as it names them."""
    named: list[Any] = []
    for field, keys in (*_CHANGES.items(), *_ASIDE.items()):
        for entry in _entries(kustomization.get(field)):
            values = [entry.get(key) for key in keys] if isinstance(entry, dict) else [entry]
            named += chain.from_iterable(map(_entries, values))
    for text in named:
        if isinstance(text, str) and "\n" not in text:
            yield text.rpartition("=")[2]


def _entries(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _not_applied(source: Source, texts: Mapping[str, bytes]) -> Iterator[Diagnostic]:
    """CP2402 at the first field that changes objects, or takes them from elsewhere."""
    data: Any = source.data
    changes = [field for field in _CHANGES if data.get(field)]
    inputs = [field for field in _INPUTS if data.get(field)]
    folder = posixpath.dirname(source.path)
    named = [text for field in inputs for text in _entries(data[field]) if isinstance(text, str)]
    elsewhere = [text for text in named if not _is_read(folder, text, texts)]
    problems = []
    if changes:
        verb = "are" if len(changes) > 1 or changes[0].endswith("s") else "is"
        problems.append(f"has {joined(changes)}, which {verb} not applied here")
    if elsewhere:
        verb = "are" if len(elsewhere) > 1 else "is"
        problems.append(f"names {first_of(elsewhere, _SHOWN)}, which {verb} not read here")
    if problems:
        place = source.key_at(((changes or inputs)[0],))
        options = "".join(dict.fromkeys(_PLUGINS[name] for name in changes if name in _PLUGINS))
        command = f"kustomize build{options}"
        yield _not_made(place, source.path, "; it ".join(problems), command)


def _is_read(folder: str, name: str, texts: Mapping[str, bytes]) -> bool:
    """Whether a resource is a file that was read, or a folder with such files."""
    path = posixpath.normpath(f"{folder}/{name}" if folder else name)
    return path in texts or any(other.startswith(f"{path}/") for other in texts)


def _not_made(position: Position, path: str, problem: str, command: str) -> Diagnostic:
    folder = posixpath.dirname(path) or "."
    command = f"{command} {folder}"
    return diagnose("CP2402", position, path=path, problem=problem, command=command)
