"""The branch that is published to, its compiled files, and what others did there."""

import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import NamedTuple

from cpuplan.diagnostics import CpuplanError, Diagnostic, diagnose
from cpuplan.fleet.previous import CLASSES, MANIFEST, MANIFESTS, is_manifest, path_of
from cpuplan.git import remotes, trees
from cpuplan.git.program import ask, checked_out, run
from cpuplan.git.repository import Repository
from cpuplan.git.trees import EXECUTABLE, FILE, Entry
from cpuplan.write.manifest import ancestors, parents, parse_manifest


class Branch(NamedTuple):
    """A branch of a repository; a commit is None where there is none."""

    repository: Repository
    name: str
    #: Where the branch is.
    local: str | None
    #: Where it is at its remote, as far as is known.
    remote: str | None
    #: The later one of the two, which the next commit follows.
    tip: str | None


def find_branch(repository: Repository, name: str, push_to: str | None) -> Branch:
    """The branch, with its state at the remote `push_to`, which is asked.

    Raises CpuplanError: CP688, CP691, CP696.
    """
    _check_name(repository, name)
    _check_not_checked_out(repository, name)
    local = _commit(repository, f"refs/heads/{name}")
    if push_to is None:
        remote = _tracked(repository, name)
    else:
        remote = remotes.fetch(repository, push_to, name)
    return Branch(repository, name, local, remote, _later(repository, name, local, remote))


def _check_name(repository: Repository, name: str) -> None:
    if run(repository, "check-ref-format", f"refs/heads/{name}").code:
        hint = "give the name of a branch, such as `deploy`"
        raise _unusable(name, "it is not a valid name", hint)
    if _commit(repository, f"refs/tags/{name}"):
        raise _unusable(name, "it is a tag", "give another name with `--branch`")


def _check_not_checked_out(repository: Repository, name: str) -> None:
    place = checked_out(repository, name)
    if place is not None:
        hint = "commit out/ there with `git commit`, or give another branch with `--branch`"
        raise _unusable(name, f"it is checked out in {place}", hint)


def _commit(repository: Repository, ref: str) -> str | None:
    done = run(repository, "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")
    return None if done.code else done.line


def _tracked(repository: Repository, name: str) -> str | None:
    """Where the branch was at its only remote that has it, when that was fetched last."""
    pattern = f"refs/remotes/*/{name}"
    commits = ask(repository, "for-each-ref", "--format=%(objectname)", pattern).line.split()
    return commits[0] if len(commits) == 1 else None


def _later(repository: Repository, name: str, local: str | None, remote: str | None) -> str | None:
    if local is None or remote is None or local == remote:
        return local or remote
    if is_ancestor(repository, local, remote):
        return remote
    if is_ancestor(repository, remote, local):
        return local
    problem = "it and the branch at the remote both have commits that the other one lacks"
    raise _unusable(name, problem, "merge the two, or let the branch be where its remote is")


def is_ancestor(repository: Repository, first: str, second: str) -> bool:
    """Whether the commit `second` contains `first`."""
    return run(repository, "merge-base", "--is-ancestor", first, second).code == 0


def _unusable(name: str, problem: str, hint: str) -> CpuplanError:
    return CpuplanError([diagnose("CP691", branch=name, problem=problem, hint=hint)])


def with_other_inputs(name: str) -> Diagnostic:
    """CP691 for a branch whose own documents would not give what is published."""
    problem = "it has inventories and intents of its own, and they are not those of out/"
    hint = "merge the inputs into it and compile there, or publish to a branch without inputs"
    return diagnose("CP691", branch=name, problem=problem, hint=hint)


#: Below the folder; not in its manifest, since no compilation writes it.
PROVENANCE = ".cpuplan/provenance.json"
#: The same for what was published of one cluster.
PROVENANCE_OF = ".cpuplan/provenance/{}.json"
#: The trailer by which published commits are found again.
FOLDER = "Cpuplan-Folder"
#: What every tree needs, so that Git keeps its bytes.
_ALWAYS = (".gitattributes", ".cpuplan/.gitignore")
_OF_CLUSTERS = ("clusters/{}/", "nodes/{}/", f"{CLASSES}/{{}}/")
_MANIFEST_OF = f"{MANIFESTS}/{{}}"
#: Where a project has its documents, and how their files end.
_DOCUMENTS = ("intents", "inventories")
_ENDINGS = (".yaml", ".yml")
_HIDDEN = r"(?:\A|/)\."
#: More changed files are not looked up in the history.
_MOST = 20


class Folder(NamedTuple):
    """The folder in one commit."""

    commit: str
    entries: Mapping[str, Entry]
    #: Paths of cpuplan's files, manifests among them.
    owned: frozenset[str]
    #: Of its manifests.
    lines: frozenset[str] = frozenset()

    def content(self, path: str) -> tuple[bool, str] | None:
        """What is comparable of a file: whether it is one, and its object; not its mode."""
        entry = self.entries.get(path)
        return (entry.mode in (FILE, EXECUTABLE), entry.object) if entry else None


NO_FOLDER = Folder("", {}, frozenset())


def is_provenance(path: str) -> bool:
    """Whether a path is that of a statement of cpuplan."""
    return path == PROVENANCE or path.startswith(PROVENANCE_OF.partition("{")[0])


def is_wanted(path: str, clusters: tuple[str, ...]) -> bool:
    """Whether a path belongs to the trees of some clusters; without names, to all."""
    starts = tuple(start.format(name) for start in _OF_CLUSTERS for name in clusters)
    manifests = map(_MANIFEST_OF.format, clusters)
    return not clusters or path in (*_ALWAYS, *manifests) or path.startswith(starts)


