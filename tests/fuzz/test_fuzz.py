"""Every target on changed seeds, by hypothesis: for a moment, or for CPUPLAN_FUZZ_SECONDS each."""

import gzip
import os
import signal
import time
from collections import deque
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from cpuplan.importers import formats
from tests.fuzz import campaign, seeds
from tests.fuzz.limits import TooLong, bounded, own_folder
from tests.fuzz.mutation import mutate
from tests.fuzz.targets import TARGETS, OutsideError, confined, seeds_of

SECONDS = float(os.environ.get("CPUPLAN_FUZZ_SECONDS", "0"))
#: Without a time the same examples are tried each time, so that the gate says the same each time.
EXAMPLES = settings(
    max_examples=60,
    deadline=None,
    database=None,
    derandomize=not SECONDS,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.generate,) if SECONDS else (Phase.generate, Phase.shrink),
)


def test_every_importer_has_seeds() -> None:
    assert set(formats.FORMATS) <= set(seeds.FORMATS)


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_seeds(name: str) -> None:
    for seed in seeds_of(name):
        TARGETS[name](seed)


def test_confined(tmp_path: object) -> None:
    with pytest.raises(OutsideError), confined(str(tmp_path)):
        os.listdir("/proc")
    with pytest.raises(OutsideError), confined(str(tmp_path)):
        os.open(f"{tmp_path}/new", os.O_WRONLY | os.O_CREAT)


def test_busy_inputs_are_found_and_waiting_ones_are_not() -> None:
    with bounded(0.01):
        time.sleep(0.05)
    with pytest.raises(TooLong), bounded(0.01):
        deque(iter(lambda: 0, 1), maxlen=0)  # calls that never end
    assert signal.getitimer(signal.ITIMER_PROF) == (0, 0)


def test_campaigns_have_folders_of_their_own() -> None:
    first, second = own_folder(), own_folder()
    assert first != second
    assert first.parent == second.parent
    assert str(os.getpid()) in first.parent.name


def test_campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It goes on after a find, and keeps the first of those that end in the same place."""

    def broken(data: bytes) -> None:
        raise AssertionError("broken")

    monkeypatch.setitem(TARGETS, "cpus", broken)
    made = campaign.Campaign("cpus", tmp_path)
    made.run(0.05, Random(1))  # noqa: S311 - no secret
    assert made.finds == made.inputs > 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cpus-find-1", "cpus-find-1.txt"]


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_target(name: str) -> None:
    target, starts = TARGETS[name], seeds_of(name)

    @EXAMPLES
    @given(st.sampled_from(starts), st.randoms(use_true_random=False), st.booleans())
    def run(seed: bytes, random: Random, packed: bool) -> None:
        changed = mutate(random, seed)
        # gzip's own checksum keeps most changes from the reader of what is in it.
        target(gzip.compress(changed, 1, mtime=0) if packed and name == "sysroot" else changed)

    end = time.monotonic() + SECONDS
    run()
    while time.monotonic() < end:
        run()
