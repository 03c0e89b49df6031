"""Who is told of work, and of what."""

from collections.abc import Iterator

import pytest

from cpuplan.base.progress import follow, stage, watched


class Told:
    """All that was told, in order."""

    def __init__(self) -> None:
        self.events: list[tuple[object, ...]] = []

    def begin(self, what: str, total: int | None) -> None:
        self.events.append((what, total))

    def done(self, name: str) -> None:
        self.events.append((name,))

    def end(self) -> None:
        self.events.append(())

    def stop(self) -> None:
        self.events.append(("stop",))


def test_pieces_are_told_after_their_work() -> None:
    told = Told()
    with watched(told):
        for piece in follow("squares", 2, [3, 4], str):
            told.events.append(("working", piece))
    begun = [("squares", 2), ("working", 3), ("3",), ("working", 4), ("4",), ()]
    assert told.events == [*begun, ("stop",)]


def test_work_that_fails_ends() -> None:
    told = Told()

    def broken() -> Iterator[int]:
        yield 1
        raise ValueError("broken")

    with watched(told), pytest.raises(ValueError, match="broken"):
        list(follow("pieces", 2, broken(), str))
    assert told.events == [("pieces", 2), ("1",), (), ("stop",)]


def test_without_a_watcher_the_pieces_are_the_same_object() -> None:
    pieces = [1, 2]
    assert follow("pieces", 2, pieces, str) is pieces
    with watched(Told()):
        pass
    assert follow("pieces", 2, pieces, str) is pieces


def test_a_stage_has_no_pieces() -> None:
    told = Told()

    @stage("reading")
    def read() -> None:
        told.events.append(("read",))

    read()
    with watched(told):
        read()
        with pytest.raises(ValueError, match="broken"), stage("writing"):
            raise ValueError("broken")
    begun: list[tuple[object, ...]] = [("reading", None), ("read",), (), ("writing", None), ()]
    assert told.events == [("read",), *begun, ("stop",)]
