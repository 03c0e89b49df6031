"""The manifest: which files of the output folder belong to cpuplan, with the SHA-256 that each was written with."""

from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256

from cpuplan.diagnostics import CpuplanError, diagnose

MANIFEST = ".cpuplan/manifest.json"
VERSION = 1
_HEX = frozenset("0123456789abcdef")


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


def is_plain(path: str) -> bool:
    """Whether the path is relative, normalised, and stays below its folder."""
    return not any(part in ("", ".", "..") for part in path.split("/")) and "\0" not in path and "\\" not in path


def check_paths(paths: Iterable[str]) -> None:
    """Refuse paths that no backend may ask for: ValueError, for it is a bug and not a user's mistake.

    Two spellings that differ in case only are one file on macOS and Windows, where Git users may check out.
    """
    files = set(paths)
    spellings: dict[str, str] = {}
    for path in sorted(files | parents(files)):
        if not is_plain(path) or path == MANIFEST:
            raise ValueError(f"not a path for an output file: {path!r}")
        if (other := spellings.setdefault(path.casefold(), path)) != path:
            raise ValueError(f"{other!r} and {path!r} are one file where case is ignored")
    if clash := files & parents(files):
        raise ValueError(f"both a file and a folder: {min(clash)!r}")


def render_manifest(files: Mapping[str, bytes]) -> bytes:
    """The manifest of `files`; the same files give the same bytes."""
    import json

    digests = {path: sha256(files[path]).hexdigest() for path in sorted(files)}
    return (json.dumps({"version": VERSION, "files": digests}, indent=1) + "\n").encode()


def parse_manifest(text: bytes, shown: str) -> dict[str, str]:
    """SHA-256 by path. Raises CP604, with `shown` as the file's name, unless it is what `render_manifest` makes.

    The file comes from a Git repository, so its paths are not trusted: one that left the folder could delete anything.
    """
    import json

    def refuse(problem: str) -> CpuplanError:
        return CpuplanError([diagnose("CP604", path=shown, problem=problem)])

    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise refuse("it is not JSON") from error
    if not isinstance(data, dict) or not isinstance(files := data.get("files"), dict):
        raise refuse("it lists no files")
    if data.get("version") != VERSION:
        raise refuse(f"its version is {data.get('version')!r}, and this cpuplan reads {VERSION}")
    for path, digest in files.items():
        if not is_plain(path) or path == MANIFEST:
            raise refuse(f"{path!r} is not a path inside the folder")
        if not isinstance(digest, str) or len(digest) != 64 or not _HEX.issuperset(digest):
            raise refuse(f"{path!r} has no SHA-256")
    return files
