"""How TuneD reads, merges and expands profiles."""

from collections.abc import Mapping

import pytest

from cpuplan.upstream.tuned.config_parser import MOST_CHARACTERS, ParseError, parse
from cpuplan.upstream.tuned.functions import Machine
from cpuplan.upstream.tuned.loader import Loader, LoadError
from cpuplan.upstream.tuned.merger import Merged, merge
from cpuplan.upstream.tuned.packaged import is_packaged
from cpuplan.upstream.tuned.plugin_bootloader import words
from cpuplan.upstream.tuned.variables import UnknownValueError, Variables

MACHINE = Machine(
    tuple(range(8)), tuple(range(10)), "Architecture: x86_64\nVendor ID: GenuineIntel"
)


def test_places_of_values() -> None:
    text = "# head\n[main]\n include = a,\n   b # both\n\n   c\nsummary=x#y\n"
    option = parse(text)["main"]["include"]
    assert option.value == "a,\nb\n\nc"
    assert [(part.text, part.line, part.column) for part in option.lines] == [
        ("a,", 3, 12),
        ("b", 4, 4),
        ("", 5, 1),
        ("c", 6, 4),
    ]
    assert parse(text)["main"]["summary"].value == "x#y"


def test_a_section_that_is_there_twice() -> None:
    sections = parse("[a]\nx=1\ny=1\n[b]\n[a]\nx=2\n")
    assert {name: option.value for name, option in sections["a"].items()} == {"x": "2", "y": "1"}


@pytest.mark.parametrize(
    ("text", "line"),
    [("x=1\n", 1), ("[a]\nx\n", 2), ("[a]\n\n=1\n", 3), ("#" * (MOST_CHARACTERS + 1), 1)],
)
def test_what_is_no_profile(text: str, line: int) -> None:
    with pytest.raises(ParseError) as refused:
        parse(text)
    assert refused.value.line == line


def load(texts: Mapping[str, str]) -> list[str]:
    loader = Loader(texts, is_packaged, Variables(MACHINE).expand)
    return [made.name for made in loader.load("top")]


@pytest.mark.parametrize(
    ("texts", "order"),
    [
        ({"top": "[main]\ninclude=a;b , c\n", "a": "", "b": "", "c": ""}, "a b c top"),
        ({"top": "[main]\ninclude=-gone,a\n", "a": "[main]\ninclude=top\n"}, "a top"),
        ({"top": "[main]\ninclude=a\n", "a": "[main]\ninclude=b\n", "b": ""}, "b a top"),
        ({"top": "[main]\ninclude=openshift-node\n"}, "openshift-node top"),
        ({"top": "[main]\ninclude=${f:lscpu_check:Intel:a:b}\n", "a": "", "b": ""}, "a top"),
        ({"top": "[main]\ninclude=${f:exec:cat:/x}\n"}, "top"),
    ],
)
def test_the_order_of_loading(texts: Mapping[str, str], order: str) -> None:
    assert load(texts) == order.split()


@pytest.mark.parametrize(
    ("texts", "profile", "missing"),
    [
        ({}, "top", "top"),
        ({"top": "[main]\ninclude=a\n", "a": "[main]\ninclude=b\n"}, "a", "b"),
        ({"top": "[main]\ninclude=../a/b\n"}, "top", "b"),
        ({"top": "x"}, "top", ""),
    ],
)
def test_what_cannot_be_loaded(texts: Mapping[str, str], profile: str, missing: str) -> None:
    with pytest.raises(LoadError) as refused:
        load(texts)
    assert (refused.value.profile, refused.value.missing) == (profile, missing)


def test_a_chain_of_profiles_has_an_end() -> None:
    texts = {f"p{at}": f"[main]\ninclude=p{at + 1}\n" for at in range(1000)}
    with pytest.raises(LoadError, match="more than"):
        load({**texts, "top": "[main]\ninclude=p0\n"})


def merged(*texts: str) -> Merged:
    return merge((f"p{at}", parse(text)) for at, text in enumerate(texts))


