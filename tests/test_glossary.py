"""The glossary: the words of the program are in it, in order, and each entry is of use."""

import re

import pytest

from cpuplan.backends.base import CLUSTER_KINDS, NAMESPACED_KINDS
from cpuplan.language.model.pools import POOLS
from cpuplan.language.read.documents import KINDS
from tests.projects import DOCUMENTS, REPOSITORY

GLOSSARY = REPOSITORY / "docs" / "glossary.md"
ENTRIES = {
    term: " ".join(lines.split())
    for term, lines in re.findall(r"^## (.+)\n\n((?:.+\n)+)", GLOSSARY.read_text(), re.MULTILINE)
}
#: Kinds that cpuplan writes for OpenShift: not every reader knows OpenShift.
OPENSHIFT_KINDS = [
    kind for group, kind in (*CLUSTER_KINDS, *NAMESPACED_KINDS) if group.endswith(".openshift.io")
]


def test_terms_are_in_alphabetical_order() -> None:
    assert list(ENTRIES) == sorted(ENTRIES, key=str.casefold)


@pytest.mark.parametrize("word", [*POOLS, *KINDS, *OPENSHIFT_KINDS])
def test_words_of_the_program_are_explained(word: str) -> None:
    assert word.casefold() in map(str.casefold, ENTRIES)


@pytest.mark.parametrize("term", ENTRIES)
def test_each_entry_has_at_most_two_sentences_and_a_link(term: str) -> None:
    explanation, _, _ = ENTRIES[term].partition("See [")
    assert len(re.findall(r"\. |\.\Z", explanation)) <= 2
    assert "](" in ENTRIES[term]


@pytest.mark.parametrize("term", ENTRIES)
def test_each_term_is_used_in_another_document(term: str) -> None:
    others = [page.read_text() for page in DOCUMENTS if page != GLOSSARY]
    words = " ".join("\n".join(others).casefold().split())
    assert term.casefold() in words
