"""Changes of registries.conf with and without a drain."""

from urllib.parse import quote

import pytest

from cpuplan.upstream.mco.apihelpers import SPECIAL
from cpuplan.upstream.mco.common import McoError
from cpuplan.upstream.mco.drain import is_safe, read_registries
from cpuplan.upstream.mco.update import Update, impact
from tests.unit.upstream.mco.objects import Json, file, files, machine_config

PATH = "/etc/containers/registries.conf"


def config(text: str) -> Json:
    return files(file(PATH, quote(text)))


def registry(text: str = "", *mirrors: str) -> str:
    tables = "".join(f"[[registry.mirror]]\nlocation = '{mirror}\n" for mirror in mirrors)
    return f"[[registry]]\nlocation = 'a'\n{text}\n{tables}"


DIGESTS = "m'\npull-from-mirror = 'digest-only'"
ANY, ALL = "m'", "m'\npull-from-mirror = 'all'"
OTHER = "n'\npull-from-mirror = 'digest-only'"
BY_DIGEST = "mirror-by-digest-only = true"
SEARCHED = "unqualified-search-registries = {}\n"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", registry("", DIGESTS), True),
        ("", registry(BY_DIGEST), True),
        ("", registry("", ANY), False),
        ("", registry(BY_DIGEST, ANY), False),
        ("", registry(), False),
        (registry(), "", False),
        (registry(), registry("", DIGESTS), True),
        (registry(), registry("", ANY), False),
        (registry(BY_DIGEST), registry(BY_DIGEST, ANY), True),
        (registry("", DIGESTS), registry(), False),
        (registry("", DIGESTS), registry("", ALL), False),
        (registry("", ALL), registry("", DIGESTS), True),
        (registry("", DIGESTS, OTHER), registry("", OTHER, DIGESTS), True),
        (registry(), registry("insecure = true"), False),
        (registry(), registry("blocked = true"), False),
        (registry(), registry("prefix = 'a'"), False),
        (registry(), registry("# a comment"), True),
        (SEARCHED.format(["a"]), SEARCHED.format(["a", "b"]), True),
        (SEARCHED.format(["a"]), SEARCHED.format(["b", "a"]), False),
        (SEARCHED.format(["a"]), "", False),
    ],
)
def test_only_safe_additions_need_no_drain(old: str, new: str, expected: bool) -> None:
    assert is_safe(config(old), config(new)) is expected


def test_the_special_action_drains_where_it_must() -> None:
    old, safe, unsafe = (
        machine_config("rendered", config=config(text))
        for text in ("", registry(BY_DIGEST), registry())
    )
    assert impact(old, safe).update == Update((SPECIAL,), False)
    assert impact(old, unsafe).update == Update((SPECIAL,), True)


def test_a_file_that_is_not_toml_stops_the_node() -> None:
    old, new = (machine_config("rendered", config=config(text)) for text in ("", "a ="))
    update = impact(old, new).update
    assert update is not None
    assert (update.drain, update.error is None) == (None, False)


@pytest.mark.parametrize(
    "text", [b"\xff", b"registry = 1", b"registry = [1]", b"[[registry]]\nlocation = 1"]
)
def test_not_read(text: bytes) -> None:
    with pytest.raises(McoError):
        read_registries(text)
