"""The message of a published commit: what changes for nodes, and what it was made from."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from cpuplan.base import naming
from cpuplan.base.cpuset import CpuSet, CpuSetError, cpus_text
from cpuplan.base.foreign import ForeignError, read_json
from cpuplan.base.printable import printable
from cpuplan.base.text import counted, first_of, joined
from cpuplan.fleet.before import CLASSES
from cpuplan.gitops.publish.folder import FOLDER
from cpuplan.solve.moves import groups

#: Columns of a subject, and lines of a body.
_SUBJECT = 72
_MOST = 60
_MOST_NODES = 5
_NOWHERE = "no pool"
Plan = Mapping[str, Any]


class Origin(NamedTuple):
    """What the files were made from: a commit, empty for none, and the digest of its inputs."""

    commit: str
    is_dirty: bool
    digest: str
    version: str


def compose(
    before: Mapping[str, bytes],
    after: Mapping[str, bytes],
    folder: str,
    clusters: Iterable[str],
    origin: Origin,
    lines: Sequence[str],
) -> str:
    """The message of the commit that makes `after` of `before`: files by path below `folder`.

    `lines` say what changes.
    """
    if len(lines) > _MOST:
        lines = [*lines[:_MOST], f"and {len(lines) - _MOST} more lines"]
    # Paths and plans on the branch are of others: no line of theirs becomes two, or a trailer.
    body = "\n".join(f"* {printable(line)}" for line in lines)
    trailers = "\n".join(_trailers(folder, clusters, origin))
    return f"{_subject(before, after)}\n\n{body}\n\n{trailers}\n"


def _trailers(folder: str, clusters: Iterable[str], origin: Origin) -> Iterator[str]:
    yield f"{FOLDER}: {folder}"
    if names := list(clusters):
        yield f"Cpuplan-Clusters: {' '.join(names)}"
    if origin.commit:
        dirty = " (with changes that are in no commit)" if origin.is_dirty else ""
        yield f"Cpuplan-Inputs-Commit: {origin.commit}{dirty}"
    else:
        yield "Cpuplan-Inputs-Commit: none"
    yield f"Cpuplan-Inputs-Digest: sha256:{origin.digest}"
    yield f"Cpuplan-Version: {origin.version}"


def _subject(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> str:
    names = _changed_clusters(before, after)
    text = f"cpuplan: changes for {joined(names)}" if names else "cpuplan: changes for no cluster"
    return (
        text if len(text) <= _SUBJECT else f"cpuplan: changes for {counted(len(names), 'cluster')}"
    )


def _changed_clusters(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> list[str]:
    changed = {path for path in {*before, *after} if before.get(path) != after.get(path)}
    parts = (path.removeprefix(f"{CLASSES}/").split("/") for path in changed)
    named = {
        part[1] if part[0] in ("clusters", "nodes") else part[0] for part in parts if len(part) > 1
    }
    known = {
        path.split("/")[1]
        for path in {*before, *after}
        if path.startswith(("clusters/", "nodes/")) and "/" in path
    }
    return sorted(name for name in named & known if not naming.problem_of(name))


def summary(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> list[str]:
    """What changes between two trees of compiled files, a line each."""
    old, new = _classes(before), _classes(after)
    lines: list[str] = []
    for key in sorted(old.keys() | new.keys()):
        lines += _of_class("/".join(key), old.get(key), new.get(key))
    return [*lines, *_of_files(before, after)]


def _classes(files: Mapping[str, bytes]) -> dict[tuple[str, str], Plan]:
    """The plans of the classes; one that is damaged on a branch has no content."""
    found: dict[tuple[str, str], Plan] = {}
    for path, data in files.items():
        if path.startswith(f"{CLASSES}/") and path.endswith(".json"):
            cluster, _, name = path.removeprefix(f"{CLASSES}/").removesuffix(".json").partition("/")
            try:
                plan = read_json(data)
            except ForeignError:
                plan = {}
            found[cluster, name] = plan if isinstance(plan, dict) else {}
    return found


def _of_class(name: str, old: Plan | None, new: Plan | None) -> Iterator[str]:
    if old is None or new is None:
        nodes = counted(len(_nodes(old or new or {})), "node")
        yield f"{name}: {'new' if old is None else 'removed'}, {nodes}"
        return
    yield from (f"{name}: {line}" for line in _moves(_pools(old), _pools(new)))
    for word, names in (
        ("joins", _nodes(new) - _nodes(old)),
        ("leaves", _nodes(old) - _nodes(new)),
    ):
        if names:
            verb = word if len(names) == 1 else word.removesuffix("s")
            yield f"{name}: {first_of(sorted(names), _MOST_NODES)} {verb}"


def _nodes(plan: Plan) -> set[str]:
    nodes = plan.get("nodes")
    return set(map(str, nodes)) if isinstance(nodes, list) else set()


def _pools(plan: Plan) -> dict[str, CpuSet]:
    """The pools of a class by name; those that cannot be read are left out."""
    pools: dict[str, CpuSet] = {}
    written = plan.get("pools")
    for name, pool in sorted(written.items()) if isinstance(written, dict) else ():
        try:
            pools[str(name)] = CpuSet.parse(str(pool["cpus"]))
        except (CpuSetError, KeyError, TypeError):
            continue
    return pools


def _moves(old: Mapping[str, CpuSet], new: Mapping[str, CpuSet]) -> Iterator[str]:
    for (left, entered), cpus in groups(old, new).items():
        verb = "moves" if len(cpus) == 1 else "move"
        ends = f"from {joined(left) or _NOWHERE} to {joined(entered) or _NOWHERE}"
        yield f"{cpus_text(cpus)} {verb} {ends}"


def _of_files(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> Iterator[str]:
    """The numbers of files that come, change and go."""
    added = len(after.keys() - before.keys())
    removed = len(before.keys() - after.keys())
    changed = sum(1 for path in after.keys() & before.keys() if after[path] != before[path])
    parts = [
        f"{counted(number, 'file')} {word}"
        for word, number in (("added", added), ("changed", changed), ("removed", removed))
        if number
    ]
    if parts:
        yield joined(parts)
