"""What a case of `tests/rejected/` needs beside its files."""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from cpuplan.cli.main import run

Arrangement = Callable[[Path], AbstractContextManager[None]]


@contextmanager
def _compiled(target: Path) -> Iterator[None]:
    run(["-C", str(target), "compile"])
    yield


@contextmanager
def _another_run(target: Path) -> Iterator[None]:
    folder = os.open(target, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    yield
    os.close(folder)


@contextmanager
def _no_text(target: Path) -> Iterator[None]:
    """Bytes that are no text."""
    (target / "intents/more.yaml").write_bytes(b"kind: \xff\xfe\n")
    yield


ARRANGEMENTS: dict[str, Arrangement] = {
    "CP108-no-text": _no_text,
}


def around(name: str, target: Path) -> AbstractContextManager[None]:
    """The surroundings of the case `name`."""
    return ARRANGEMENTS.get(name, lambda _: nullcontext())(target)
