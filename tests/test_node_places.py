"""What `check` reads of a node: one table, which the code and the documentation agree with."""

import re

import pytest

from cpuplan.check.host import check
from cpuplan.check.roots.openings import root_of
from cpuplan.check.roots.root import Root
from cpuplan.check.subject import nowhere
from tests import captured
from tests import node_places as places
from tests.node_places import PLACES, By, Place
from tests.projects import REPOSITORY

#: In archives alone.
_OF_REPORTS = ("cpuplan/", "sos_commands/")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The paths that a root is asked for."""
    noted: set[str] = set()
    own = Root._ask

    def ask(root: Root, question: object, path: str) -> object:
        noted.add(path)
        return own(root, question, path)  # type: ignore[arg-type]

    monkeypatch.setattr(Root, "_ask", ask)
    return noted


@pytest.mark.parametrize("name", captured.names())
def test_every_path_that_is_asked_for_has_its_place(name: str, asked: set[str]) -> None:
    root = root_of(captured.archive(name), name)
    check(root, captured.expected(name), name, nowhere)
    # `sys` itself tells whether there is a node at all.
    of_node = [path for path in asked - {"sys"} if not path.startswith(_OF_REPORTS)]
    assert len(of_node) > 500
    assert [path for path in of_node if places.of(path) is None] == []


def test_the_longest_place_counts() -> None:
    def by(path: str) -> By | None:
        place = places.of(path)
        return place.by if place else None

    assert by("proc/12/environ") is By.TRACER
    assert by("proc/12/cgroup") is By.USER
    assert by("sys/kernel/debug/irq/irqs/1") is By.ROOT
    assert by("var/lib/kubelet/cpu_manager_state") is By.ROOT
    assert by("var/log/tuned/tuned.log") is By.USER
    assert by("dev/mem") is None


def row(place: Place) -> str:
    how = {By.USER: "read", By.ROOT: "with `access: root`", By.TRACER: "with `access: tracing`"}
    agents = f"not mounted: {place.left_out}" if place.left_out else how[place.by]
    return f"| `{place.path}` | {place.facts} | {place.by.value} | {agents} |"


def test_the_page_has_the_table() -> None:
    page = (REPOSITORY / "docs/checking.md").read_text()
    table = page.partition("| place | what is there |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `.*$", table, re.MULTILINE) == [row(place) for place in PLACES]
