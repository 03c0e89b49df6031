"""An archive as a root: the same as its unpacked folder, and harmless whatever it contains."""

import bz2
import gzip
import io
import lzma
import tarfile
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from cpuplan.base.files import TooLarge, Unreadable, archives
from cpuplan.base.roots import archive
from cpuplan.base.roots.archive import ArchiveReader, Index, Keeping, pieces_of
from cpuplan.check.roots.limits import KEEPING, LIMITS, MAX_FILE
from cpuplan.check.roots.root import Root
from tests.hosts import roots_at
from tests.projects import SHARED

Made = tuple[tarfile.TarInfo, bytes]


def file(name: str, text: str | bytes = "", mode: int = 0o644) -> Made:
    body = text.encode() if isinstance(text, str) else text
    member = tarfile.TarInfo(name)
    member.size, member.mode, member.mtime = len(body), mode, 7
    return member, body


def special(name: str, kind: bytes, target: str = "") -> Made:
    member = tarfile.TarInfo(name)
    member.type, member.linkname, member.mode = kind, target, 0o755
    return member, b""


def link(name: str, target: str) -> Made:
    return special(name, tarfile.SYMTYPE, target)


def packed(made: Iterable[Made], form: int = tarfile.GNU_FORMAT) -> bytes:
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w", format=form) as written:
        for member, body in made:
            written.addfile(member, io.BytesIO(body))
    return whole.getvalue()


def root_of(data: bytes, size: int = 1000, keeping: Keeping = KEEPING) -> Root:
    pieces = (data[at : at + size] for at in range(0, len(data), size))
    return Root(Path("/a.tar"), ArchiveReader(Index(pieces, keeping), LIMITS))


FILES = [
    file("./etc/hostname", "worker-0\n"),
    file("etc/script", "#!/bin/sh\n", 0o755),
    special("proc/irq", tarfile.DIRTYPE),
    file("proc/irq/7/smp_affinity_list", "0-3\n"),
    file("sys/devices/eth0/queues/mask", "f\n"),
    link("sys/class/net/eth0", "../../devices/eth0"),
    link("sys/absolute", "/etc/hostname"),
    file("x" * 90 + "/" + "y" * 200, "long\n"),
    link("sys/long", "/" + "x" * 90 + "/" + "y" * 200),
    file("empty", ""),
]
PACKERS: list[Callable[[bytes], bytes]] = [bytes, gzip.compress, lzma.compress, bz2.compress]


