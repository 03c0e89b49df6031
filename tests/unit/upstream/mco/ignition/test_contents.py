"""Contents of files."""

import base64
import gzip

import pytest

from cpuplan.upstream.mco.common import McoError
from cpuplan.upstream.mco.ignition.url import contents
from tests.unit.upstream.mco.objects import Json, file, files


def packed(data: bytes) -> Json:
    source = f"data:;base64,{base64.b64encode(data).decode()}"
    return {"path": "/b", "contents": {"source": source, "compression": "gzip"}}


def test_texts_by_path() -> None:
    remote = {"path": "/c", "contents": {"source": "http://a.test/"}}
    config = files(file("/a", "x%20y"), packed(gzip.compress(b"z")), remote, file("/d", None))
    assert contents(config) == {"/a": b"x y", "/b": b"z", "/d": b""}


def test_what_is_not_packed() -> None:
    with pytest.raises(McoError):
        contents(files(packed(b"two")))
