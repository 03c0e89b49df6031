"""Changing values in YAML text: what is not changed stays, to the byte."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpuplan.base.emit import Flow, to_yaml
from cpuplan.language.read import yaml
from cpuplan.write.inventory.merge import plain, splice

TEXT = """\
# first line
kind: Hardware   # what it is

metadata: {name: gold, labels: {room: "a"}} # ours
spec:
    # four more blanks
    model: 'Xeon'
    text: |
        two
        lines
    devices:
      # the first card
      - {address: "0:1", class: network} # left
      # the second card
      - address: "0:2" # right
        class: storage

      # the third card
      - class: other
        address: "0:3"
    # about sizes
    sizes: [2Mi,
      1Gi] # and no more
# last line
"""


def read(text: str) -> Any:
    (source,), problems = yaml.parse("a.yaml", text)
    assert not problems
    return source.data


def changed(text: str, change: Any) -> str:
    """`text` after `change` was made to a copy of its data."""
    data = read(text)
    wanted = read(text)
    change(wanted)
    result = splice(text, 0, data, wanted)
    assert read(result) == plain(wanted)
    return result


def replaced(*pairs: tuple[str, str]) -> str:
    text = TEXT
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new, 1)
    return text


def put(data: dict[str, Any], key: str, value: Any, after: str) -> None:
    items = list(data.items())
    at = next((index for index, (name, _) in enumerate(items) if name == after), -1) + 1
    data.clear()
    data.update([*items[:at], (key, value), *items[at:]])


FIRST, SECOND, THIRD = (
    '- {address: "0:1", class: network}',
    '- address: "0:2"',
    '- class: other\n        address: "0:3"',
)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda data: None, TEXT),
        # scalars, in blocks and between brackets
        (lambda data: data["spec"].update(model="Xeon: 2"), replaced(("'Xeon'", '"Xeon: 2"'))),
        (lambda data: data["metadata"]["labels"].update(room="b, c"), replaced(('"a"', '"b, c"'))),
        (
            lambda data: data["spec"]["devices"][0].update({"class": "gpu"}),
            replaced(("network", "gpu")),
        ),
        (
            lambda data: data["spec"]["devices"][2].update({"class": "gpu"}),
            replaced(("other", "gpu")),
        ),
        # new keys
        (
            lambda data: data["metadata"]["labels"].update(rack=3),
            replaced(('{room: "a"}', '{room: "a", rack: 3}')),
        ),
        (
            lambda data: put(data["spec"], "vendor", "AMD", "model"),
            replaced(("    text:", "    vendor: AMD\n    text:")),
        ),
        (
            lambda data: put(data["spec"], "vendor", "AMD", ""),
            replaced(("    model:", "    vendor: AMD\n    model:")),
        ),
        (
            lambda data: put(data["spec"], "more", {"a": 1, "b": [1]}, "text"),
            replaced(("    devices:", "    more:\n      a: 1\n      b:\n      - 1\n    devices:")),
        ),
        (
            lambda data: put(data["spec"]["devices"][1], "driver", "ice", ""),
            replaced(("# right\n", "# right\n        driver: ice\n")),
        ),
        (
            lambda data: put(data["spec"]["devices"][1], "driver", "ice", "class"),
            replaced(("class: storage\n", "class: storage\n        driver: ice\n")),
        ),
        # keys that go
        (lambda data: data["spec"].pop("model"), replaced(("    model: 'Xeon'\n", ""))),
        (lambda data: data["metadata"].pop("name"), replaced(("name: gold, ", ""))),
        (lambda data: data["metadata"].pop("labels"), replaced((', labels: {room: "a"}', ""))),
        (
            lambda data: data["spec"]["devices"][2].pop("class"),
            replaced(("class: other\n        ", "")),
        ),
        (
            lambda data: data["spec"].pop("text"),
            replaced(("    text: |\n        two\n        lines\n", "")),
        ),
        # items that go: the comments above the others stay
        (lambda data: data["spec"]["devices"].pop(0), replaced((f"      {FIRST} # left\n", ""))),
        (
            lambda data: data["spec"]["devices"].pop(1),
            replaced((f"      {SECOND} # right\n        class: storage\n", "")),
        ),
        (lambda data: data["spec"]["devices"].pop(2), replaced((f"      {THIRD}\n", ""))),
        (lambda data: data["spec"]["sizes"].pop(), replaced((",\n      1Gi]", "]"))),
        # and new ones
        (lambda data: data["spec"]["sizes"].append("4Ki"), replaced(("1Gi]", "1Gi, 4Ki]"))),
        (
            lambda data: data["spec"]["devices"].insert(2, {"address": "0:9", "class": "gpu"}),
            replaced(
                ("class: storage\n", 'class: storage\n      - address: "0:9"\n        class: gpu\n')
            ),
        ),
        (
            lambda data: data["spec"]["devices"].insert(0, Flow({"address": "0:9"})),
            replaced((f"      {FIRST}", f'      - {{address: "0:9"}}\n      {FIRST}')),
        ),
        # another kind of value is written anew
        (
            lambda data: data["spec"].update(text="one"),
            replaced(("|\n        two\n        lines", "one")),
        ),
        (
            lambda data: data["spec"].update(model=["a"]),
            replaced(("model: 'Xeon'", "model:\n    - a")),
        ),
        (lambda data: data["metadata"].update(name=["a"]), replaced(("name: gold", "name: [a]"))),
        (lambda data: data["spec"].update(sizes=[]), replaced(("[2Mi,\n      1Gi]", "[]"))),
    ],
)
def test_splice(change: Any, expected: str) -> None:
    assert changed(TEXT, change) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1", "a: 2\n"),
        ("a: 1 # one\n...\n", "a: 2 # one\n...\n"),
        ("--- # first\n---\na: 1\n---\nb: 3\n", "--- # first\n---\na: 2\n---\nb: 3\n"),
        ("{a: 1}\n", "{a: 2}\n"),
        ("a:\n  # below\n  1\n", "a:\n  # below\n  2\n"),
        ("ä: ü # ö\na: 1\n", "ä: ü # ö\na: 2\n"),
        ("a: 1 # one\r\nb: 2\r\n", "a: 2 # one\r\nb: 2\r\n"),
    ],
)
def test_kinds_of_files(text: str, expected: str) -> None:
    sources, problems = yaml.parse("a.yaml", text)
    assert not problems
    data: Any = sources[0].data
    assert splice(text, 0, data, {**data, "a": 2}) == expected


def test_a_text_of_several_lines_stays_on_the_line_of_the_value_before() -> None:
    assert (
        changed("a:\n  b: 0\nc: 1\n", lambda data: data["a"].update(b="#\n"))
        == 'a:\n  b: "#\\n"\nc: 1\n'
    )


def test_comment_between_dash_and_value() -> None:
    """Such an item is written anew with its list, which is rather lost than wrong."""
    text = "a:\n-  # odd\n  b: 1\n- b: 2 # two\nc: 3 # three\n"
    assert (
        changed(text, lambda data: data["a"][0].update(b=4))
        == "a:\n- b: 4\n- b: 2 # two\nc: 3 # three\n"
    )


@pytest.mark.parametrize("rest", ["", " # ours", "\nb: 1", " # ours\nb: 1"])
@pytest.mark.parametrize("value", ["x\n", "x\n\n", "\nx\n\n\n"])
def test_line_ends_of_a_value_that_is_written_anew(value: str, rest: str) -> None:
    text = f"a: []{rest}\n"
    result = changed(text, lambda data: data.update(a=[value]))
    assert ("# ours" in result) == ("# ours" in rest)


NAMES = st.sampled_from(["address", "b", "c", "on", "id", "x y"])
SCALARS = st.one_of(st.integers(0, 99), st.text("ab: #,'\"0-\n", max_size=5), st.booleans())
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(NAMES, inner, max_size=4),
        st.lists(inner, max_size=3).map(Flow),
    ),
    max_leaves=12,
)
DOCUMENTS = st.dictionaries(NAMES, VALUES, min_size=1, max_size=5)


@given(DOCUMENTS, DOCUMENTS)
def test_any_change(old: dict[str, Any], new: dict[str, Any]) -> None:
    """Whatever the data before and after, the text says what is wanted.

    Only the order of lists that were mixed may differ.
    """
    text = to_yaml({"kind": "Hardware", **old})
    data = read(text)
    wanted = {key: value for key, value in data.items() if key in new or key == "kind"} | new
    assert read(splice(text, 0, data, wanted)) == plain(wanted)
