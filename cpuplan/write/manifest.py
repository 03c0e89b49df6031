"""The manifest: which files of the output folder belong to cpuplan, a line for each.

It is committed, so it holds nothing that two branches would change in unlike ways: no digests, no
dates. Git unites the lines of both (`.gitattributes`), and markers that it left are passed over:
what is asked for is written anew anyway.

Beside it, and ignored by Git, this machine notes what it wrote, so that an edit by hand is told
from an old file.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import sha256

from cpuplan.diagnostics import CpuplanError, diagnose
from cpuplan.files import is_plain
from cpuplan.fleet.before import MANIFEST, OLD_PLAN
from cpuplan.source import Position

#: SHA-256 and path of each file that this machine wrote last.
WRITTEN = ".cpuplan/written"
#: What the manifest was before: it is read once more, and goes.
OLD_MANIFEST = ".cpuplan/manifest.json"
#: Bookkeeping of before, which goes whoever wrote it last: a merge brings it back.
OLD = (OLD_MANIFEST, OLD_PLAN, ".cpuplan/inputs.json")
FORM = 2
_HEAD = f"# cpuplan manifest {FORM}: the files of this folder that cpuplan owns"
_FORM = re.compile(r"# cpuplan manifest ([0-9]{1,9})(?![0-9])")
_MARKER = re.compile(r"[<|=>]{7}( .*)?")
_WRITTEN = re.compile(r"([0-9a-f]{64})  (.+)")
_OLD = re.compile(r'^ *"(.+)": "([0-9a-f]{64})",?$', re.MULTILINE)


def ancestors(path: str) -> Iterator[str]:
    """The folders above a relative path, nearest first: `a/b/c` gives `a/b` and `a`."""
    end = path.rfind("/")
    while end > 0:
        yield path[:end]
        end = path.rfind("/", 0, end)


def parents(paths: Iterable[str]) -> set[str]:
    """All folders above any of `paths`."""
    found: set[str] = set()
    for path in paths:
        for folder in ancestors(path):
            if folder in found:
                break
            found.add(folder)
    return found


def check_paths(paths: Iterable[str]) -> None:
    """Refuse paths that no backend may ask for: ValueError, for it is a bug and not a user's
    mistake.

    Two spellings that differ in case only are one file on macOS and Windows, where Git users may
    check out.
    """
    files = set(paths)
    spellings: dict[str, str] = {}
    for path in sorted(files | parents(files)):
        if not is_plain(path) or path in (MANIFEST, WRITTEN):
            raise ValueError(f"not a path for an output file: {path!r}")
        if (other := spellings.setdefault(path.casefold(), path)) != path:
            raise ValueError(f"{other!r} and {path!r} are one file where case is ignored")
    if clash := files & parents(files):
        raise ValueError(f"both a file and a folder: {min(clash)!r}")


def render_manifest(paths: Iterable[str]) -> bytes:
    """The manifest of files; the same files give the same bytes."""
    return ("\n".join([_HEAD, *sorted(paths)]) + "\n").encode()


def parse_manifest(data: bytes, shown: str) -> frozenset[str]:
    """The paths that a manifest lists. Raises CP604, with `shown` as the file's name, unless it is
    one.

    The file comes from a Git repository, so its paths are not trusted: one that left the folder
    could delete anything.
    """

    def refuse(problem: str) -> CpuplanError:
        return CpuplanError([diagnose("CP604", path=shown, problem=problem)])

    lines = _lines(data, refuse)
    heads = {line for line in lines if line.startswith("#")}
    if not heads:
        raise refuse("its first line is missing")
    forms = [int(match[1]) for head in heads if (match := _FORM.match(head))]
    if later := [form for form in forms if form > FORM]:
        place = Position(shown, 1, 1)
        raise CpuplanError(
            [diagnose("CP139", place, what="the manifest", found=max(later), expected=FORM)]
        )
    if heads != {_HEAD}:
        raise refuse(f"its first line is not `{_HEAD}`")
    paths = frozenset(lines) - heads
    for path in sorted(paths):
        if not is_plain(path) or path in (MANIFEST, WRITTEN):
            raise refuse(f"{path!r} is not a path inside the folder")
    return paths


def _lines(data: bytes, refuse: Callable[[str], CpuplanError]) -> list[str]:
    """The lines, without those that Git marks the sides of a conflict with."""
    try:
        lines = data.decode().splitlines()
    except UnicodeDecodeError as error:
        raise refuse("it is not UTF-8") from error
    return [line for line in lines if line and not _MARKER.fullmatch(line)]


def has_conflict(data: bytes) -> bool:
    """Whether Git left both sides of a conflict in a manifest."""
    return any(_MARKER.fullmatch(line) for line in data.decode(errors="replace").splitlines())


def parse_old_manifest(data: bytes) -> dict[str, str]:
    """SHA-256 by path of a manifest as it was before, from both sides of a conflict perhaps; and
    its own path.
    """
    found = {
        path: digest
        for path, digest in _OLD.findall(data.decode(errors="replace"))
        if is_plain(path)
    }
    return {**found, OLD_MANIFEST: sha256(data).hexdigest()}


def render_written(files: Mapping[str, bytes]) -> bytes:
    """What is noted of files that are written."""
    lines = [f"{sha256(files[path]).hexdigest()}  {path}\n" for path in sorted(files)]
    return "".join(lines).encode()


def parse_written(data: bytes) -> dict[str, str]:
    """SHA-256 by path; lines that are none are passed over, for a note that is lost costs a
    question to Git.
    """
    lines = data.decode(errors="replace").splitlines()
    found = [match for line in lines if (match := _WRITTEN.fullmatch(line))]
    return {match[2]: match[1] for match in found}


def tree_digest(files: Mapping[str, bytes]) -> str:
    """SHA-256 over paths and contents."""
    return sha256(render_written(files)).hexdigest()
