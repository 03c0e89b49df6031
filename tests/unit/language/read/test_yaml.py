from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from cpuplan.base.yaml_values import Limits
from cpuplan.diagnostics import Diagnostic
from cpuplan.language.read import yaml as reader
from cpuplan.language.read.yaml import parse, read


def data_of(text: str) -> list[Any]:
    sources, diagnostics = parse("file.yaml", text)
    assert diagnostics == []
    return [source.data for source in sources]


def found(diagnostics: list[Diagnostic]) -> list[tuple[str, str, str]]:
    """Code, `line:column-end` and message of each."""
    return [
        (d.code, f"{d.position.line}:{d.position.column}-{d.position.end}", d.message)
        for d in diagnostics
        if d.position is not None
    ]


def problems(text: str) -> list[tuple[str, str, str]]:
    return found(parse("file.yaml", text)[1])


def codes(text: str) -> list[str]:
    return [code for code, _, _ in problems(text)]


@pytest.fixture(params=["libyaml", "python"])
def either_parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """PyYAML is also built without libyaml."""
    if request.param == "python":
        monkeypatch.setattr(reader, "LOADER", yaml.SafeLoader)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("", None),
        ("~", None),
        ("null", None),
        ("NULL", None),
        ("true", True),
        ("True", True),
        ("FALSE", False),
        ("0", 0),
        ("17", 17),
        ("-3", -3),
        ("9223372036854775807", 2**63 - 1),
        ("text", "text"),
        ("two words", "two words"),
        ("0-3", "0-3"),
        ("0,1", "0,1"),
        ("0-110:1/2", "0-110:1/2"),
        ("2Mi", "2Mi"),
        ("10%", "10%"),
        ("1.33.2", "1.33.2"),
        ("10.0.0.1", "10.0.0.1"),
        ("0000:98:00.0", "0000:98:00.0"),
        ("worker-[00-11]", "worker-[00-11]"),
        ('"worker-[00-11]"', "worker-[00-11]"),
        ('"yes"', "yes"),
        ("'017'", "017"),
        ('"1.5"', "1.5"),
        ('"<<"', "<<"),
        ("tRue", "tRue"),
        ("-", "-"),
        (".", "."),
        ("0_8", "0_8"),
        ("|\n  yes\n", "yes\n"),
        (">-\n  1\n  2\n", "1 2"),
        ("[]", []),
        ("{}", {}),
        ("[1, {b: [~]}]", [1, {"b": [None]}]),
        ("\n- 1\n-\n- - x\n", [1, None, ["x"]]),
    ],
)
@pytest.mark.usefixtures("either_parser")
def test_values(written: str, value: object) -> None:
    # Python has True == 1: repr tells them apart.
    assert repr(data_of(f"key: {written}" if written != "-" else 'key: "-"')) == repr(
        [{"key": value}]
    )


