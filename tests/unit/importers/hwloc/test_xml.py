"""XML that hwloc does not write: refused where it begins, and nothing outside is read."""

from pathlib import Path

import pytest

from cpuplan.importers.hwloc import reader as hwloc
from cpuplan.importers.hwloc import xml as hwloc_xml
from cpuplan.importers.hwloc.xml import XmlError

LAUGHS = '<!ENTITY a "ha">' + "".join(
    f'<!ENTITY {b} "&{a};&{a};&{a};">' for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)
REFUSED = (
    pytest.param(
        f"<!DOCTYPE topology [{LAUGHS}]><topology>&i;</topology>",
        "a document type of its own",
        id="laughs",
    ),
    pytest.param(
        '<!DOCTYPE topology [<!ENTITY x SYSTEM "file:///etc/passwd">]><topology>&x;</topology>',
        "a document type of its own",
        id="external entity",
    ),
    pytest.param(
        '<!DOCTYPE topology SYSTEM "secret.dtd"><topology/>',
        "the document type secret.dtd",
        id="other DTD",
    ),
    pytest.param(
        '<!DOCTYPE topology SYSTEM "https://example.com/hwloc.dtd"><topology/>',
        "the document type https://example.com/hwloc.dtd",
        id="DTD elsewhere",
    ),
    pytest.param(
        '<!DOCTYPE topology PUBLIC "-//W3C//DTD XHTML" "hwloc.dtd"><topology/>',
        "the document type hwloc.dtd",
        id="public DTD",
    ),
    pytest.param(
        '<!DOCTYPE html SYSTEM "hwloc.dtd"><topology/>',
        "the document type hwloc.dtd",
        id="other root",
    ),
    pytest.param(
        '<!DOCTYPE topology SYSTEM "hwloc.dtd"><topology>&x;</topology>',
        "the entity x",
        id="of the DTD",
    ),
    pytest.param(
        "<topology>" + "<object>" * 200, "elements that are nested more than 200 deep", id="deep"
    ),
)


@pytest.mark.parametrize(("text", "problem"), REFUSED)
def test_refused(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "hwloc.dtd").write_text('<!ENTITY x "read">')
    (tmp_path / "machine.xml").write_text(text)
    imported = hwloc.read(tmp_path / "machine.xml")
    assert [(d.code, d.message) for d in imported.diagnostics] == [
        ("CP151", f"{tmp_path / 'machine.xml'} contains {problem}")
    ]
    assert imported.nodes == ()


DAMAGED = (
    ("<topology>\n<object", "it is cut short", 2, 1),
    ("<topology>\n<object>\n", "it is cut short", 3, 1),
    ("", "it is cut short", 1, 1),
    ("<topology>\n <object></info>", "mismatched tag", 2, 12),
    ('<topology a="1" a="2"/>', "duplicate attribute", 1, 17),
    ("<topology>&lt;&a;</topology>", "undefined entity", 1, 15),
    ("<topology>\xff\0</topology>", "not well-formed (invalid token)", 1, 12),
    ("<domain/>", "its first element is <domain>, not <topology>", 1, 1),
)


@pytest.mark.parametrize(("text", "problem", "line", "column"), DAMAGED)
def test_damaged(tmp_path: Path, text: str, problem: str, line: int, column: int) -> None:
    path = tmp_path / "machine.xml"
    path.write_text(text)
    (diagnostic,) = hwloc.read(path).diagnostics
    assert (diagnostic.code, diagnostic.message) == (
        "CP150",
        f"{path} is not valid hwloc XML: {problem}",
    )
    assert diagnostic.position is not None
    assert (diagnostic.position.line, diagnostic.position.column) == (line, column)


@pytest.mark.parametrize(
    ("name", "limit", "problem"),
    [
        ("MAX_BYTES", 8, "more than 8 bytes"),
        ("MAX_ELEMENTS", 2, "more than 2 elements"),
        ("MAX_DEPTH", 1, "1 deep"),
    ],
)
def test_limits(monkeypatch: pytest.MonkeyPatch, name: str, limit: int, problem: str) -> None:
    monkeypatch.setattr(hwloc_xml, name, limit)
    with pytest.raises(XmlError, match=problem):
        hwloc_xml.parse_xml(b"<topology><a/><b/></topology>", "machine.xml")


def test_elements() -> None:
    root = hwloc_xml.parse_xml(
        b'<topology>\n<a x="1"><u64values>1 2</u64values>\n<userdata>3</userdata></a></topology>',
        "a",
    )
    (child,) = root.named("a")
    assert (child.line, child.attributes) == (2, {"x": "1"})
    assert [(element.name, element.text) for element in child.children] == [
        ("u64values", "1 2"),
        ("userdata", ""),
    ]


def test_unreadable(tmp_path: Path) -> None:
    assert [d.code for d in hwloc.read(tmp_path).diagnostics] == ["CP121"]
    (tmp_path / "machine.xml.gz").write_bytes(b"\x1f\x8b\x08\x00")
    assert [d.code for d in hwloc.read(tmp_path / "machine.xml.gz").diagnostics] == ["CP121"]
