"""What `validate` takes, `compile` takes too: of every two things that documents say together.

The slow tests try pairs of all words, and rows of many words at once; the others a sample of both.
"""

from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from tests import combinations
from tests.combinations import Row
from tests.projects import plain_environment, run_in

#: Each of so many tests has its share of the pairs.
SHARES = 8
#: Rows that once ended with a bug.
FOUND: Sequence[Row] = (
    {"target": "rke2 1.33", "git": "restricted"},
    {"target": "talos 1.9", "git": "both"},
    {"runtime": "containerd-2.3", "git": "plugin"},
    {"git": "plugin-restricted", "kubelet": "dra"},
    {"mode": "profile", "runtime": "containerd"},
)


def check(folder: Path, rows: Sequence[Row]) -> int:
    """Compile the rows; how many of them are valid."""
    number = 0
    for row in rows:
        is_valid, wrong = combinations.compiled(folder, row)
        assert not wrong, (row, wrong)
        number += is_valid
    return number


@pytest.mark.parametrize("row", FOUND)
def test_what_was_found(row: Row, tmp_path: Path) -> None:
    check(tmp_path, [row])


def test_each_subject_has_words_that_are_valid(tmp_path: Path) -> None:
    """So that a mistake in the file of words does not make the other tests empty."""
    for subject, words in combinations.subjects().items():
        rows = [{subject: word} for word in words]
        assert any(combinations.is_valid(tmp_path, row) for row in rows), subject


def test_a_sample(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the commands, as users give them."""
    plain_environment(monkeypatch)
    row = combinations.grown(Random(1), tmp_path / "judged")  # noqa: S311 - no secret
    assert len(row) > 8
    for number, said in enumerate((row, *FOUND[:2])):
        folder = tmp_path / str(number)
        combinations.write(folder, said)
        for words in (["validate"], ["compile"], ["compile", "--check"], ["validate"]):
            code, _, told = run_in(folder, words, capsys)
            assert code == 0, (said, words, told)
    pairs = list(combinations.pairs())
    assert check(tmp_path / "pairs", pairs[:: len(pairs) // 50]) > 20


@pytest.mark.slow
@pytest.mark.parametrize("share", range(SHARES))
def test_all_pairs(share: int, tmp_path: Path) -> None:
    rows = list(combinations.pairs())[share::SHARES]
    assert check(tmp_path, rows) > len(rows) / 2


@pytest.mark.slow
def test_rows_of_many_words(tmp_path: Path) -> None:
    for seed in range(24):
        row = combinations.grown(Random(seed), tmp_path)  # noqa: S311
        assert check(tmp_path, [row]) == 1, row