@pytest.mark.parametrize(
    ("written", "first", "second", "otherwise"),
    [
        *(
            (word, "true", "text", "; otherwise write true")
            for word in ("y", "Y", "yes", "Yes", "YES", "on", "On", "ON")
        ),
        *(
            (word, "false", "text", "; otherwise write false")
            for word in ("n", "N", "no", "No", "NO", "off", "Off", "OFF")
        ),
        ("017", "the number 15", "the number 17", "; otherwise write 15 or 17"),
        ("-017", "the number -15", "the number -17", "; otherwise write -15 or -17"),
        ("08", "text", "the number 8", "; otherwise write 8"),
        ("0o17", "text", "the number 15", "; otherwise write 15"),
        ("-0x1f", "the number -31", "text", "; otherwise write -31"),
        ("0x1_f", "the number 31", "text", "; otherwise write 31"),
        ("0x_", "a number in base 16", "text", ""),
        ("0b11", "the number 3", "text", "; otherwise write 3"),
        ("1_000", "the number 1000", "text", "; otherwise write 1000"),
        ("1_0.5", "the number 10.5", "text", "; otherwise write 10.5"),
        ("12:30", "the number 750", "text", "; otherwise write 750"),
        ("-1:30", "the number -90", "text", "; otherwise write -90"),
        ("0000:18:00.0", "the number 1080", "text", "; otherwise write 1080"),
        ("10:11:22:33:44:55", "the number 7923433495", "text", "; otherwise write 7923433495"),
        ("2024-01-02", "a date", "text", ""),
        ("2001-12-14t21:59:43.10-05:00", "a date", "text", ""),
        ("2001-12-14 21:59:43", "a date", "text", ""),
        ("=", "the default value of its mapping", "text", "; otherwise write the value out"),
        ("<<", "a merge of another mapping", "text", "; otherwise write the merged keys out"),
    ],
)
def test_what_yaml_1_1_and_1_2_read_differently(
    written: str, first: str, second: str, otherwise: str
) -> None:
    sources, [diagnostic] = parse("file.yaml", f"key: {written}")
    message = f"{written} is {first} in YAML 1.1 and {second} in YAML 1.2"
    assert found([diagnostic]) == [("CP103", f"1:6-{6 + len(written)}", message)]
    assert diagnostic.remedy == f'if text is meant, quote it: "{written}"{otherwise}'
    assert sources[0].data == {"key": written}


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("1.5", "1.5"),
        ("4.20", "4.2"),
        ("1.", "1"),
        (".5", "0.5"),
        ("-.5", "-0.5"),
        ("1e3", "1000"),
        ("1.5E+3", "1500"),
        (".inf", "infinity"),
        ("-.INF", "-infinity"),
        (".NaN", "not-a-number"),
        ("+5", "5"),
        ("-0", "0"),
        ("00", "0"),
        ("07", "7"),
        ("0x1f", "31"),
        ("9223372036854775808", "9.22337203685478e+18"),
        ("99999999999999999999", "1e+20"),
    ],
)
def test_numbers_that_are_not_plain_and_whole(written: str, value: str) -> None:
    message = (
        f"YAML reads {written} as the number {value}, which is neither a decimal integer nor text"
    )
    assert problems(f"key: {written}") == [("CP104", f"1:6-{6 + len(written)}", message)]


@pytest.mark.parametrize(
    "written", ["9" * 10_000, "0" * 10_000, "0b" + "1" * 10_000, "1:" * 5000 + "1", "1_" * 5000]
)
def test_long_numbers_are_refused_and_shortened(written: str) -> None:
    [diagnostic] = parse("file.yaml", f"key: {written}")[1]
    assert f"{written[:39]}… " in diagnostic.message
    assert len(diagnostic.message) < 200


@given(st.text("0123456789+-._:eExXoObBaFtTZ ,/", min_size=1, max_size=12))
def test_a_taken_scalar_means_the_same_to_pyyaml(text: str) -> None:
    sources, diagnostics = parse("file.yaml", f"key: {text}")
    if not diagnostics:
        assert repr(sources[0].data) == repr(yaml.load(f"key: {text}", Loader=yaml.CSafeLoader))


MANY = """\
a: &x 1
b: *x
c: !!int "5"
d: &q !foo {e: 017}
a: {on: yes, z: 1.5}
? {f: g}
: {h: 0o7}
? [i]
1: 2
true: 4
~: 5
k: {k: 1, k: {k: off}}
*x : 7
"""


@pytest.mark.usefixtures("either_parser")
def test_everything_wrong_is_reported_in_one_run() -> None:
    sources, diagnostics = parse("file.yaml", MANY)
    assert [(code, place) for code, place, _ in found(diagnostics)] == [
        ("CP105", "1:4-6"),
        ("CP105", "2:4-6"),
        ("CP105", "3:4-9"),
        ("CP105", "4:4-6"),
        ("CP105", "4:7-11"),
        ("CP103", "4:16-19"),
        ("CP102", "5:1-2"),
        ("CP103", "5:5-7"),
        ("CP103", "5:9-12"),
        ("CP104", "5:17-20"),
        ("CP107", "6:3-4"),
        ("CP103", "7:7-10"),
        ("CP107", "8:3-4"),
        ("CP107", "9:1-2"),
        ("CP107", "10:1-5"),
        ("CP107", "11:1-2"),
        ("CP102", "12:11-12"),
        ("CP103", "12:18-21"),
        ("CP105", "13:1-3"),
    ]
    # What was refused is missing, or text; the rest is there.
    assert [s.data for s in sources] == [
        {"a": 1, "b": None, "c": "5", "d": {"e": "017"}, "k": {"k": 1}}
    ]