def read_folder(repository: Repository, commit: str | None, folder: str) -> Folder:
    """The folder as it is in a commit. Raises CP604 for a manifest that is none, and CP688."""
    if commit is None:
        return NO_FOLDER
    entries = trees.entries_of(repository, commit, folder)
    shown = f"{commit[:12]}:{folder}"
    manifests = {path: entry for path, entry in entries.items() if is_manifest(path)}
    texts = trees.contents(repository, manifests, shown)
    parsed = [parse_manifest(data, f"{shown}/{path}") for path, data in texts.items()]
    lines = frozenset(line for manifest in parsed for line in manifest.lines)
    return Folder(commit, entries, frozenset({*manifests, *map(path_of, lines)}), lines)


def last_published(repository: Repository, now: Folder, folder: str) -> Folder:
    """The folder as cpuplan published it last; NONE where it never did.

    Raises CP690 in a shallow clone that does not show it.
    """
    if not now.commit:
        return NO_FOLDER
    form = f"%H%x00%(trailers:key={FOLDER},valueonly=true,separator=%x00)%x00"
    words = ("log", "--no-color", "--no-show-signature", "--topo-order", "-F")
    told = ask(
        repository, *words, f"--grep={FOLDER}: {folder}", f"--format=tformat:{form}", now.commit
    )
    for line in told.line.splitlines():
        commit, *folders = line.rstrip("\0").split("\0")
        if folder in folders:
            return read_folder(repository, commit, folder)
    if now.owned and trees.is_shallow(repository):
        theirs, problem = "what cpuplan published last", "the clone is shallow"
        raise CpuplanError(
            [diagnose("CP690", ours=now.commit[:12], theirs=theirs, problem=problem)]
        )
    return NO_FOLDER


def check_place(repository: Repository, commit: str | None, folder: str) -> Iterator[Diagnostic]:
    """CP697 where the folder, or one above it, is something else on the branch."""
    if commit is None:
        return
    places = [folder, *ancestors(folder)]
    listed = ask(repository, "ls-tree", "-z", "--full-tree", commit, "--", *places)
    for line in listed.parts:
        facts, _, path = line.partition("\t")
        if facts.split(" ")[1] != "tree":
            yield _foreign(path, commit[:12])


def has_other_inputs(
    repository: Repository, commit: str | None, folder: str, inputs: Mapping[str, str]
) -> bool:
    """Whether a branch has documents beside the folder that are not the `inputs`, by SHA-256.

    Its compiled files would not be what its own documents give.
    """
    if commit is None:
        return False
    above = folder.rpartition("/")[0]
    digests: dict[str, str] = {}
    for name in _DOCUMENTS:
        place = f"{above}/{name}" if above else name
        documents = {
            path: entry
            for path, entry in trees.entries_of(repository, commit, place).items()
            if path.endswith(_ENDINGS) and not re.search(_HIDDEN, path)
        }
        shown = f"{commit[:12]}:{place}"
        texts = trees.contents(repository, documents, shown, modes=(FILE, EXECUTABLE))
        for path, data in texts.items():
            digests[f"{name}/{path}"] = sha256(data).hexdigest()
    read = {path: digest for path, digest in inputs.items() if path.startswith(_DOCUMENTS)}
    return bool(digests) and digests != read


def changed_by_others(
    repository: Repository,
    now: Folder,
    last: Folder,
    folder: str,
    wanted: Mapping[str, str],
    clusters: tuple[str, ...],
) -> list[Diagnostic]:
    """CP697 for files of cpuplan that are not as it left them, by the names of wanted objects.

    A change to what would be published anyway is none. Those of other `clusters` are not looked at.
    """
    if not last.commit:
        return []
    changed = [
        path
        for path in sorted(now.owned | last.owned)
        if (path == MANIFEST or is_wanted(path, clusters))
        and now.content(path) != last.content(path)
        and now.content(path) != ((True, wanted[path]) if path in wanted else None)
    ]
    return [
        _changed(repository, now, last, f"{folder}/{path}", path, look=index < _MOST)
        for index, path in enumerate(changed)
    ]


def _changed(
    repository: Repository, now: Folder, last: Folder, shown: str, path: str, *, look: bool
) -> Diagnostic:
    words = ("log", "-1", "--no-color", "--no-show-signature", "--format=%h %s")
    span = f"{last.commit}..{now.commit}"
    commit = ""
    if look:
        commit = ask(repository, "--literal-pathspecs", *words, span, "--", shown).line
    change = "changed"
    if path not in now.entries:
        change = "removed"
    elif path not in last.entries:
        change = "added"
    hint = (
        "bring the change into the inputs and revert it on the branch, or publish over it with "
        "`--force`: the history keeps it"
    )
    told = commit or f"after {last.commit[:12]}"
    return diagnose("CP697", path=shown, change=f"{change} by others", commit=told, hint=hint)


def in_the_way(
    now: Folder, last: Folder, folder: str, wanted: Mapping[str, str]
) -> list[Diagnostic]:
    """CP697 for paths of others where a published file, or a folder of one, belongs."""
    known = now.owned | last.owned
    foreign = {path for path in now.entries.keys() - known if not is_provenance(path)}
    occupied = {
        path for path in foreign & wanted.keys() if now.content(path) != (True, wanted[path])
    }
    occupied |= foreign & parents(wanted)
    occupied |= parents(foreign) & wanted.keys()
    return [_foreign(f"{folder}/{path}", now.commit[:12]) for path in sorted(occupied)]


def _foreign(path: str, commit: str) -> Diagnostic:
    hint = "move it elsewhere on the branch, then publish again"
    change = "put there by others, where cpuplan publishes a file or folder"
    return diagnose("CP697", path=path, change=change, commit=f"in {commit}", hint=hint)
