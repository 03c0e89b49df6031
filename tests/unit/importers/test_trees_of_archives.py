"""Archives as trees: forms of tar, links, and what is refused."""

import bz2
import gzip
import lzma
import tarfile
from pathlib import Path

import pytest

from cpuplan.importers import trees as trees_module
from cpuplan.importers.packed_files import ArchiveError
from cpuplan.importers.trees import TarTree
from tests.machines import trees

FILES = {
    "sys/devices/system/cpu/online": "0-3\n",
    "proc/cpuinfo": "processor: 0\n",
    "sys/a/b/value": "7\n",
}


def tree(data: bytes) -> TarTree:
    return TarTree(data, "a.tar")


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz", "w:bz2"])
def test_compressions(mode: str) -> None:
    opened = tree(trees.tar(FILES, mode))
    assert opened.read("sys/a/b/value") == "7\n"
    assert opened.names("sys") == ["a", "devices"]
    assert opened.names("sys/a/b/value") == []
    assert opened.read("sys/a") is None


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_long_names_and_targets(form: int, tmp_path: Path) -> None:
    deep = "sys/" + "/".join(["x" * 40] * 4) + "/value"
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w", format=form) as made:
        for name in (*FILES, deep):
            member = tarfile.TarInfo(name)
            made.addfile(member)
        if form != tarfile.USTAR_FORMAT:  # has no room for a target of more than 100 characters
            made.addfile(trees.link("sys/far", "/" + deep))
    opened = TarTree.open(path)
    assert opened.read(deep) == ""
    assert opened.read("sys/far") == ("" if form != tarfile.USTAR_FORMAT else None)


@pytest.mark.parametrize("prefix", ["./", "worker-0/", "a/b/c/"])
def test_root_is_where_sys_and_proc_are(prefix: str) -> None:
    extra = (
        trees.link(f"{prefix}sys/hard", f"{prefix}sys/a/b/value", tarfile.LNKTYPE),
        trees.link(f"{prefix}sys/soft", "a/b"),
    )
    opened = tree(trees.tar(FILES, prefix=prefix, extra=extra))
    assert opened.read("sys/a/b/value") == "7\n"
    assert opened.read("sys/hard") == "7\n"
    assert opened.read("sys/soft/value") == "7\n"
    assert opened.refused.diagnostics() == []


def test_links_are_followed_inside() -> None:
    extra = (
        trees.link("sys/up", "../sys/a"),
        trees.link("sys/absolute", "/sys/up/b/value"),
        trees.link("sys/dangling", "nowhere"),
    )
    opened = tree(trees.tar(FILES, extra=extra))
    assert opened.read("sys/up/b/value") == "7\n"
    assert opened.read("sys/absolute") == "7\n"
    assert opened.names("sys/up") == ["b"]
    assert opened.link("sys/up") == "../sys/a"
    assert opened.read("sys/dangling") is None
    assert opened.refused.diagnostics() == []


@pytest.mark.parametrize(
    ("member", "said"),
    [
        (trees.link("sys/null", "", tarfile.CHRTYPE), "a device or pipe: sys/null"),
        (trees.link("sys/pipe", "", tarfile.FIFOTYPE), "a device or pipe: sys/pipe"),
        (
            trees.link("/etc/passwd", "", tarfile.REGTYPE),
            "a name that leads out of it: /etc/passwd",
        ),
        (
            trees.link("sys/../../etc/passwd", "", tarfile.REGTYPE),
            "a name that leads out of it: sys/../../etc/passwd",
        ),
        (
            trees.link("sys/hard", "../outside", tarfile.LNKTYPE),
            "a hard link that leads out of it: sys/hard",
        ),
        (trees.link("sys/sparse", "", tarfile.GNUTYPE_SPARSE), "a sparse file: sys/sparse"),
    ],
)
def test_refused_members(member: tarfile.TarInfo, said: str) -> None:
    opened = tree(trees.tar(FILES, "w", extra=(member,)))
    assert [d.code for d in opened.refused.diagnostics()] == ["CP122"]
    assert said in opened.refused.diagnostics()[0].message
    assert opened.read("sys/a/b/value") == "7\n"