def test_a_second_key_points_at_the_first() -> None:
    [diagnostic] = parse("file.yaml", "spec:\n  cpus: 1\n  other: 2\n  cpus: 3\n")[1]
    assert found([diagnostic]) == [("CP102", "4:3-7", "key 'cpus' appears twice in one mapping")]
    assert [(str(label.position), label.text) for label in diagnostic.labels] == [
        ("file.yaml:2:3", "first written here")
    ]


def test_quoted_and_plain_keys_are_equal() -> None:
    assert codes('a: 1\n"a": 2\n') == ["CP102"]


@pytest.mark.parametrize(
    ("text", "place", "what"),
    [
        ("5: x", "1:1-2", "the key 5 is a number; it must be text"),
        ("true: x", "1:1-5", "the key true is a boolean; it must be text"),
        ("~: x", "1:1-2", "the key ~ is null; it must be text"),
        ("?\n: x", "1:2-2", "the key of no characters is null; it must be text"),
        ("{[a]: x}", "1:2-3", "a list is used as a key"),
        ("{{a: b}: x}", "1:2-3", "a mapping is used as a key"),
        ("- a", "1:1-1", "the document is a list; it must be a mapping"),
        ("[a]", "1:1-4", "the document is a list; it must be a mapping"),
        ("text", "1:1-5", "the document is text; it must be a mapping"),
        ("a: 1\n---\n7", "3:1-2", "the document is a number; it must be a mapping"),
    ],
)
def test_not_a_mapping_with_text_keys(text: str, place: str, what: str) -> None:
    assert problems(text) == [("CP107", place, what)]


@pytest.mark.parametrize(
    ("text", "place", "problem", "label"),
    [
        ("a: [1", "1:6-7", "did not find expected ',' or ']'", "1:4 a flow sequence starts here"),
        (
            "a: [1\n\n\n",
            "1:6-7",
            "did not find expected ',' or ']'",
            "1:4 a flow sequence starts here",
        ),
        ("a: 'x", "1:6-7", "found unexpected end of stream", "1:4 a quoted scalar starts here"),
        ('a: "\\q"', "1:5-6", "found unknown escape character", "1:4 a quoted scalar starts here"),
        ("a: 1\n b: 2", "2:3-4", "mapping values are not allowed in this context", ""),
        ("a:\n\tb: 1", "2:1-2", "a tab is not allowed as indentation", ""),
        ("a: @x", "1:4-5", "an unquoted value cannot start with '@'", ""),
        ("é: \x00", "1:4-5", "control characters are not allowed (U+0000)", ""),
        ("é: 1\nü: \x1b[31m", "2:4-5", "control characters are not allowed (U+001B)", ""),
        (
            "a: \ufeffb",
            "1:4-5",
            "U+FEFF, a byte order mark, is allowed only at the start of a file",
            "",
        ),
        ("é: 1\na: \ud800", "2:4-5", "U+D800 is half of a character", ""),
        ("%YAML 3.0\n---\na: 1", "1:1-2", "found incompatible YAML document", ""),
    ],
)
def test_invalid_syntax(text: str, place: str, problem: str, label: str) -> None:
    [diagnostic] = parse("file.yaml", text)[1]
    assert found([diagnostic]) == [("CP101", place, f"invalid YAML: {problem}")]
    shown = [f"{at.position.line}:{at.position.column} {at.text}" for at in diagnostic.labels]
    assert shown == ([label] if label else [])


@given(st.text() | st.text("ab:- \n\t#&*!|>'\"%@`{}[],?~017.\\\x00\u2028", max_size=40))
def test_any_text_is_read_or_reported(text: str) -> None:
    sources, diagnostics = parse("file.yaml", text)
    assert all(d.position is not None and d.position.path == "file.yaml" for d in diagnostics)
    assert all(isinstance(source.data, dict) for source in sources)


def test_the_documents_before_a_syntax_error_are_kept() -> None:
    sources, diagnostics = parse("file.yaml", "a: on\n---\nb: [\n")
    assert [source.data for source in sources] == [{"a": "on"}]
    assert [d.code for d in diagnostics] == ["CP103", "CP101"]


