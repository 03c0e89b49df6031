"""YAML and JSON of unknown origin."""

import gzip
from pathlib import Path

import pytest

from cpuplan.importers import data
from cpuplan.importers.packed_files import ArchiveError


@pytest.mark.parametrize(
    ("text", "documents"),
    [
        ('{"a": [1, "2", null]}', [{"a": [1, "2", None]}]),
        ('{"a": 1}\n{"b": 2}\n', [{"a": 1}, {"b": 2}]),
        (" [] ", [[]]),
        ("a: [1, '2', ~]", [{"a": ["1", "2", None]}]),
        (
            "a: 0x10\nb: 1_000\nc: 12:30:45\nd: no",
            [{"a": "0x10", "b": "1_000", "c": "12:30:45", "d": "no"}],
        ),
        ("--- {a: b}\n--- {c: d}\n", [{"a": "b"}, {"c": "d"}]),
        ("{a: b}", [{"a": "b"}]),
        ("a: &x {b: c}\nd: *x\n", [{"a": {"b": "c"}, "d": {"b": "c"}}]),
        ("a: &x [*x]", [{"a": [None]}]),
        ("a: !!str 1\nb: !!map {}", [{"a": "1", "b": {}}]),
        ("[a]: b\nc: d", [{"c": "d"}]),
        ('{"a": ' + "9" * 5000 + "}", [{"a": "9" * 5000}]),
        ("", []),
        ("# nothing\n", []),
    ],
)
def test_parse(text: str, documents: list[object]) -> None:
    assert data.parse(text) == documents


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"a": [}', "it is not valid JSON: Expecting value: line 1 column 8 (char 7)"),
        ("a: [", "it is not valid YAML: did not find expected node content"),
        (
            "a: !!python/object:os.system {}",
            "the tag tag:yaml.org,2002:python/object:os.syste is not read",
        ),
        ("a: !!int x", "the tag tag:yaml.org,2002:int is not read"),
        ("[" * 200_000, "it is nested deeper than 100 levels"),
        ("a: " + "[" * 200_000, "it is nested deeper than 100 levels"),
        ('{"a":' * 200_000, "it is nested deeper than 100 levels"),
        ("\x00", None),
    ],
)
def test_refused(text: str, problem: str | None) -> None:
    with pytest.raises(data.DataError) as caught:
        data.parse(text)
    assert problem is None or str(caught.value) == problem


@pytest.mark.parametrize(
    "text",
    [
        "a: &a [x, x, x]\nb: [*a, *a, *a]",
        "a: &a {x: *a}\nb: &b [*a, *a, *a, *a]\nc: [*b, *b]",
        f"a: &a {'x' * 640}\nb: [*a, *a]",
        '[1, 2, 3, 4, 5, 6, 7, 8, 9, {"a": []}]',
    ],
)
def test_values_are_counted_as_if_written_out(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    limit = 20 if "&" in text else 10
    monkeypatch.setattr(data, "MAX_VALUES", limit)
    with pytest.raises(data.DataError, match=f"more than {limit} keys and values"):
        data.parse(text)
    monkeypatch.setattr(data, "MAX_VALUES", 100)
    assert data.parse(text)


def test_too_many_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "MAX_VALUES", 10)
    with pytest.raises(data.DataError, match="more than 10 keys and values"):
        data.parse("[a, b, c, d, e, f, g, h, i, j, k]".replace("[", "- [", 1))


@pytest.mark.parametrize(
    "content",
    [
        b'{"a": 1}',
        b'\xef\xbb\xbf{"a": 1}',
        '{"a": 1}'.encode("utf-16"),
        gzip.compress(b'{"a": 1}', mtime=0),
    ],
)
def test_encodings(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "file").write_bytes(content)
    assert data.read(tmp_path / "file") == [{"a": 1}]


def test_files_that_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ArchiveError, match="No such file"):
        data.read(tmp_path / "absent")
    monkeypatch.setattr(data, "MAX_BYTES", 100)
    for content in (b" " * 101, gzip.compress(b" " * 101, mtime=0)):
        (tmp_path / "large").write_bytes(content)
        with pytest.raises(ArchiveError, match="exceeds the limit of 100 bytes"):
            data.read(tmp_path / "large")


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (5, 5), ("5", 5), ("05", 5), (0, 0), (9, 9), (10, None), (-1, None), ("-1", None),
        (True, None), (5.0, None), ("5.0", None), ("\u0665", None), (None, None), ([5], None),
        ("9" * 30, None),
    ],
)  # fmt: skip
def test_number(value: object, number: int | None) -> None:
    assert data.number(value, 0, 9) == number