@pytest.mark.parametrize(
    "links",
    [
        (trees.link("sys/out", "../../etc/passwd"),),
        (trees.link("sys/out", "round"), trees.link("sys/round", "out")),
    ],
)
def test_refused_links(links: tuple[tarfile.TarInfo, ...]) -> None:
    opened = tree(trees.tar(FILES, extra=links))
    assert opened.read("sys/out") is None
    assert opened.read("sys/out") is None
    assert [d.code for d in opened.refused.diagnostics()] == ["CP122"]
    assert "sys/out" in opened.refused.diagnostics()[0].message


def test_ring_of_hard_links() -> None:
    ring = (
        trees.link("sys/x", "sys/y", tarfile.LNKTYPE),
        trees.link("sys/y", "sys/x", tarfile.LNKTYPE),
    )
    assert tree(trees.tar(FILES, extra=ring)).read("sys/x") is None


def test_of_two_members_of_one_name_the_later_counts() -> None:
    first, second = trees.tar({"proc/cpuinfo": "old"}, "w"), trees.tar({"proc/cpuinfo": "new"}, "w")
    assert tree(first[:1024] + second).read("proc/cpuinfo") == "new"


def test_joined_gzip_files() -> None:
    data = trees.tar(FILES, "w")
    assert (
        tree(gzip.compress(data[:700]) + gzip.compress(data[700:])).read("sys/a/b/value") == "7\n"
    )


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz", "w:bz2"])
def test_cut_short(mode: str) -> None:
    data = trees.tar(trees.server(), mode)
    with pytest.raises(ArchiveError) as caught:
        tree(data[: len(data) // 3 if mode == "w" else len(data) - 20])
    assert caught.value.diagnostic.code == "CP121"
    assert "cut short" in caught.value.diagnostic.message


def test_cut_anywhere() -> None:
    data = trees.tar(FILES, "w")
    # a block for the header of each, one for its text, and an empty one
    whole = len(FILES) * 1024 + 512
    for end in range(0, whole, 37):
        with pytest.raises(ArchiveError):
            tree(data[:end])
    assert tree(data[:whole]).read("sys/a/b/value") == "7\n"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no archive" * 100,
        b"\x1f\x8b" + b"x" * 100,
        b"\xfd7zXZ\0" + b"x" * 100,
        b"BZh9" + b"x" * 100,
        gzip.compress(b"text"),
        lzma.compress(b"\0" * 1024),
        bz2.compress(b"\xff" * 1024),
    ],
    ids=range(8),
)
def test_no_archive(data: bytes) -> None:
    with pytest.raises(ArchiveError) as caught:
        tree(data)
    assert caught.value.diagnostic.code == "CP121"


def test_damaged_headers() -> None:
    data = bytearray(trees.tar(FILES, "w"))
    data[1024 + 124 : 1024 + 136] = b"no octal num"
    with pytest.raises(
        ArchiveError,
        match="the header after sys/devices/system/cpu/online, at byte 1,024, is damaged",
    ):
        tree(bytes(data))
    pax = trees.tar({"sys/" + "x" * 120: ""}, "w")
    at = pax.index(b"path=")
    with pytest.raises(ArchiveError, match="an extended header is damaged at '999 path="):
        tree(pax[: at - 4] + b"999 " + pax[at:])


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = gzip.compress(trees.tar({"proc/cpuinfo": "0" * 100_000}, "w"))
    monkeypatch.setattr(trees_module, "MAX_SIZE", 50_000)
    with pytest.raises(ArchiveError) as bytes_unpacked:
        tree(bomb)
    monkeypatch.setattr("cpuplan.base.files.archives.MAX_MEMBERS", 2)
    with pytest.raises(ArchiveError) as members:
        tree(trees.tar(FILES))
    assert [caught.value.diagnostic.code for caught in (bytes_unpacked, members)] == [
        "CP123",
        "CP123",
    ]


def test_unreadable_file(tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match="it is a folder"):
        TarTree.open(tmp_path)


def checked(header: bytes) -> bytes:
    """A header with the checksum that its bytes add up to."""
    total = sum(header[:148]) + 8 * 0x20 + sum(header[156:512])
    return header[:148] + f"{total:06o}\0 ".encode() + header[156:]


