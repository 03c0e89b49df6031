"""Publish compiled files: the next commit of a branch, or nothing at all."""

from collections.abc import Mapping
from typing import NamedTuple

from cpuplan.base.progress import stage
from cpuplan.change.impact.rules.context import Context
from cpuplan.diagnostics import CpuplanError, Diagnostic
from cpuplan.fleet.before import is_manifest
from cpuplan.git import commits, remotes, trees
from cpuplan.git.repository import Repository
from cpuplan.git.trees import EXECUTABLE, FILE, Entry
from cpuplan.gitops.publish import branch as branches
from cpuplan.gitops.publish import folder as folders
from cpuplan.gitops.publish import impacts, message, provenance
from cpuplan.gitops.publish.branch import Branch
from cpuplan.gitops.publish.folder import PROVENANCE, PROVENANCE_OF, Folder
from cpuplan.gitops.publish.message import Origin
from cpuplan.gitops.publish.provenance import Provenance
from cpuplan.write.manifest import render_manifests


class Request(NamedTuple):
    """What to publish, and where."""

    files: Mapping[str, bytes]
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
    branch = branches.find(repository, request.branch, request.push_to)
    with stage("comparing with the branch"):
        now = folders.read(repository, branch.tip, request.folder)
        state = _State(branch, now, folders.last_published(repository, now, request.folder))
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
        path: data
        for path, data in request.files.items()
        if folders.is_wanted(path, request.clusters)
    }
    others = {path for path in now.owned if not folders.is_wanted(path, request.clusters)}
    listed = (path for path in {*files, *others} if not is_manifest(path))
    return {**files, **render_manifests(listed)}


def _problems(request: Request, state: _State, names: Mapping[str, str]) -> list[Diagnostic]:
    now, last = state.now, state.last
    inputs = request.provenance.inputs
    if folders.has_other_inputs(request.repository, state.branch.tip, request.folder, inputs):
        return [branches.with_other_inputs(request.branch)]
    problems = [*folders.check_place(request.repository, state.branch.tip, request.folder)]
    problems += folders.in_the_way(now, last, request.folder, names)
    if not request.force:
        known = {problem.message for problem in problems}
        changed = folders.changed_by_others(
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
        if folders.is_wanted(path, request.clusters) and path in now.entries:
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
        path: digest
        for path, digest in known.files.items()
        if folders.is_wanted(path, clusters) is has
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
        if folders.is_provenance(path) and now.content(path) != (True, names[path]):
            changes[path] = Entry(FILE, names[path])
    if not request.clusters:
        gone = filter(folders.is_provenance, now.entries.keys() - contents.keys())
        changes |= dict.fromkeys(gone, None)
    with stage("making the commit"):
        before, after = _sides(request, now, contents, changes)
        blobs = [contents[path] for path, entry in changes.items() if entry]
        commits.write_blobs(repository, blobs)
        below = {f"{request.folder}/{path}": entry for path, entry in changes.items()}
        tree = commits.write_tree(repository, branch.tip, below)
        lines = (*impacts.lines(before, after, request.context), *message.summary(before, after))
        text = message.compose(
            before, after, request.folder, request.clusters, request.origin, lines
        )
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
        if path in now.owned and not is_manifest(path) and folders.is_wanted(path, request.clusters)
    }
    before = trees.contents(request.repository, kept, f"{now.commit}:{request.folder}")
    after = {path: data for path, data in before.items() if path not in changes}
    for path, entry in changes.items():
        if entry and not is_manifest(path) and not folders.is_provenance(path):
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