def test_line_ends_of_yaml_1_1_only() -> None:
    text = 'a: "x\u2028y"\nb: z # \x85c: 1\n'
    assert problems(text) == [
        ("CP103", "1:6-7", "U+2028 is the end of a line in YAML 1.1 and text in YAML 1.2"),
        ("CP103", "3:8-9", "U+0085 is the end of a line in YAML 1.1 and text in YAML 1.2"),
    ]


@pytest.mark.parametrize(
    ("text", "place", "limit"),
    [
        ("a: " + "[" * 64, "1:67-68", "64 levels of nesting"),
        (
            "a:\n" + "".join(" " * n + "- \n" for n in range(100)),
            "65:64-64",
            "64 levels of nesting",
        ),
        ("a: " + "x" * (2**20 + 1), f"1:4-{4 + 2**20 + 1}", "1048576 characters in one scalar"),
        (
            'a: "' + "x" * (2**20 + 1) + '"',
            f"1:4-{4 + 2**20 + 3}",
            "1048576 characters in one scalar",
        ),
        ("a:\n" + "- on\n" * 1001, "1002:3-5", "1000 errors"),
    ],
)
def test_limits(text: str, place: str, limit: str) -> None:
    assert problems(text)[-1] == ("CP106", place, f"the file exceeds the limit of {limit}")


def test_the_limits_themselves_are_taken() -> None:
    assert codes("a: " + "[" * 63 + "]" * 63) == []
    assert codes("a: " + "x" * 2**20) == []
    assert codes("a:\n" + "- on\n" * 1000) == ["CP103"] * 1000


@pytest.mark.parametrize(
    "text",
    ["a: [1, 2, 3, 4]", "a: [{}, {}, {}, {}]", "{a: 1, b: 2, c: 3}", "a: 1\n---\nb: 2\n---\nc: 3"],
)
def test_the_number_of_values_is_limited(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "LIMITS", Limits(5, 64))
    assert codes(text) == ["CP106"]


def test_empty_documents_are_dropped() -> None:
    assert data_of("") == []
    assert data_of("# only a comment\n") == []
    assert data_of("---\n---\n# comment\n---\na: 1\n...\n---\nb: 2\n--- ~\n--- {}\n") == [
        {"a": 1},
        {"b": 2},
        {},
    ]


PLACES = """\
# comment
kind: Nodes

spec:
  text: |
    one
    two
  folded: 'one
    two'
  flow: [1, {x: "z"}]
  nodes:
  - name: worker-0
    cpus: 0-3
  - [a, b]
  empty:
"""


@pytest.mark.parametrize(
    ("field", "value", "key"),
    [
        ((), "2:1-1", "2:1-1"),
        (("kind",), "2:7-12", "2:1-5"),
        (("spec",), "4:1-5", "4:1-5"),
        (("spec", "text"), "5:9-10", "5:3-7"),
        (("spec", "folded"), "8:11-15", "8:3-9"),
        (("spec", "flow", 0), "10:10-11", "10:10-11"),
        (("spec", "flow", 1), "10:13-21", "10:13-21"),
        (("spec", "flow", 1, "x"), "10:17-20", "10:14-15"),
        (("spec", "nodes"), "11:3-8", "11:3-8"),
        (("spec", "nodes", 0), "12:5-5", "12:5-5"),
        (("spec", "nodes", 0, "cpus"), "13:11-14", "13:5-9"),
        (("spec", "nodes", 0, "missing"), "12:5-5", "12:5-5"),
        (("spec", "nodes", 1), "14:5-11", "14:5-11"),
        (("spec", "empty"), "15:9-9", "15:3-8"),
        (("spec", "missing"), "4:1-5", "4:1-5"),
    ],
)
@pytest.mark.usefixtures("either_parser")
def test_places(field: tuple[str | int, ...], value: str, key: str) -> None:
    [source], diagnostics = parse("file.yaml", PLACES)
    assert diagnostics == []
    at, key_at = source.value_at(field), source.key_at(field)
    assert (f"{at.line}:{at.column}-{at.end}", f"{key_at.line}:{key_at.column}-{key_at.end}") == (
        value,
        key,
    )