@pytest.mark.parametrize("pack", PACKERS)
@pytest.mark.parametrize("form", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_the_same_as_unpacked(pack: Callable[[bytes], bytes], form: int, tmp_path: Path) -> None:
    data = pack(packed(FILES, form))
    path = tmp_path / "root.tar"
    path.write_bytes(data)
    with tarfile.open(path) as whole:
        whole.extractall(tmp_path / "root", filter="fully_trusted")  # noqa: S202 - made above
    read = Root(path, ArchiveReader(Index(pieces_of(str(path)), KEEPING), LIMITS))
    unpacked = Root(tmp_path / "root")
    files = unpacked.files(".")
    assert read.files(".") == files
    assert len(files) == len(FILES) - 1
    for name in [*files, "sys/class/net/eth0/queues/mask", "none/none", "etc/hostname/x", "sys"]:
        assert read.read(name) == unpacked.read(name)
        assert read.mode(name) == unpacked.mode(name)
        assert read.link(name) == unpacked.link(name)
        assert read.is_file(name) == unpacked.is_file(name)
        assert Path(read.shown(name)).relative_to(path) == Path(unpacked.shown(name)).relative_to(
            tmp_path / "root"
        )
    assert read.mtime("etc/script") == 7
    folder = "it is a folder, not a file"
    assert list(read.refused.values()) == list(unpacked.refused.values()) == [folder, folder]


HOSTS = sorted((SHARED / "hosts").glob("*/root.tar.xz"))
COPIES = sorted((SHARED / "corpus").glob("*/*.t*gz")) + sorted((SHARED / "corpus").glob("*/*.xz"))


@pytest.mark.skipif(not HOSTS, reason="the booted hosts are not here")
@pytest.mark.parametrize("path", HOSTS, ids=lambda path: path.parent.name)
def test_a_booted_host(path: Path, tmp_path: Path) -> None:
    with tarfile.open(path) as whole:
        whole.extractall(tmp_path, filter="tar")
    (read,) = roots_at(path)
    unpacked = Root(tmp_path)
    files = unpacked.files(".")
    assert read.files(".") == files
    assert [read.read(name) for name in files] == [unpacked.read(name) for name in files]
    assert [read.link(name) for name in files] == [unpacked.link(name) for name in files]


@pytest.mark.slow
@pytest.mark.skipif(not COPIES, reason="the corpus is not here")
def test_every_copy_of_the_corpus() -> None:
    for path in COPIES:
        for root in roots_at(path):
            for name in root.files("."):
                root.read(name)
            assert root.names("sys") or root.names("proc"), path


def test_hostile_names() -> None:
    root = root_of(
        packed(
            [
                file("/etc/passwd", "absolute"),
                file("../secret", "outside"),
                file("a/../../secret", "outside"),
                link("up", "../../../../../etc/hostname"),
                link("self", "."),
                link("ring", "circle"),
                link("circle", "ring"),
                special("zero", tarfile.CHRTYPE),
                special("disk", tarfile.BLKTYPE),
                special("pipe", tarfile.FIFOTYPE),
                special("again", tarfile.LNKTYPE, "etc/hostname"),
                special("lost", tarfile.LNKTYPE, "etc/later"),
                file("etc/hostname", "a"),
                file("etc/hostname", "b"),
                special("early", tarfile.LNKTYPE, "etc/hostname"),
                file("file", "x"),
                file("file/below", "y"),
                file("etc/later", "z"),
            ]
        )
    )
    assert root.read("etc/passwd") is None
    assert root.read("secret") is None
    assert root.read("up") == "b"
    assert root.read("self/self/etc/hostname") == "b"
    assert root.read("early") == "b"
    assert not root.refused
    for name in ("ring", "zero", "disk", "pipe", "lost", "again"):
        assert root.read(name) is None
    assert root.refused == {
        "/a.tar/ring": "its links are circular",
        "/a.tar/zero": "it is a device, not a file",
        "/a.tar/disk": "it is a device, not a file",
        "/a.tar/pipe": "it is a pipe, not a file",
        "/a.tar/lost": "it is a hard link to a file that is not in the archive",
        "/a.tar/again": "it is a hard link to a file that is not in the archive",
    }


def test_large_files_and_logs_are_not_kept() -> None:
    large, log = file("large", bytes(MAX_FILE + 1)), file("sos_logs/journal", "secret")
    root = root_of(packed([large, log, file("after", "ok")]), 4096)
    assert root.read("large") is None
    assert root.read("sos_logs/journal") is None
    assert root.read("after") == "ok"
    assert root.refused == {
        "/a.tar/large": "it has more than 1,048,576 bytes",
        "/a.tar/sos_logs/journal": "it is among logs, or beyond what is kept of an archive",
    }
    two = packed([file("one", "12345678"), file("two", "12345678")])
    root = root_of(two, keeping=KEEPING._replace(kept=10))
    assert (root.read("one"), root.read("two")) == ("12345678", None)


@pytest.mark.parametrize(
    ("place", "limit", "what"),
    [
        (archives, "MAX_MEMBERS", "members"),
        (archives, "MAX_EXTENSIONS", "bytes of long names and extended headers"),
        (archive, "MAX_FOLDERS", "folders"),
    ],
)
def test_bombs(place: object, limit: str, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = gzip.compress(packed(FILES))
    root_of(data)
    with pytest.raises(TooLarge, match="bytes unpacked"):
        root_of(data, keeping=KEEPING._replace(unpacked=3))
    monkeypatch.setattr(place, limit, 3)
    with pytest.raises(TooLarge, match=what):
        root_of(data)


@pytest.mark.parametrize("pack", PACKERS)
def test_cut_anywhere(pack: Callable[[bytes], bytes]) -> None:
    """A part of an archive is no archive: its last file may lack a line, or be the wrong one."""
    data = pack(packed(FILES))
    for end in range(0, len(data) - 10_240 if pack is bytes else len(data) - 20, 101):
        with pytest.raises(Unreadable):
            root_of(data[:end])


@pytest.mark.parametrize("pack", PACKERS)
def test_cut_before_it_was_packed(pack: Callable[[bytes], bytes]) -> None:
    """As of `tar | gzip` on a full disk: the packed data is whole, and the archive is not."""
    data = packed(FILES)
    for end in range(512, len(data.rstrip(b"\0")), 512):
        with pytest.raises(Unreadable, match="it is cut short"):
            root_of(pack(data[:end]))


def test_changed_anywhere() -> None:
    """Nothing but Unreadable comes of a damaged archive, wherever the damage is."""
    data = bytearray(packed(FILES))
    for at in range(0, len(data), 37):
        changed = bytearray(data)
        changed[at] ^= 0xFF
        try:
            root = root_of(bytes(changed))
        except Unreadable:
            continue
        for name in root.files("."):
            root.read(name)


@pytest.mark.parametrize(
    "data", [b"", b"hello", bytes(5000), gzip.compress(b"hello", mtime=0), b"x" * 600]
)
def test_what_is_no_archive(data: bytes) -> None:
    with pytest.raises(Unreadable, match="it is not a tar archive"):
        root_of(data)