@pytest.mark.parametrize("bit", range(0, 512 * 8, 129))
def test_a_flipped_bit_in_a_header_is_found(bit: int) -> None:
    """Compression has a checksum of everything, a plain archive one of each header."""
    data = bytearray(trees.tar(FILES, "w"))
    data[1024 + bit // 8] ^= 1 << bit % 8
    with pytest.raises(ArchiveError) as caught:
        tree(bytes(data))
    assert (
        "the header after sys/devices/system/cpu/online, at byte 1,024, is damaged"
        in caught.value.diagnostic.message
    )


def test_cut_short_says_where() -> None:
    data = trees.tar(FILES, "w")
    with pytest.raises(ArchiveError, match="cut short in proc/cpuinfo, which has 13 bytes"):
        tree(data[: 1024 + 512 + 5])
    with pytest.raises(ArchiveError, match="cut short after sys/a/b/value"):
        tree(data[:3072])


@pytest.mark.parametrize("form", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_names_that_are_too_long_are_left_out(form: int, tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w", format=form) as made:
        for name in (
            "sys/" + "x/" * 5000,
            *FILES,
            "sys/" + "\u00e4" * 1020,
            "sys/" + "\u00e4" * 1021,
        ):
            made.addfile(tarfile.TarInfo(name))
    opened = TarTree.open(path)
    assert opened.names("sys") == ["a", "devices", "\u00e4" * 1020]
    (refused,) = opened.refused.diagnostics()
    assert "a name that is too long: sys/x/x/x/" in refused.message
    assert "and 1 more" in refused.message


def test_hard_links_name_what_came_before() -> None:
    extra = (
        trees.link("sys/soft", "a/b/value"),
        trees.link("sys/again", "sys/soft", tarfile.LNKTYPE),
        trees.link("sys/early", "sys/late", tarfile.LNKTYPE),
    )
    opened = tree(trees.tar(FILES, extra=extra))
    assert opened.read("sys/again") == "7\n"
    assert [d.message for d in opened.refused.diagnostics()] == [
        "a.tar contains a hard link to a file that is not in it: sys/early"
    ]


def test_what_a_link_replaces() -> None:
    """Of two members of one name the later counts, of whatever type they are."""
    first, second = (
        trees.tar({"proc/x": "old"}, "w")[:1024],
        trees.tar({"proc/x": "new"}, "w")[:1024],
    )
    soft = trees.link("proc/x", "cpuinfo").tobuf()
    end = trees.tar({"proc/cpuinfo": "far"}, "w")
    assert tree(first + soft + end).read("proc/x") == "far"
    assert tree(first + soft + second + end).read("proc/x") == "new"


def test_sparse_files_are_skipped_with_their_maps() -> None:
    """GNU tar's map goes on in further blocks where bytes 482 and 504 say so."""
    header = bytearray(
        trees.link("sys/sparse", "", tarfile.GNUTYPE_SPARSE).tobuf(tarfile.GNU_FORMAT)
    )
    header[482] = 1
    extension = bytearray(512)
    extension[504] = 1
    opened = tree(checked(bytes(header)) + extension + bytes(512) + trees.tar(FILES, "w"))
    assert opened.read("sys/a/b/value") == "7\n"
    assert "a sparse file: sys/sparse" in opened.refused.diagnostics()[0].message


@pytest.mark.parametrize(
    ("limit", "what"),
    [
        ("roots.archive.MAX_FOLDERS", "folders"),
        ("files.archives.MAX_EXTENSIONS", "long names"),
        ("roots.archive.MAX_RECORDS", "records in extended headers"),
    ],
)
def test_further_limits(limit: str, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"cpuplan.base.{limit}", 1)
    path = "sys/" + "x" * 120
    made = b"".join(tarfile.TarInfo(name).tobuf(tarfile.PAX_FORMAT) for name in (path, path + "y"))
    with pytest.raises(ArchiveError, match=what):
        tree(made + bytes(1024))


def test_a_large_member_is_not_read() -> None:
    opened = tree(trees.tar(FILES))
    assert opened.read("sys/a/b/value", 1) is None
    assert [d.code for d in opened.refused.diagnostics()] == ["CP123"]