def test_places_count_characters_and_any_line_end() -> None:
    [source], _ = parse("file.yaml", "é: 1\r\n😀: {ü: 2}\r\n")
    assert source.value_at(("😀", "ü"))[1:] == (2, 8, 9)


def test_each_document_has_its_own_places() -> None:
    first, second = parse("file.yaml", "a: 1\n---\n\na: 2\n")[0]
    assert (str(first.value_at(("a",))), str(second.value_at(("a",)))) == (
        "file.yaml:1:4",
        "file.yaml:4:4",
    )
    assert str(second.value_at(())) == "file.yaml:4:1"


def test_read_takes_a_byte_order_mark_off(tmp_path: Path) -> None:
    path = tmp_path / "site.yaml"
    path.write_bytes(b"\xef\xbb\xbfkind: Nodes\n")
    [source], diagnostics = read(path, "inventories/site.yaml")
    assert diagnostics == []
    assert source.data == {"kind": "Nodes"}
    assert str(source.key_at(("kind",))) == "inventories/site.yaml:1:1"


@pytest.mark.parametrize(
    ("content", "place", "problem"),
    [
        (b"a: 1\nb: \xc3\xa9\xff\n", "2:5-0", "byte 0xff is not UTF-8"),
        ("kind: Nodes".encode("utf-16"), "1:1-0", "byte 0xff is not UTF-8"),
        (b"\xef\xbb\xbfa: \xc3", "1:4-0", "byte 0xc3 is not UTF-8"),
    ],
)
def test_read_refuses_other_encodings(
    tmp_path: Path, content: bytes, place: str, problem: str
) -> None:
    path = tmp_path / "site.yaml"
    path.write_bytes(content)
    sources, diagnostics = read(path, "site.yaml")
    assert sources == []
    assert found(diagnostics) == [("CP108", place, f"site.yaml cannot be read: {problem}")]


def test_read_reports_what_the_system_says(tmp_path: Path) -> None:
    assert found(read(tmp_path / "gone.yaml", "gone.yaml")[1]) == [
        ("CP108", "1:1-0", "gone.yaml cannot be read: No such file or directory")
    ]
    assert found(read(tmp_path, "folder")[1]) == [
        ("CP111", "1:1-0", "folder is not read: it is a folder, not a file")
    ]


def test_read_stops_at_the_limit_of_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "MAX_BYTES", 8)
    (tmp_path / "full.yaml").write_bytes(b"a: 12345")
    (tmp_path / "over.yaml").write_bytes(b"a: 123456")
    assert read(tmp_path / "full.yaml", "full.yaml")[1] == []
    assert found(read(tmp_path / "over.yaml", "over.yaml")[1]) == [
        ("CP106", "1:1-0", "the file exceeds the limit of 8 bytes")
    ]


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("a: b\tc\n", ["1:5-6"]),
        ("a:\t1\n", ["1:3-4"]),
        ("a: 1\t\n", ["1:5-6"]),
        ("a: 1\t# b\n", ["1:5-6"]),
        ("a: [\t1,\t2]\n", ["1:5-6", "1:8-9"]),
        ("# a\na: 'b'\t\nb: |\n  c\n  \td: e\n", ["2:7-8"]),
    ],
)
def test_tabs_that_other_readers_refuse(text: str, places: list[str]) -> None:
    """PyYAML, ruamel: "found character '\\t' that cannot start any token"."""
    tabs = [diagnostic for diagnostic in parse("a.yaml", text)[1] if diagnostic.code == "CP113"]
    assert [
        f"{diagnostic.position.line}:{diagnostic.position.column}-{diagnostic.position.end}"
        for diagnostic in tabs
        if diagnostic.position
    ] == (places)


@pytest.mark.parametrize(
    "text",
    [
        "# a\tb\n",
        "a: 1 # b\tc\n",
        "a: '\t' # b\t\n",
        'a: "b\t#\tc"\n',
        "a: |\n  b\tc\n  # d\te\nf: >-\n  g\th\n",
        "#\ta\nb: 1\n",
    ],
)
def test_tabs_that_all_readers_take(text: str) -> None:
    assert parse("a.yaml", text)[1] == []
