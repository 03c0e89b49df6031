"""Projects of every two things that documents can say together, and of many at once.

`combinations.yaml` has what can be said, by subject. What cpuplan refuses is refused with a
diagnostic; what `validate` takes, `compile` takes too, which is what tests of these projects ask.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any, get_args

import yaml

from cpuplan import pipeline
from cpuplan.diagnostics import Diagnostic, errors
from cpuplan.facts import platforms
from cpuplan.language.model.intent import DefaultName
from cpuplan.write import emitted

#: What is said of each subject: a word of `subjects`.
Row = Mapping[str, str]
TARGET = "target"
#: Those whose nodes can hold a plan.
_PLATFORMS = [platform for platform in platforms.PLATFORMS.values() if not platform.cannot]
_LONG = {name: name[0] * int(name[1:]) for name in ("c63", "n63", "i63")}


@cache
def subjects() -> dict[str, dict[str, Any]]:
    """By subject, what can be said: what it changes in the documents; first every release."""
    path = Path(__file__).with_suffix(".yaml")
    others: dict[str, dict[str, Any]] = yaml.safe_load(path.read_text(encoding="utf-8"))
    targets = {}
    for platform in _PLATFORMS:
        for release in platform.releases:
            own = {"pool": "worker-main"} if platform.has_pools else {}
            own |= {"runtime": "crio"} if platform.asks_for_runtime else {}
            target = {"platform": platform.name, "version": release, **own}
            targets[f"{platform.name} {release}"] = {"target": target}
    return {TARGET: targets, **others, "default": dict(_switched())}


def _switched() -> Iterator[tuple[str, Any]]:
    """Each default, off and on."""
    for name in get_args(DefaultName):
        for verb in ("disable", "enable"):
            switch = {verb: name, "because": "it is tried"}
            yield f"{verb}-{name}", {"spec": {"defaults": [switch]}}


def pairs() -> Iterator[Row]:
    """Every word by itself and every two words of different subjects, all else as it is by
    default.

    What releases differ in is one table, and every release is tried by itself. With each word go
    the first and the last release of a platform and one between, another one for the next word.
    """
    words = [(subject, word) for subject, words in subjects().items() for word in words]
    yield from ({subject: word} for subject, word in words)
    others = [(subject, word) for subject, word in words if subject != TARGET]
    for number, (subject, word) in enumerate(others):
        yield from ({TARGET: target, subject: word} for target in _targets(number))
    for first, second in combinations(others, 2):
        if first[0] != second[0]:
            yield dict((first, second))


def _targets(number: int) -> Iterator[str]:
    """Of each platform the first and the last release, and by turns one between."""
    for platform in _PLATFORMS:
        first, *between, last = platform.releases
        for release in (first, between[number % len(between)], last):
            yield f"{platform.name} {release}"


def grown(random: Random, folder: Path) -> dict[str, str]:
    """A valid row of many words: each that the others allow is taken, in an order at random."""
    row: dict[str, str] = {}
    names = list(subjects())
    random.shuffle(names)
    for subject in names:
        word = random.choice(list(subjects()[subject]))
        if is_valid(folder, {**row, subject: word}):
            row[subject] = word
    return row


def is_valid(folder: Path, row: Row) -> bool:
    """Whether cpuplan finds no error in the project of a row."""
    write(folder, row)
    _, diagnostics = pipeline.judge(pipeline.load(folder))
    return not errors(diagnostics)


def compiled(folder: Path, row: Row) -> tuple[bool, list[Diagnostic]]:
    """Whether the project of a row is valid, and what is wrong with files that are made of it."""
    write(folder, row)
    made = pipeline.compile_project(pipeline.load(folder))
    return not errors(made.diagnostics), emitted.check(made.files)


def write(folder: Path, row: Row) -> None:
    """The project of a row."""
    said: dict[str, Any] = {}
    for subject in subjects():
        if subject in row:
            said = _merged(said, subjects()[subject][row[subject]])
    for name in ("inventories", "intents"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    documents = list(_inventory(said))
    (folder / "inventories/all.yaml").write_text(yaml.safe_dump_all(documents))
    (folder / "intents/main.yaml").write_text(yaml.safe_dump(_intent(said)))


def _inventory(said: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    cluster, node = (_name(said, name) for name in ("cluster-name", "node-name"))
    regular = {
        "sockets": 2,
        "coresPerSocket": 4,
        "threadsPerCore": 2,
        "memoryPerNumaNode": "16Gi",
    }
    hardware = {"vendor": "GenuineIntel", "regular": regular, "hugePageSizes": ["2Mi", "1Gi"]}
    yield _document("Hardware", "small", _merged(hardware, said.get("hardware", {})))
    nodes = said.get("nodes", [{"name": node}])
    of_nodes = {"cluster": cluster, "hardware": "small", "labels": {"role": "worker"}}
    yield _document("Nodes", "lab", {**of_nodes, "nodes": nodes})
    if "cluster" in said:
        yield _document("Cluster", cluster, said["cluster"])
    if "delivery" in said:
        repository = {"repository": "https://git.example.com/platform/cpus.git"}
        yield _document("Delivery", "git", {**repository, **said["delivery"]})


def _intent(said: Mapping[str, Any]) -> dict[str, Any]:
    target = _merged({"platform": "kubernetes", "version": "1.35"}, said.get("target", {}))
    if target["platform"] != "openshift":
        target.pop("pool", None)
    spec = {
        "selector": {"matchLabels": {"role": "worker"}},
        "targets": [target],
        "pools": {"reserved": {"cores": 1, "per": "numaNode"}, "isolated": "rest"},
    }
    return _document("Intent", _name(said, "intent-name"), _merged(spec, said.get("spec", {})))


def _name(said: Mapping[str, Any], key: str) -> str:
    usual = {"cluster-name": "lab", "node-name": "worker-[0-1]", "intent-name": "main"}
    name = str(said.get(key, usual[key]))
    return _LONG.get(name, name)


def _document(kind: str, name: str, spec: Any) -> dict[str, Any]:
    head = {"apiVersion": "cpuplan.io/v1alpha1", "kind": kind, "metadata": {"name": name}}
    return {**head, "spec": spec}


def _merged(first: Any, second: Any) -> Any:
    """Two mappings as one, keys of keys too; of other values the second. null takes away."""
    if not (isinstance(first, dict) and isinstance(second, dict)):
        return second
    both = {key: _merged(first.get(key), value) for key, value in second.items()}
    return {key: value for key, value in {**first, **both}.items() if value is not None}
