"""The state of files: what makes another one, and where there is none."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from cpuplan.base.files import fingerprint
from cpuplan.base.files.fingerprint import Watch, state_of, watched


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "top"
    (made / "below").mkdir(parents=True)
    (made / "a").write_text("bc")
    return made


def _content(*paths: Path, listed: tuple[Path, ...] = ()) -> str:
    state = state_of(paths, listed=listed)
    assert state
    return state.content


def _as_file(top: Path) -> None:
    (top / "below").rmdir()
    (top / "below").touch()


def _as_link(top: Path) -> None:
    (top / "below").rmdir()
    (top / "below").symlink_to(top)


CHANGES: list[Callable[[Path], object]] = [
    lambda top: (top / "a").write_text("bd"),
    lambda top: (top / "a").write_text("b"),
    lambda top: (top / "a").rename(top / "b"),
    lambda top: (top / "a").rename(top / "below/a"),
    lambda top: (top / "a").unlink(),
    lambda top: (top / "below").rmdir(),
    lambda top: (top / "below/new").touch(),
    _as_file,
]


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_is_another_content(folder: Path, change: Callable[[Path], object]) -> None:
    before = _content(folder)
    assert _content(folder) == before
    change(folder)
    assert _content(folder) != before


def test_what_is_not_there_is_a_state_too(folder: Path) -> None:
    before = _content(folder / "new")
    (folder / "new").touch()
    assert _content(folder / "new") != before


def test_the_same_bytes_have_other_times(folder: Path) -> None:
    before = state_of([folder])
    os.utime(folder / "a")
    after = state_of([folder])
    assert before
    assert after
    assert (before.content == after.content, before.times == after.times) == (True, False)


def test_of_listed_folders_only_names_count(folder: Path) -> None:
    before = _content(listed=(folder,))
    (folder / "a").write_text("other")
    (folder / "below/new").touch()
    assert _content(listed=(folder,)) == before
    (folder / "new").touch()
    assert _content(listed=(folder,)) != before


@pytest.mark.parametrize(
    "change",
    [
        lambda top: (top / "link").symlink_to("a"),
        lambda top: (top / "link").symlink_to("nowhere"),
        lambda top: os.mkfifo(top / "pipe"),
        _as_link,
    ],
)
def test_of_links_and_pipes_there_is_no_state(
    folder: Path, change: Callable[[Path], object]
) -> None:
    change(folder)
    assert state_of([folder]) is None


def test_there_is_no_state_of_what_cannot_be_named_or_listed(folder: Path) -> None:
    assert state_of([folder / "a\0"]) is None
    assert state_of([folder / "a/below"]) is None
    assert state_of([], listed=[folder / "nowhere"]) is None


def test_there_is_no_state_of_much(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fingerprint, "_MAX_BYTES", 2)
    assert state_of([folder])
    (folder / "below/more").write_text("x")
    assert state_of([folder]) is None
    monkeypatch.setattr(fingerprint, "_MAX_BYTES", 3)
    assert state_of([folder])
    monkeypatch.setattr(fingerprint, "_MAX_NAMES", 3)
    assert state_of([folder]) is None


def _watch(folder: Path) -> Watch:
    may_read, may_write = str(folder), f"{folder}/below/"
    return Watch(lambda path: path.startswith(may_read), lambda path: path.startswith(may_write))


@pytest.mark.parametrize(
    ("act", "is_clean"),
    [
        (lambda top: (top / "a").read_bytes(), True),
        (lambda top: (top / "below/new").write_bytes(b""), True),
        (os.listdir, True),
        (lambda top: (top / "new").write_bytes(b""), False),
        (lambda top: (top / "a").open("ab").close(), False),
        (lambda top: os.open(os.fsencode(top.parent / "no"), os.O_RDONLY | os.O_CREAT), False),
        (lambda top: os.listdir(top.parent), False),
        (lambda top: os.listdir(f"{top}/.."), False),
        (lambda top: list(os.scandir(top.parent)), False),
        (lambda top: os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0), False),
    ],
)
def test_a_watch_knows_what_is_opened(
    folder: Path, act: Callable[[Path], object], is_clean: bool
) -> None:
    with watched(_watch(folder)) as watch:
        act(folder)
    assert watch.is_clean == is_clean
    assert not fingerprint._watches
