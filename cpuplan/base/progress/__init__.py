"""What is being done, and what is left of it, for whoever watches: no result depends on it."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, TypeVar

Piece = TypeVar("Piece")


class Progress(Protocol):
    """Someone who is told."""

    def begin(self, what: str, total: int | None) -> None:
        """Work on so many pieces begins; None for work that nobody can count."""

    def done(self, name: str) -> None:
        """A piece is done."""

    def end(self) -> None:
        """The work that began last has ended, done or not."""

    def stop(self) -> None:
        """Nothing is told any more, whatever has not ended."""


_watching: ContextVar[Progress | None] = ContextVar("watching", default=None)


@contextmanager
def watched(progress: Progress | None) -> Iterator[None]:
    """Tell of all that is done inside."""
    token = _watching.set(progress)
    try:
        yield
    finally:
        _watching.reset(token)
        if progress is not None:
            progress.stop()


@contextmanager
def stage(what: str) -> Iterator[None]:
    """Tell what is being done inside, and how long it takes; also as a decorator.

    Pieces that are counted inside are told in its place.
    """
    progress = _watching.get()
    if progress is None:
        yield
        return
    progress.begin(what, None)
    try:
        yield
    finally:
        progress.end()


def follow(
    what: str, total: int, pieces: Iterable[Piece], name: Callable[[Piece], str]
) -> Iterable[Piece]:
    """The pieces as they are, each told when the next one is asked for; nothing if nobody watches.

    What is counted inside of other counted work is not told on its own.
    """
    progress = _watching.get()
    return pieces if progress is None else _told(progress, what, total, pieces, name)


def _told(
    progress: Progress, what: str, total: int, pieces: Iterable[Piece], name: Callable[[Piece], str]
) -> Iterator[Piece]:
    progress.begin(what, total)
    try:
        for piece in pieces:
            yield piece
            progress.done(name(piece))
    finally:
        progress.end()
