"""Files of the user's cache: only what this user's cpuplan wrote, on this machine, is believed."""

import hashlib
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from cpuplan.base.files import cache
from cpuplan.base.files.cache import Sealed

NAME = "a" * 64


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path


@pytest.fixture
def folder(home: Path) -> Path:
    """A folder with one file."""
    place = home / "cache/cpuplan"
    assert Sealed(place).write([NAME], b"content")
    return place


def _read(folder: Path, name: str = NAME) -> bytes | None:
    return Sealed(folder).read(name, 1000)


def test_what_was_written_is_read(folder: Path) -> None:
    assert _read(folder) == b"content"
    assert _read(folder, "b" * 64) is None
    assert stat.S_IMODE((folder / NAME).stat().st_mode) == 0o600
    assert Sealed(folder).read(NAME, 10) is None


def test_two_names_of_one_file(folder: Path) -> None:
    assert Sealed(folder).write(["b", "c"], b"more\nlines")
    assert _read(folder, "b") == _read(folder, "c") == b"more\nlines"
    assert _read(folder, "d") is None


def test_a_file_under_another_name_says_nothing(folder: Path) -> None:
    shutil.copy(folder / NAME, folder / ("b" * 64))
    assert _read(folder, "b" * 64) is None


def _flipped(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


def _with_plain_digest(data: bytes) -> bytes:
    """As somebody makes it who has no key."""
    body = data[64:].replace(b"content", b"another")
    return hashlib.sha256(body).hexdigest().encode() + body


def _renamed(data: bytes) -> bytes:
    return data.replace(NAME.encode(), b"b" * 64 + b" " + NAME.encode())


@pytest.mark.parametrize(
    "forge",
    [
        _flipped,
        _with_plain_digest,
        _renamed,
        lambda data: data[:64],
        lambda data: data[:-1],
        lambda data: data + b"x",
        lambda data: b"",
        lambda data: data[64:],
        lambda data: b"0" * 64 + data[64:],
        lambda data: data[:64].upper() + data[64:],
    ],
)
def test_other_bytes_say_nothing(folder: Path, forge: Callable[[bytes], bytes]) -> None:
    path = folder / NAME
    path.write_bytes(forge(path.read_bytes()))
    assert _read(folder) is None


def test_the_key_is_the_users_alone(folder: Path, home: Path) -> None:
    key = home / "state/cpuplan/cache-key"
    assert len(key.read_bytes()) == 32
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert stat.S_IMODE(key.parent.stat().st_mode) == 0o700
    assert [path.name for path in key.parent.iterdir()] == [key.name]
    assert _read(folder) == b"content"
    key.chmod(0o640)
    assert _read(folder) is None
    assert "is not of this user alone" in cache.refusal()
    assert cache.cache_folder() is None


@pytest.mark.parametrize("spoil", ["another", "short", "link", "pipe", "folder"])
def test_another_key_opens_nothing(folder: Path, home: Path, spoil: str) -> None:
    key = home / "state/cpuplan/cache-key"
    data = key.read_bytes()
    key.unlink()
    match spoil:
        case "short":
            key.write_bytes(data[:-1])
        case "link":
            (home / "elsewhere").write_bytes(data)
            (home / "elsewhere").chmod(0o600)
            key.symlink_to(home / "elsewhere")
        case "pipe":
            os.mkfifo(key, 0o600)
        case "folder":
            key.mkdir()
    assert _read(folder) is None
    if spoil == "another":  # it was made anew
        assert key.read_bytes() != data
        assert cache.cache_folder() == folder
    else:
        assert cache.cache_folder() is None
        assert not Sealed(folder).is_usable


def test_another_machine_opens_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_machine", lambda: b"another")
    assert _read(folder) is None


def test_of_two_that_make_a_key_both_have_the_first(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = home / "state/cpuplan/cache-key"
    link = os.link

    def late(source: str, target: Path) -> None:
        place.write_bytes(b"1" * 32)
        place.chmod(0o600)
        link(source, target)

    monkeypatch.setattr(os, "link", late)
    assert cache._make_key(place) == b"1" * 32
    assert [path.name for path in place.parent.iterdir()] == [place.name]


def test_what_is_not_there_is_refused_without_a_word(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "file").touch()
    for place in ("/dev/null", str(home / "file")):
        monkeypatch.setenv("XDG_CACHE_HOME", place)
        assert (cache.cache_folder(), cache.refusal()) == (None, "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", "/dev/null")
    assert (cache.cache_folder(), cache.refusal()) == (None, "")


def _open_to_all(place: Path) -> None:
    place.chmod(0o777)


def _another_owners(place: Path) -> None:
    if os.geteuid():
        pytest.skip("only root can give folders away")
    os.chown(place, 65534, 65534)


def _a_link(place: Path) -> None:
    if not os.geteuid():
        os.chown(place, 0, 0)
    other = place.with_name("other")
    place.rename(other)
    place.symlink_to(other)
    if not os.geteuid():
        os.chown(place, 65534, 65534, follow_symlinks=False)


@pytest.mark.parametrize("spoil", [_open_to_all, _another_owners, _a_link])
@pytest.mark.parametrize("name", ["cache", "cache/cpuplan", "state", "state/cpuplan"])
def test_a_folder_of_others_is_not_used(
    folder: Path, home: Path, spoil: Callable[[Path], None], name: str
) -> None:
    assert cache.cache_folder() == folder
    spoil(home / name)
    assert cache.cache_folder() is None
    assert cache.refusal()
    if name.startswith("cache"):
        assert not Sealed(folder).is_usable


@pytest.mark.parametrize("place", ["project/.cache", "project", "repository", "repository/a/b"])
@pytest.mark.parametrize("variable", ["XDG_CACHE_HOME", "XDG_STATE_HOME"])
def test_what_a_commit_can_bring_is_not_used(
    home: Path, monkeypatch: pytest.MonkeyPatch, place: str, variable: str
) -> None:
    top = home / "repository"
    (top / ".git").mkdir(parents=True)
    project = top / "project"
    project.mkdir()
    given = home / place if place.startswith("repository") else top / place
    given.mkdir(parents=True, exist_ok=True)
    monkeypatch.setenv(variable, str(given))
    assert cache.cache_folder(home / "elsewhere") is not None
    assert cache.cache_folder(project) is None
    assert "in the project's repository" in cache.refusal(project)
    # also by another way
    (home / "way").symlink_to(top)
    monkeypatch.setenv(variable, str(home / "way" / given.relative_to(top)))
    assert cache.cache_folder(project) is None


def test_a_key_that_lies_with_its_files_proves_nothing(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "cache"))
    assert cache.cache_folder() is None
    assert "its key would be in it" in cache.refusal()


def test_a_private_group_may_write_above(folder: Path, home: Path) -> None:
    import grp
    import pwd

    name = pwd.getpwuid(os.geteuid()).pw_name
    own = grp.getgrgid(os.getegid())
    is_private = own.gr_name == name and set(own.gr_mem) <= {name}
    (home / "cache").chmod(0o770)
    assert (cache.cache_folder() == folder) == is_private
