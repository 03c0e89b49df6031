"""The form of `tests/expected/` loses nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import shared_lines
from tests.named_cases import AS_IT_IS, File, compiled, differences, files, shared_layouts

ALIKE = """\
[Unit]
After=crio.service

[Service]
Environment=CPUS=0-3
Type=oneshot
"""
OTHER = ALIKE.replace("0-3", "0-7")
SHORTER = "[Unit]\nBefore=kubelet.service\nAfter=crio.service\n"
LAYOUT = """\
  [Unit]
? Before=...
  After=crio.service

  [Service]
? Environment=...
  Type=oneshot
"""
LISTED = {
    ALIKE: "\n  [Service]\n  Environment=CPUS=0-3\n",
    OTHER: "\n  [Service]\n  Environment=CPUS=0-7\n",
    SHORTER: "  [Unit]\n  Before=kubelet.service\n-\n- [Service]\n",
}


def test_a_layout_has_what_most_texts_have() -> None:
    assert shared_lines.layout(list(LISTED)) == LAYOUT.splitlines()


@pytest.mark.parametrize("text", LISTED)
def test_what_a_text_has_differently(text: str) -> None:
    listed = LISTED[text].splitlines()
    assert shared_lines.differences(LAYOUT.splitlines(), text) == listed
    assert shared_lines.restored(LAYOUT.splitlines(), listed) == text


LINES = st.sampled_from(
    ["a: 1", "a: 2", "a:", "  b: 1", "  b=2", "- c: 3", "  - c: 5", "  d: 4", "[e]", "# f", "", " "]
)
TEXTS = st.lists(LINES).map("\n".join)


@given(st.lists(TEXTS, min_size=2, max_size=5, unique=True))
def test_unlike_files_are_listed_unlike(texts: list[str]) -> None:
    unlike = [File("", text, {}) for text in texts]
    for layout in shared_lines.layout([file.short for file in unlike]), []:
        assert len({tuple(differences(file, layout)) for file in unlike}) == len(texts)


@pytest.mark.parametrize("name", ["hft", "performance-profile"])
def test_no_change_of_a_line_goes_unseen(name: str) -> None:
    for file in files(compiled(name)):
        layout = shared_layouts()[file.path]
        known = differences(file, layout)
        for line in file.text.splitlines():
            text = file.text.replace(line, f"{line}!", 1)
            assert differences(file._replace(text=text), layout) != known, (file.path, line)


def test_what_does_not_fit_is_listed_whole() -> None:
    listed = differences(File("", "b: 1\na: 2\n", {}), ["  a: 2", "  b: 1"])
    assert listed == [f"{AS_IT_IS}b: 1", f"{AS_IT_IS}a: 2", AS_IT_IS]
