"""Objects that are small in a repository and large in memory: refused before they are read."""

import resource
import zlib
from hashlib import sha1
from pathlib import Path

import pytest

from cpuplan.diagnostics import CpuplanError
from cpuplan.git import program, trees
from cpuplan.git.program import opened
from tests.git_projects import commit, git, write
from tests.projects import run_in

HUGE = 800 * 1024 * 1024


def _object(git_dir: Path, kind: bytes, pieces: list[bytes]) -> str:
    """Write an object, of which no more than a piece is in memory."""
    size = sum(map(len, pieces))
    digest, packed = sha1(usedforsecurity=False), zlib.compressobj(1)
    data = b""
    for piece in (kind + b" %d\0" % size, *pieces):
        digest.update(piece)
        data += packed.compress(piece)
    name = digest.hexdigest()
    path = git_dir / "objects" / name[:2] / name[2:]
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data + packed.flush())
    return name


@pytest.fixture
def top(tmp_path: Path) -> Path:
    write(tmp_path / "top", "out/a", "first\n")
    git(tmp_path / "top", "init", "-q")
    commit(tmp_path / "top", "first")
    return tmp_path / "top"


def _add(top: Path, path: str, name: str) -> None:
    git(top, "update-index", "--add", "--cacheinfo", f"100644,{name},{path}")
    git(top, "commit", "-qm", "more")


def _told(top: Path, folder: str = "out") -> str:
    with pytest.raises(CpuplanError) as caught, opened(top) as repository:
        trees.read(repository, "HEAD", folder)
    (finding,) = caught.value.diagnostics
    return f"{finding.code}: {finding.message}"


def test_a_huge_file(top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = _object(top / ".git", b"blob", [bytes(1024 * 1024)] * 800)
    _add(top, "out/nodes/huge", name)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    told = "CP6110: HEAD:out/nodes/huge is not read from Git: it has 838,860,800 bytes; at most"
    assert _told(top).startswith(told)
    # A document is one; another file beside them is none.
    _add(top, "intents/notes.txt", name)
    code, _, told = run_in(top, ["validate", "--against", "HEAD"], capsys)
    assert (code, "[CP6110]" in told) == (0, False), told
    _add(top, "intents/notes.yaml", name)
    for command in (["validate", "--against", "HEAD"], ["merge-check", "HEAD~1"]):
        code, _, told = run_in(top, command, capsys)
        assert (code, "[CP6110]" in told) == (2, True), told
        assert "intents/notes.yaml is not read" in told
    code, _, told = run_in(top, ["plan", "--against", "HEAD"], capsys)
    assert code != 70, told
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 128 * 1024


def test_many_files_that_are_large_together(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees, "MAX_TOTAL", 1000)
    for number in range(11):
        write(top, f"out/{number}", f"{number:0100}")
    commit(top, "many")
    assert "CP6110: HEAD:out is not read from Git: its files have 1,106 bytes" in _told(top)


def test_a_tree_that_has_itself_a_million_times(top: Path) -> None:
    """Ten trees of ten entries each are ten billion files (a `git bomb`)."""
    name = git(top, "rev-parse", "HEAD:out/a").stdout.strip()
    entry, kind = bytes.fromhex(name), b"100644"
    for _ in range(10):
        tree = [b"%b f%d\0%b" % (kind, number, entry) for number in range(10)]
        entry, kind = bytes.fromhex(_object(top / ".git", b"tree", tree)), b"40000"
    name = git(top, "commit-tree", "-m", "bomb", entry.hex()).stdout.strip()
    git(top, "update-ref", "refs/heads/main", name)
    told = _told(top, "f0")
    assert "CP6110: " in told
    assert "f0 is not read from Git: its list has more than" in told


@pytest.mark.slow
def test_a_commit_that_fills_the_memory(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "_MEMORY", 256 * 1024 * 1024)
    tree = git(top, "rev-parse", "HEAD^{tree}").stdout.strip()
    head = f"tree {tree}\nauthor a <a> 1 +0000\ncommitter a <a> 1 +0000\n\n".encode()
    name = _object(top / ".git", b"commit", [head, *[b" " * 1024 * 1024] * 800])
    (top / ".git/refs/heads/main").write_text(f"{name}\n")
    with pytest.raises(CpuplanError) as caught, opened(top) as repository:
        trees.read(repository, "HEAD")
    assert caught.value.diagnostics[0].code in ("CP688", "CP689")
