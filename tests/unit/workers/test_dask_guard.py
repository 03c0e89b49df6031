"""A scheduler of somebody else's runs nothing here, whatever it sends."""

import io
import os
import pickle
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cpuplan.diagnostics import CpuplanError
from cpuplan.workers import dask, executors


class _Acting:
    """What makes a folder where it is read."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.mkdir, (self.path,)


@pytest.fixture
def guarded() -> Iterator[None]:
    dask._GUARDS.set()
    yield
    dask._GUARDS.unset()


def _in_a_thread(function: Callable[[], object]) -> list[object]:
    """What a function gives in a new thread, or the error that it raises."""
    answers: list[object] = []

    def call() -> None:
        try:
            answers.append(function())
        except Exception as error:
            answers.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    return answers


@pytest.mark.usefixtures("guarded")
def test_a_pickle_calls_nothing(tmp_path: Any) -> None:
    data = pickle.dumps(_Acting(str(tmp_path / "made")))
    old = b"cos\nmkdir\n(V%s\ntR." % str(tmp_path / "made").encode()
    for text in (data, old):
        for load in (pickle.loads, pickle._loads):  # type: ignore[attr-defined]
            (error,) = _in_a_thread(lambda load=load, text=text: load(text))  # type: ignore[misc]
            assert isinstance(error, dask.UnreadError)
            with pytest.raises(dask.UnreadError):
                load(text)
    assert not (tmp_path / "made").exists()


@pytest.mark.usefixtures("guarded")
def test_plain_values_are_read() -> None:
    for value in (b"bytes", "text", 1, [1.5, {"a": None}], bytes, str):
        assert _in_a_thread(lambda value=value: pickle.loads(pickle.dumps(value))) == [value]  # type: ignore[misc]  # noqa: S301


def test_others_are_left_alone() -> None:
    """Threads that were there before, and all when no scheduler is."""
    begin, answers = threading.Event(), []

    def call() -> None:
        begin.wait()
        answers.append(pickle.loads(pickle.dumps(ValueError(1))))  # noqa: S301 - made here

    thread = threading.Thread(target=call)
    thread.start()
    dask._GUARDS.set()
    begin.set()
    thread.join()
    dask._GUARDS.unset()
    assert isinstance(answers[0], ValueError)
    assert isinstance(pickle.loads(pickle.dumps(ValueError(1))), ValueError)  # noqa: S301


@pytest.mark.usefixtures("guarded")
@pytest.mark.filterwarnings("default")
def test_messages_of_dask_call_nothing(tmp_path: Any) -> None:
    pytest.importorskip("distributed")
    from distributed import core
    from distributed.protocol import dumps, loads
    from distributed.protocol.serialize import Serialize, ToPickle

    acting = _Acting(str(tmp_path / "made"))
    for message in (ToPickle(acting), Serialize(acting), Serialize(ValueError(acting))):
        frames = [bytes(frame) for frame in dumps({"op": message})]
        (error,) = _in_a_thread(lambda frames=frames: loads(frames))  # type: ignore[misc]
        assert isinstance(error, dask.UnreadError)
    kind, error, traceback = core.clean_exception(pickle.dumps(acting), pickle.dumps(acting))
    assert (kind, traceback) == (Exception, None)
    assert not (tmp_path / "made").exists()


class _Answering:
    """A future that ends with an error, or has a result."""

    def __init__(self, answer: object) -> None:
        self.answer = answer

    def result(self) -> object:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (Exception(pickle.dumps(ModuleNotFoundError("cpuplan"))), "CP624"),
        (Exception(pickle.dumps(SystemExit(0))), "CP623"),
        (Exception(b"\x80whatever"), "CP623"),
        (ModuleNotFoundError("cpuplan"), "CP624"),
        ("0.0.1" * 1000, "CP624"),
        (7, "CP623"),
        (None, "CP623"),
        (io.BytesIO(), "CP623"),
    ],
)
def test_answers_that_are_none(answer: object, code: str) -> None:
    with pytest.raises(CpuplanError) as caught:
        executors._received(_Answering(answer), "0.1.0")  # type: ignore[arg-type]
    (finding,) = caught.value.diagnostics
    assert finding.code == code
    assert len(finding.message) < 500
