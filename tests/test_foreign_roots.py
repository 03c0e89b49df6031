"""No root makes the check fall over: recorded machines against plans that are not theirs."""

from contextlib import suppress
from pathlib import Path

import pytest

from cpuplan.check.host import check
from cpuplan.check.subject import name as fact_of
from cpuplan.check.subject import nowhere
from cpuplan.diagnostics import CpuplanError
from tests.hosts import roots_at
from tests.mutation import cases
from tests.projects import SHARED, needs_shared

CORPUS = SHARED / "corpus"
ARCHIVES = sorted(
    str(path.relative_to(CORPUS))
    for pattern in ("sysroot.tar.*", "sysinfo.tgz", "ghw-snapshot.tar.gz")
    for path in CORPUS.glob(f"*/{pattern}")
)
PLANS = ("every-pool", "ticking", "openshift", "containerd", "pods")

pytestmark = [needs_shared, pytest.mark.slow]


@pytest.mark.parametrize("archive", ARCHIVES)
def test_every_fact_of_every_plan_gets_an_answer(archive: str) -> None:
    (root,) = roots_at(Path(CORPUS, archive))
    for name in PLANS:
        expected = cases.case(name).expected
        known = {answer.fact for answer in check(root, expected, expected.nodes[0], nowhere)}
        assert {fact_of(setting) for setting in expected.settings} <= known


@pytest.mark.parametrize("folder", sorted({archive.partition("/")[0] for archive in ARCHIVES}))
def test_what_else_lies_there_is_refused(folder: str) -> None:
    """What is no root is refused by a diagnostic."""
    for path in sorted(Path(CORPUS, folder).iterdir()):
        with suppress(CpuplanError):
            roots_at(path)