@pytest.mark.parametrize(
    ("texts", "options"),
    [
        (("[a]\nx=1\ny=1\n", "[a]\ny=2\n"), {"x": "1", "y": "2"}),
        (("[a]\nx=1\ny=1\n", "[a]\nreplace=1\ny=2\n"), {"y": "2"}),
        (("[a]\nx=1\ny=1\nz=1\n", "[a]\ndrop=x; y\nx=3\n"), {"z": "1", "x": "3"}),
        (("[a]\nx=1\n", "[a]\nreplace=yes\n"), {"x": "1"}),
    ],
)
def test_options_of_a_section(texts: tuple[str, ...], options: dict[str, str]) -> None:
    unit = merged(*texts).units["a"]
    assert {name: value.text for name, value in unit.options.items()} == options


def test_a_later_section_is_enabled_again() -> None:
    """And of the plugin that it names: what it does not say is not kept."""
    unit = merged("[a]\ntype=sysctl\nenabled=0\nx=1\n", "[a]\ny=1\n").units["a"]
    assert (unit.type, unit.is_enabled) == ("a", True)
    assert not merged("[a]\nx=1\n", "[a]\nenabled=false\n").units["a"].is_enabled


def test_variables_of_later_profiles() -> None:
    first, second = "[variables]\na=1\nb=1\n", "[variables]\nc=2\nb=2\n"
    assert {name: value.text for name, value in merged(first, second).variables.items()} == {
        "a": "1",
        "b": "2",
        "c": "2",
    }
    assert list(merged(first, f"{second}prepend=1\n").variables) == ["c", "a", "b"]
    assert list(merged(first, f"{second}replace=1\n").variables) == ["c", "b"]


@pytest.mark.parametrize(
    ("value", "expanded"),
    [
        ("${cpus}", "2-3,8"),
        ("\\${cpus}", "${cpus}"),
        ("${other}", "${other}"),
        ("x ${f:cpulist_unpack:${cpus}} y", "x 2,3,8 y"),
        ("${f:cpulist_online:${cpus}}", "2,3"),
        ("${f:cpulist_present:${cpus}}", "2,3,8"),
        ("${f:cpulist_invert:${cpus}}", "0,1,4,5,6,7"),
        ("${f:cpulist2hex:0,40}", "00000100,00000001"),
        ("${f:cpulist2hex_invert:2-7}", "00000003"),
        ("${f:cpulist_pack:1,2,3,7}", "1-3,7"),
        ("${f:cpulist_unpack:0x3,,5,^0}", "1,5"),
        ("${f:cpulist2devs:1-2}", "cpu1,cpu2"),
        ("${f:hex2cpulist:0x5}", "0,2"),
        ("${f:regex_search_ternary:${cpus}:\\s*[0-9]:yes:no}", "yes"),
        ("${f:strip: ${f:kb2s:2} }", "4"),
        ("${f:assertion:same:1:1}", "${f:assertion:same:1:1}"),
        ("}", "}"),
        ("${f:strip:a", "${f:strip:a"),
    ],
)
def test_values(value: str, expanded: str) -> None:
    variables = Variables(MACHINE)
    variables.add([("cpus", "2-3,8"), ("not a word", "1")])
    assert variables.expand(value) == expanded


@pytest.mark.parametrize(
    "value",
    [
        "${f:exec:uname:-r}",
        "${f:virt_check:a:b}",
        "${f:assertion:same:1:2}",
        "${f:cpulist_unpack:0-99999999}",
        "${f:cpulist_unpack:x}",
        "${f:regex_search_ternary:aaaa:(a+)+b:1:2}",
        "${f:regex_search_ternary:a:[:1:2}",
        "${f:lscpu_check:Flags:1}",
        "${unknown}",
        "${large}",
    ],
)
def test_what_only_a_node_can_tell(value: str) -> None:
    variables = Variables(MACHINE)
    variables.add([("unknown", "${f:exec:uname:-r}"), ("large", "x" * (1 << 16))])
    variables.add([("large", "${large}${large}")])
    with pytest.raises(UnknownValueError):
        variables.expand(value)


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ([("cmdline_a", "+x=1 y"), ("cmdline_b", "z")], "x=1 y z"),
        ([("cmdline_a", "x y x"), ("cmdline_b", "-x"), ("cmdline_c", "+x")], "y x"),
        ([("cmdline_a", ""), ("cmdline", "-"), ("initrd_add_img", "x")], ""),
        ([("cmdline_a", "\\\\+x")], "\\+x"),
    ],
)
def test_boot_arguments(options: list[tuple[str, str]], line: str) -> None:
    assert " ".join(word.text for word in words(options)) == line
