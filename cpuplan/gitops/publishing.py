"""Publish compiled files: the next commit of a branch and its message, or nothing at all."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from cpuplan.base import naming
from cpuplan.base.cpuset import CpuSet, CpuSetError, cpus_text
from cpuplan.base.foreign import ForeignError, read_json
from cpuplan.base.progress import stage
from cpuplan.base.text import counted, first_of, joined, printable
from cpuplan.change.impact import rules, snapshot
from cpuplan.change.impact.rules.inputs import Context
from cpuplan.change.impact.snapshot import Snapshot
from cpuplan.diagnostics import CpuplanError, Diagnostic
from cpuplan.facts.settings.costs import Impact, worst
from cpuplan.fleet.previous import CLASSES, is_manifest, path_of
from cpuplan.git import commits, remotes, trees
from cpuplan.git.repository import Repository
from cpuplan.git.trees import EXECUTABLE, FILE, Entry
from cpuplan.gitops import provenance
from cpuplan.gitops.branch import (
    FOLDER,
    PROVENANCE,
    PROVENANCE_OF,
    Branch,
    Folder,
    changed_by_others,
    check_place,
    find_branch,
    has_other_inputs,
    in_the_way,
    is_provenance,
    is_wanted,
    last_published,
    read_folder,
    with_other_inputs,
)
from cpuplan.gitops.provenance import Provenance
from cpuplan.plan import Classes
from cpuplan.solve.moves import groups
from cpuplan.write.manifest import lines, render_manifests


def impact_lines(
    before: Mapping[str, bytes], after: Mapping[str, bytes], context: Context
) -> Iterator[str]:
    """The impact on the nodes of each class that was on the branch before, a line each.

    A file that is damaged on the branch can be compared with nothing, and the line says so.
    """
    damaged = next(snapshot.damaged(before, after), None)
    if damaged:
        yield f"what this costs the nodes is not known: {damaged} on the branch is damaged"
        return
    sides = Snapshot(before), Snapshot(after)
    for pair in snapshot.pairs(*sides):
        impact = worst(rules.steps(pair, *sides, context)) if pair.before else Impact.NOTHING
        if impact is not Impact.NOTHING:
            key = pair.after or pair.before or ("", "")
            yield f"{'/'.join(key)}: {counted(len(pair.nodes), 'node')}: {impact.word}"


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
    plans: dict[tuple[str, str], Plan] = {}
    for path, data in files.items():
        if path.startswith(f"{CLASSES}/") and path.endswith(".json"):
            cluster, _, name = path.removeprefix(f"{CLASSES}/").removesuffix(".json").partition("/")
            try:
                plan = read_json(data)
            except ForeignError:
                plan = {}
            plans[cluster, name] = plan if isinstance(plan, dict) else {}
    return plans


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


class Request(NamedTuple):
    """What to publish, and where."""

    files: Mapping[str, bytes]
    #: Of each file.
    classes: Classes
    #: Of these clusters only; empty for everything.
    clusters: tuple[str, ...]
    provenance: Provenance
    #: What clusters have beside what is published.
    context: Context
    origin: Origin
    repository: Repository
    branch: str
    #: In the tree of the branch.
    folder: str
    #: Whether files of cpuplan that others changed are replaced.
    force: bool
    #: A remote; None to push nothing.
    push_to: str | None


class Published(NamedTuple):
    """Where the branch is now."""

    commit: str | None
    is_new: bool
    is_pushed: bool
    lines: tuple[str, ...] = ()


class _State(NamedTuple):
    """The folder on the branch, now and as cpuplan published it last."""

    branch: Branch
    now: Folder
    last: Folder


def publish(request: Request) -> Published:
    """Commit the files to the branch.

    Raises CpuplanError with the branch where it was: CP604, CP688, CP690, CP691, CP693 to CP697.
    """
    repository = request.repository
    branch = find_branch(repository, request.branch, request.push_to)
    with stage("comparing with the branch"):
        now = read_folder(repository, branch.tip, request.folder)
        state = _State(branch, now, last_published(repository, now, request.folder))
        wanted = _wanted(request, now)
        names = commits.name_blobs(repository, wanted)
        if problems := _problems(request, state, names):
            raise CpuplanError(problems)
        changes = _changes(request, state, names)
    if not changes:
        return _without_change(request, branch)
    statements = _statements(request, state)
    names |= commits.name_blobs(repository, statements)
    return _commit(request, state, {**wanted, **statements}, names, changes)


def _wanted(request: Request, now: Folder) -> dict[str, bytes]:
    """The files, and the manifests that list them beside those of other clusters."""
    files = {
        path: data for path, data in request.files.items() if is_wanted(path, request.clusters)
    }
    others = {line for line in now.lines if not is_wanted(path_of(line), request.clusters)}
    own = (path for path in files if not is_manifest(path))
    return {**files, **render_manifests({*lines(own, request.classes), *others})}


def _problems(request: Request, state: _State, names: Mapping[str, str]) -> list[Diagnostic]:
    now, last = state.now, state.last
    inputs = request.provenance.inputs
    if has_other_inputs(request.repository, state.branch.tip, request.folder, inputs):
        return [with_other_inputs(request.branch)]
    problems = [*check_place(request.repository, state.branch.tip, request.folder)]
    problems += in_the_way(now, last, request.folder, names)
    if not request.force:
        known = {problem.message for problem in problems}
        changed = changed_by_others(
            request.repository, now, last, request.folder, names, request.clusters
        )
        problems += [problem for problem in changed if problem.message not in known]
    return problems


def _changes(request: Request, state: _State, names: Mapping[str, str]) -> dict[str, Entry | None]:
    """Entries by path below the folder; None for those that go."""
    now = state.now
    changes: dict[str, Entry | None] = {
        path: Entry(_mode(now, path), name)
        for path, name in names.items()
        if now.content(path) != (True, name)
    }
    for path in sorted(now.owned - names.keys()):
        if is_wanted(path, request.clusters) and path in now.entries:
            changes[path] = None
    return changes


def _mode(now: Folder, path: str) -> str:
    """The mode of a file; one that somebody made executable stays so."""
    entry = now.entries.get(path)
    return entry.mode if entry and entry.mode == EXECUTABLE else FILE


def _statements(request: Request, state: _State) -> dict[str, bytes]:
    """The provenance of what is published; what it no longer covers leaves other statements."""
    if not request.clusters:
        return {PROVENANCE: provenance.render(request.provenance)}
    statements = {}
    for cluster in request.clusters:
        own = _only(request.provenance, (cluster,), has=True)
        statements[PROVENANCE_OF.format(cluster)] = provenance.render(own)
    if PROVENANCE in state.now.entries:
        entry = state.now.entries[PROVENANCE]
        shown = f"{state.now.commit}:{request.folder}/{PROVENANCE}"
        data = trees.content(request.repository, entry, shown)
        whole = provenance.parse(data, PROVENANCE)
        statements[PROVENANCE] = provenance.render(_only(whole, request.clusters, has=False))
    return statements


def _only(known: Provenance, clusters: tuple[str, ...], *, has: bool) -> Provenance:
    """The part of a statement on the files of some clusters, or on all others."""
    files = {
        path: digest for path, digest in known.files.items() if is_wanted(path, clusters) is has
    }
    return known._replace(files=files)


def _commit(
    request: Request,
    state: _State,
    contents: Mapping[str, bytes],
    names: Mapping[str, str],
    changes: dict[str, Entry | None],
) -> Published:
    repository, now, branch = request.repository, state.now, state.branch
    for path in contents:
        if is_provenance(path) and now.content(path) != (True, names[path]):
            changes[path] = Entry(FILE, names[path])
    if not request.clusters:
        gone = filter(is_provenance, now.entries.keys() - contents.keys())
        changes |= dict.fromkeys(gone, None)
    with stage("making the commit"):
        before, after = _sides(request, now, contents, changes)
        blobs = [contents[path] for path, entry in changes.items() if entry]
        commits.write_blobs(repository, blobs)
        below = {f"{request.folder}/{path}": entry for path, entry in changes.items()}
        tree = commits.write_tree(repository, branch.tip, below)
        lines = (*impact_lines(before, after, request.context), *summary(before, after))
        text = compose(before, after, request.folder, request.clusters, request.origin, lines)
    parents = [branch.tip] if branch.tip else []
    commit = commits.write_commit(repository, tree, parents, text)
    if request.push_to is not None:
        remotes.push(repository, request.push_to, commit, branch.name)
    commits.move_branch(repository, branch.name, commit, branch.local, "cpuplan publish")
    return Published(commit, True, request.push_to is not None, lines)


def _sides(
    request: Request,
    now: Folder,
    contents: Mapping[str, bytes],
    changes: Mapping[str, Entry | None],
) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """cpuplan's files in scope, before and after; without its own lists."""
    kept = {
        path: entry
        for path, entry in now.entries.items()
        if path in now.owned and not is_manifest(path) and is_wanted(path, request.clusters)
    }
    before = trees.contents(request.repository, kept, f"{now.commit}:{request.folder}")
    after = {path: data for path, data in before.items() if path not in changes}
    for path, entry in changes.items():
        if entry and not is_manifest(path) and not is_provenance(path):
            after[path] = contents[path]
    return before, after


def _without_change(request: Request, branch: Branch) -> Published:
    """Nothing to commit: at most the branch follows its remote, or the remote the branch."""
    is_pushed = False
    if request.push_to is not None and branch.tip and branch.remote != branch.tip:
        remotes.push(request.repository, request.push_to, branch.tip, branch.name)
        is_pushed = True
    if branch.tip and branch.local != branch.tip:
        commits.move_branch(
            request.repository, branch.name, branch.tip, branch.local, "cpuplan publish"
        )
    return Published(branch.tip, False, is_pushed)
