"""Remedies as an operator reads them: what they advise is done, in the middle of the night."""

import re

import pytest

from cpuplan.diagnostics.codes import CODES, DIVIDED, successors

#: What can be removed without a loss: a part of an intent or of another document.
_PART = (
    r"the (option|field|argument|entry|key|gate|annotation|namespaces|waiver)\b"
    r"|\{(them|name)\}|`[\w: ]+`"
    r"|\w+\.\w+|[a-z]+([A-Z]\w+|-[a-z-]+)"
)
#: What loses something; options such as --allow-removal say what they do.
_LOSING = re.compile(
    rf"\b(delet|renam|overwrit)\w*|(?<!-)\bremov\w*\b(?! ({_PART}))|\bfrom scratch\b|--force\b"
)
#: The codes whose remedy may say so, with what is lost.
_MAY = {
    "CP111": "a pipe or device that is no document",
    "CP112": "files that are no documents",
    "CP126": "the name of a file to import",
    "CP137": "the name of a file to import",
    "CP206": "a document's name, of which there are two",
    "CP238": "a part of an object that cpuplan does not write",
    "CP239": "a label of a node, which the inventory keeps",
    "CP298": "an object that cpuplan does not write, once its settings are in the intent",
    "CP603": "an edit that would be lost anyway, and it says so",
    "CP604": "nothing: out/ is written anew from its inputs",
    "CP707": "the kubelet's own state, on a node that was drained",
    "CP825": "the kubelet's own state, on a node that was drained",
    "CP826": "the kubelet's own state, on a node that was drained",
}


@pytest.mark.parametrize("code", CODES)
def test_no_remedy_loses_layouts_or_breaks_what_is_compiled(code: str) -> None:
    remedy = CODES[code].remedy
    assert not _LOSING.search(remedy) or code in _MAY, remedy


@pytest.mark.parametrize("code", ["CP240", "CP241", "CP242"])
def test_a_lock_is_never_given_up(code: str) -> None:
    assert not re.search(r"\bdelet|without it\b", CODES[code].remedy)


def test_a_compiled_file_keeps_its_name() -> None:
    assert "the compiled file keeps its name" in CODES["CP833"].remedy


def test_a_divided_code_is_the_code_of_no_finding_and_names_several() -> None:
    assert {"CP594", "CP638", "CP718", "CP850", "CP852", "CP872", "CP894"} <= DIVIDED
    assert not DIVIDED & CODES.keys()
    for code in DIVIDED:
        names = successors(code)
        assert len(names) > 1
        assert {CODES[name].was for name in names} == {code}
        # What can be waived by the old code can be by each of the new ones, and it is of one stage.
        assert len({(name[2], CODES[name].severity) for name in names}) == 1


def test_codes_that_nobody_divided() -> None:
    assert successors("CP871") == ("CP871",)
    assert successors("CP100") == successors("") == ()


@pytest.mark.parametrize("stage", "123456789")
def test_every_stage_has_numbers_left(stage: str) -> None:
    """Four digits are taken where three are used up."""
    free = {f"CP{stage}{number:03}" for number in range(100, 1000)} - CODES.keys()
    assert len(free) > 300
