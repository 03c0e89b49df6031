"""Remedies as an operator reads them: what they advise is done, in the middle of the night."""

import re

import pytest

from cpuplan.diagnostics.codes import CODES

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
