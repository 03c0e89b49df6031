"""`python -m tests.fuzz.campaign TARGET [CPU SECONDS [FOLDER]]`: changes of one target's seeds, at
random.

It goes on after a find, until it has spent so many seconds on the processor. FOLDER gets the input
of each find, with what went wrong, and each input that takes longer than all before it. The last
line says how many inputs were tried, in how much time, and how much memory the process had at most.
"""

import resource
import sys
import tempfile
import time
import traceback
from pathlib import Path
from random import Random

from tests.fuzz.limits import own_folder
from tests.fuzz.mutation import mutate
from tests.fuzz.targets import TARGETS, seeds_of

PAUSE = 30.0  # seconds between two lines that say how far it is
SLOW = 2.0  # seconds; nothing below is worth a look


class Campaign:
    """One run: what it counted so far."""

    def __init__(self, name: str, folder: Path) -> None:
        self.finds = self.inputs = 0
        self._name, self._folder, self._slowest = name, folder, SLOW
        self._kinds: set[str] = set()

    def run(self, seconds: float, random: Random) -> None:
        """Try inputs until the process has spent `seconds` on the processor."""
        starts = seeds_of(self._name)
        end = time.process_time() + seconds
        told = time.process_time() + PAUSE
        while (now := time.process_time()) < end:
            if now > told:
                told = now + PAUSE
                print(self, flush=True)
            data = random.choice(starts)
            if self.inputs >= len(starts):
                data = mutate(random, data)
            self._try(data)

    def _try(self, data: bytes) -> None:
        self.inputs += 1
        begin = time.process_time()
        try:
            TARGETS[self._name](data)
        except KeyboardInterrupt:
            raise
        except BaseException:
            self._keep(data, traceback.format_exc())
        took = time.process_time() - begin
        if took > self._slowest:
            self._slowest = took
            self._save(f"slow-{took:.1f}", data, "")

    def _keep(self, data: bytes, story: str) -> None:
        """Save a find; of those that end in the same lines only the first."""
        self.finds += 1
        places = [line for line in story.splitlines() if line.startswith('  File "')]
        kind = "".join(places[-3:])
        if kind not in self._kinds:
            self._kinds.add(kind)
            self._save(f"find-{len(self._kinds)}", data, story)

    def _save(self, name: str, data: bytes, story: str) -> None:
        path = self._folder / f"{self._name}-{name}"
        path.write_bytes(data)
        if story:
            path.with_name(f"{path.name}.txt").write_text(story)
        print(f"{path}: {story.splitlines()[-1] if story else 'slow'}", flush=True)

    def __str__(self) -> str:
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        return (
            f"{self._name}: {self.inputs} inputs, {time.process_time():.0f} s of the processor, "
            f"{self.finds} finds of {len(self._kinds)} kinds, at most {most} MiB"
        )


def main() -> int:
    """Run, and say what was found; 1 if anything was."""
    if len(sys.argv) < 2 or sys.argv[1] not in TARGETS:
        print(f"targets: {', '.join(TARGETS)}")
        return 2
    folder = Path(sys.argv[3] if len(sys.argv) > 3 else ".")
    folder.mkdir(parents=True, exist_ok=True)
    tempfile.tempdir = str(own_folder())  # of targets too: campaigns do not meet
    campaign = Campaign(sys.argv[1], folder)
    campaign.run(float(sys.argv[2] if len(sys.argv) > 2 else 60), Random())  # noqa: S311 - no secret
    print(campaign)
    return 1 if campaign.finds else 0


if __name__ == "__main__":
    sys.exit(main())
