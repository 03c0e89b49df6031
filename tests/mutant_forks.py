"""Which tests notice changed code, asked in forks of a pytest that has imported and collected.

A fork gives the functions of a module their changed code and runs tests until one fails. Which
tests can fail at all is known from one run before, in which every statement that has a change tells
that it was reached: those that reach it, and all of a file where it is reached by a fixture or for
a value that is kept. Nothing is kept from one file to the next.
"""

import ast
import builtins
import functools
import gc
import importlib
import json
import os
import resource
import select
import signal
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, NamedTuple

import pytest

#: A change may make a loop endless: the CPU seconds that a test may take, and those that it waits.
_SECONDS, _WAITS = 60, 900
_REACHED = "__reached__"


class Mutant(NamedTuple):
    """A change of a module: its place, the text afterwards, and which tests are to notice it."""

    name: str
    path: str
    line: int
    column: int
    text: str
    #: Arguments of pytest by a name for them, the nearest tests first; all mutants have the names.
    tests: Mapping[str, Sequence[str]]

    def __hash__(self) -> int:
        return hash(self.name)


class Verdict(NamedTuple):
    """The name of the tests that notice a mutant, and the first of them; or "nothing", and why."""

    by: str
    why: str


class Judge:
    """A plugin of pytest that judges mutants, those of a room together, and tells each verdict."""

    def __init__(self, rooms: Sequence[Sequence[Mutant]], tell: Callable[[Mutant, Verdict], None]):
        self._rooms = rooms
        self._tell = tell
        self._functions: dict[str, list[FunctionType]] = {}
        self._caches: list[Any] = []
        self._before = 0
        self._reached: set[int] = set()
        self._pipe = -1

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Judge, instead of running what was collected."""
        _import_all()
        self._look_around()
        for room in self._rooms:
            self._judge(session, room)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Send what a test reached, and whether it failed."""
        if self._reached:
            is_of_file = report.when == "setup" or self._kept() != self._before
            self._send("file" if is_of_file else "test", *sorted(self._reached))
            self._reached.clear()
        if report.failed:
            self._send("failed")

    def _look_around(self) -> None:
        """Keep all functions by their file, and all that keeps results."""
        gc.unfreeze()
        functions = defaultdict(list)
        for value in gc.get_objects():
            if type(value) is FunctionType:
                functions[value.__code__.co_filename].append(value)
            elif isinstance(value, functools._lru_cache_wrapper):
                self._caches.append(value)
        gc.freeze()
        self._functions = dict(functions)

    def _judge(self, session: pytest.Session, room: Sequence[Mutant]) -> None:
        """Ask the tests of each name in turn about the mutants that those before let pass."""
        passed = list(room)
        tried: dict[Mutant, set[int]] = {mutant: set() for mutant in room}
        for name in room[0].tests:
            reaching = self._reaching(session, passed, name)
            for mutant, places in zip(tuple(passed), reaching, strict=True):
                untried = [place for place in places if place not in tried[mutant]]
                tried[mutant].update(untried)
                place = self._noticing(session, mutant, untried)
                if place is not None and self._failing(session, [place], _nothing) is None:
                    passed.remove(mutant)
                    self._tell(mutant, Verdict(name, session.items[place].nodeid))
        for mutant in passed:
            self._tell(mutant, Verdict("nothing", f"{len(tried[mutant])} tests come there"))

    def _reaching(
        self, session: pytest.Session, room: Sequence[Mutant], name: str
    ) -> list[list[int]]:
        """For each mutant, the places of the tests that reach it and do not fail without it."""
        by_file: dict[Path, list[int]] = defaultdict(list)
        reaching: list[set[int]] = [set() for _ in room]
        failed = set()
        chosen = [_chosen(session.items, mutant.tests[name]) for mutant in room]
        places = list(dict.fromkeys(chain(*chosen)))
        for place in places:
            by_file[session.items[place].path].append(place)
        for place, what, *numbers in self._forked(session, places, lambda: self._mark(room)):
            if what == "failed":
                failed.add(place)
            for number in numbers:
                file = session.items[place].path
                reaching[int(number)].update(by_file[file] if what == "file" else [place])
        usable = (reached - failed for reached in reaching)
        return [
            list(filter(places.__contains__, tests))
            for tests, places in zip(chosen, usable, strict=True)
        ]

    def _mark(self, room: Sequence[Mutant]) -> None:
        """Let the statements of mutants tell that they are reached."""
        setattr(builtins, _REACHED, self._reached.add)
        for path in {mutant.path for mutant in room}:
            text = Path(path).read_text()
            tree = ast.parse(text)
            marks = defaultdict(list)
            for number, mutant in enumerate(room):
                if mutant.path == path:
                    marks[_statement(tree, mutant)].append(number)
            marked = ast.fix_missing_locations(_Marking(marks).visit(tree))
            self._replace(path, text, _compiled(marked))

    def _noticing(self, session: pytest.Session, mutant: Mutant, places: list[int]) -> int | None:
        """The first test that fails; processes that it starts read the changed module too."""
        path = Path(mutant.path)
        text = path.read_text()
        write(path, mutant.text)
        try:
            changed = _compiled(ast.parse(mutant.text))
            return self._failing(session, places, lambda: self._replace(mutant.path, text, changed))
        finally:
            write(path, text)

    def _failing(
        self, session: pytest.Session, places: Sequence[int], prepare: Callable[[], None]
    ) -> int | None:
        events = self._forked(session, places, prepare)
        return next((place for place, what, *_ in events if what == "failed"), None)

    def _replace(self, path: str, text: str, code: CodeType) -> None:
        """Give the functions of a module the code of another text of it, and forget results."""
        codes = dict(zip(_codes(_compiled(ast.parse(text))), _codes(code), strict=True))
        for function in self._functions.get(str(Path(path).resolve()), ()):
            function.__code__ = codes.get(function.__code__, function.__code__)
        self._forget()

    def _kept(self) -> int:
        """How many results were kept so far."""
        return sum(kept.cache_info().misses for kept in self._caches)

    def _forget(self) -> None:
        for kept in self._caches:
            kept.cache_clear()

    def _forked(
        self, session: pytest.Session, places: Sequence[int], prepare: Callable[[], None]
    ) -> Iterator[Any]:
        """The place of each test that is run in a fork, with what it sends."""
        if not places:
            return
        reading, self._pipe = os.pipe()
        process = os.fork()
        if not process:
            self._run(session, places, prepare)
        os.close(self._pipe)
        try:
            yield from _received(reading)
        finally:
            os.close(reading)
            with suppress(ProcessLookupError):
                os.killpg(process, signal.SIGKILL)
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)

    def _run(
        self, session: pytest.Session, places: Sequence[int], prepare: Callable[[], None]
    ) -> None:
        """Run tests in a fork, which ends here."""
        try:
            os.setpgid(0, 0)
            prepare()
            items = [session.items[place] for place in places]
            path: Path | None = None
            for place, item, following in zip(places, items, [*items[1:], None], strict=True):
                self._send("begins", place)
                _limit_time()
                if item.path != path:
                    self._forget()
                path, self._before = item.path, self._kept()
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            self._send("ends")
        finally:
            os._exit(0)

    def _send(self, *words: object) -> None:
        os.write(self._pipe, f"{json.dumps(words)}\n".encode())


