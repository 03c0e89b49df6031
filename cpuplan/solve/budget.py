"""How much work a layout or a simulation may take: counted in steps, not by the clock.

A clock would end a search at another step on each machine, and the same input would give another
layout. One limit holds for all that a layout needs: the search itself, the canonical choice, and
the explanation where there is none. Another one, as long, holds for all that is simulated on nodes
of a class, so that what is said of them is the same whether their layout was searched for or not.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

#: The seconds of work for a layout where nobody says otherwise.
DEFAULT = 60.0
#: Units of CP-SAT's deterministic time in a second of work, measured on models of many sizes.
_UNITS = 0.5
#: The share of a limit for the choice among equally good layouts: two seconds of a minute.
_TIES = 0.035


class UndecidedError(Exception):
    """The limit was reached before an answer was known: neither yes nor no."""


class Effort:
    """What is left of a limit, in the solver's units."""

    def __init__(self, seconds: float | None = None) -> None:
        self.is_asked = seconds is not None  # somebody wants just this limit
        self.seconds = DEFAULT if seconds is None else seconds
        self.left = self.seconds * _UNITS
        #: Of that, for the choice among equally good layouts: no goal depends on it.
        self.left_for_ties = self.left * _TIES

    def spend(self, units: float) -> None:
        """Count work that was done."""
        self.left -= units

    def step(self, seconds: float) -> None:
        """Count a step that begins now; UndecidedError, and no step, when nothing is left."""
        self.check()
        self.spend(seconds * _UNITS)

    @property
    def words(self) -> str:
        """`60 seconds`."""
        return "1 second" if self.seconds == 1 else f"{self.seconds:g} seconds"

    @contextmanager
    def at_most(self, units: float) -> Iterator[None]:
        """What is searched for inside has so much of what is left."""
        kept = self.left - min(self.left, max(units, 0))
        self.left -= kept
        try:
            yield
        finally:
            self.left += kept

    @contextmanager
    def ties(self) -> Iterator[None]:
        """What is searched for inside chooses among equally good layouts."""
        before = self.left
        try:
            with self.at_most(self.left_for_ties):
                yield
        finally:
            self.left_for_ties -= before - self.left

    @property
    def is_over(self) -> bool:
        """Whether nothing is left."""
        return self.left <= 0

    def must_have(self, units: float) -> None:
        """Raise UndecidedError where less is left than some work takes, which is not begun then."""
        if self.left < units:
            self.spend(units)
            raise UndecidedError

    def check(self) -> None:
        """Raise UndecidedError when nothing is left."""
        if self.is_over:
            raise UndecidedError


_current: ContextVar[Effort | None] = ContextVar("effort", default=None)


@contextmanager
def limited(seconds: float | None = None) -> Iterator[Effort]:
    """Whatever is searched for inside shares one limit: the outermost one; None for the default."""
    outer = _current.get()
    if outer is not None:
        yield outer
        return
    with holding(Effort(seconds)) as effort:
        yield effort


@contextmanager
def simulated(seconds: float | None = None) -> Iterator[Effort]:
    """What is simulated inside has a limit of its own, whatever was searched for before it.

    Where `seconds` does not say how much, it is as much as somebody asked for a layout.
    """
    outer = _current.get()
    if seconds is None and outer is not None and outer.is_asked:
        seconds = outer.seconds
    with holding(Effort(seconds)) as effort:
        yield effort


@contextmanager
def holding(effort: Effort) -> Iterator[Effort]:
    """What is done inside shares this limit."""
    token = _current.set(effort)
    try:
        yield effort
    finally:
        _current.reset(token)


@contextmanager
def part(seconds: float) -> Iterator[Effort]:
    """What is searched for inside ends after so many seconds of work, and counts as ever."""
    outer = current()
    inner = Effort(seconds)
    inner.is_asked, inner.left = outer.is_asked, min(inner.left, outer.left)
    before = inner.left
    token = _current.set(inner)
    try:
        yield inner
    finally:
        _current.reset(token)
        outer.spend(before - inner.left)


def current() -> Effort:
    """The limit that holds here; a search that nobody limits has one for itself."""
    return _current.get() or Effort()


#: Whether answers of the solver are remembered, and taken from others; see `model.answer`.
are_answers_shared: ContextVar[bool] = ContextVar("are_answers_shared", default=False)


@contextmanager
def shared_answers() -> Iterator[None]:
    """Work inside is done once for equal questions, whoever asks them inside of others."""
    token = are_answers_shared.set(True)
    try:
        yield
    finally:
        are_answers_shared.reset(token)
