"""The table of programs and their releases: what it must agree with."""

import re
from itertools import pairwise

import pytest

from cpuplan.facts import platforms, programs
from cpuplan.facts.programs import PROGRAMS, Basis, Known, Program
from cpuplan.language.model.intent import Target
from tests.upstream import ROOT, read_heads

EACH_PROGRAM = pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)


@EACH_PROGRAM
def test_releases_ascend_and_have_a_day(program: Program) -> None:
    numbers = [tuple(map(int, name.split("."))) for name in program.names if name != "main"]
    assert all(before < after for before, after in pairwise(numbers))
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", program.until)


@EACH_PROGRAM
def test_what_predicts_is_known_itself(program: Program) -> None:
    """A prediction names a release of the table, or a commit that no release is of."""
    for known in program.releases:
        if known.basis is Basis.PREDICTED:
            others = (program.find(known.of), programs.KUBERNETES.find(known.of))
            is_certain = any(other and other.is_certain for other in others)
            assert is_certain or re.search(r"\([0-9a-f]{12}\)", known.of)


def test_every_platform_has_its_releases_from_here() -> None:
    for name, platform in platforms.PLATFORMS.items():
        assert tuple(platform.releases) == PROGRAMS[name].names


def test_defaults_of_targets_are_known() -> None:
    target = Target.model_construct(platform="kubernetes", version="1.36")
    assert programs.CONTAINERD.find(target.containerd)
    assert programs.KOORDINATOR.find(target.koordinator)
    assert programs.NRI_PLUGINS.find(target.nri_plugins)
    assert programs.DRA_DRIVER_CPU.find(target.dra.release)


def test_commits_of_ports_are_said() -> None:
    """Whoever moves a port to another commit says it here, for the projects that are here."""
    said: dict[str, str] = {}
    for program in PROGRAMS.values():
        of = " ".join(known.of for known in program.releases)
        said[program.project] = f"{said.get(program.project, '')} {of}"
    missing = {
        (head.project, head.commit)
        for head in read_heads(ROOT)
        if head.project in said and head.commit[:12] not in said[head.project]
    }
    assert missing == set()


def test_words_of_each_way() -> None:
    rows = (
        programs.recorded("1.8", "1.8.0"),
        programs.read("1.7", "abc"),
        programs.predicted("1.9", "1.8"),
        programs.unproven("2.0", "nobody saw it"),
    )
    assert [known.words for known in rows] == [
        "recorded answers of 1.8.0",
        "source read at abc",
        "predicted by the rules of 1.8",
        "unproven: nobody saw it",
    ]
    assert [known.is_certain for known in rows] == [True, True, False, False]


def test_a_new_release_is_one_line() -> None:
    """With its row, a release is known to whoever asks for what its program does newest."""
    with_it = programs.CONTAINERD._replace(
        releases=(*programs.CONTAINERD.releases, programs.read("2.5", "abc"))
    )
    assert (with_it.find("2.5"), with_it.span) == (
        Known("2.5", Basis.READ, "abc"),
        "from 1.6 to 2.5",
    )
    assert (programs.latest(with_it), programs.newest(with_it)) == ((2, 5), (2, 5))
    assert programs.latest(programs.KUBERNETES) < programs.newest(programs.KUBERNETES)