class _Marking(ast.NodeTransformer):
    """Puts before statements what tells that they are reached."""

    def __init__(self, marks: Mapping[ast.stmt, Sequence[int]]) -> None:
        self._marks = marks

    def visit(self, node: ast.AST) -> Any:
        """The node, after its marks."""
        self.generic_visit(node)
        numbers = self._marks.get(node, ()) if isinstance(node, ast.stmt) else ()
        marks = [ast.parse(f"{_REACHED}({number})").body[0] for number in numbers]
        return [*(ast.copy_location(mark, node) for mark in marks), node] if marks else node


def write(path: Path, text: str) -> None:
    """A module; bytecode of another text can have its size and its second."""
    path.write_text(text)
    for bytecode in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        bytecode.unlink()


def _limit_time() -> None:
    """The kernel ends a process that uses more; what it starts has as much again."""
    most = int(time.process_time()) + _SECONDS
    resource.setrlimit(resource.RLIMIT_CPU, (most, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def _received(pipe: int) -> Iterator[Any]:
    """What a fork sends; a test that ends it, or does not end itself, has failed."""
    place: int | None = None
    rest = b""
    while select.select([pipe], [], [], _WAITS)[0] and (sent := os.read(pipe, 65536)):
        *lines, rest = (rest + sent).split(b"\n")
        for what, *values in map(json.loads, lines):
            if what == "ends":
                return
            place = values[0] if what == "begins" else place
            if what != "begins":
                yield place, what, *values
    if place is not None:
        yield place, "failed"


def _import_all() -> None:
    """Nothing of cpuplan is imported after the fork; some extras may not be installed."""
    for path in sorted(Path("cpuplan").rglob("*.py")):
        if path.name != "__main__.py":
            with suppress(ImportError):
                importlib.import_module(".".join(path.with_suffix("").parts))


def _chosen(items: Sequence[pytest.Item], wanted: Sequence[str]) -> list[int]:
    """The places of the items that arguments of pytest mean, in the order of the arguments."""
    by_name = defaultdict(list)
    for place, item in enumerate(items):
        for name in _names(item.nodeid):
            by_name[name].append(place)
    return list(dict.fromkeys(place for test in wanted for place in by_name[test]))


def _names(name: str) -> Iterator[str]:
    """A test, and all that it is part of."""
    file, *inner = name.split("::")
    yield name
    if inner:
        yield name.partition("[")[0]
        yield file
    yield from (str(folder) for folder in Path(file).parents)


def _statement(tree: ast.Module, mutant: Mutant) -> ast.stmt:
    """The innermost statement that a change is in."""
    place = (mutant.line, mutant.column)
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt)
        and (node.lineno, node.col_offset) <= place
        and place < (node.end_lineno or 0, node.end_col_offset or 0)
    ]
    return max(around, key=lambda node: (node.lineno, node.col_offset))


def _compiled(tree: ast.Module) -> CodeType:
    return compile(tree, "changed", "exec", dont_inherit=True)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _nothing() -> None:
    pass
