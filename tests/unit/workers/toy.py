"""Work without a meaning, and accidents that can happen to who does it."""

import json
import os
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path


@dataclass(frozen=True)
class Toy:
    """Squares of numbers; the number `fatal` ends the process that meets it.

    With a file `once`, only the first one, which makes the file.
    """

    numbers: tuple[int, ...]
    fatal: int = -1
    once: Path | None = None
    #: Seconds for each number: the later ones are done first.
    pause: float = 0.0
    here: int = 0

    def __len__(self) -> int:
        return len(self.numbers)

    def prepare(self) -> None:
        pass

    def part(self, chosen: slice) -> "Toy":
        return replace(self, numbers=self.numbers[chosen])

    def results(self) -> list[int]:
        return [self._square(number) for number in self.numbers]

    def packed(self) -> bytes:
        return json.dumps(self.results()).encode()

    def unpacked(self, data: bytes) -> Sequence[int]:
        numbers: list[int] = json.loads(data)
        return numbers

    def _square(self, number: int) -> int:
        if number == self.fatal and os.getpid() != self.here:
            self._end()
        time.sleep(max(0.0, self.pause * (10 - number)))
        return number * number

    def _end(self) -> None:
        if self.once is not None:
            try:
                self.once.touch(exist_ok=False)
            except FileExistsError:
                return
        os.kill(os.getpid(), signal.SIGKILL)
