"""Each guest is booted once in a run, whatever looks at it, and two run at a time."""

import os
from collections.abc import Sequence

import pytest

from tests.boot import base
from tests.boot.lab import NODES, Lab
from tests.boot.lean import booted
from tests.boot.lean.booted import Lean
from tests.boot.seen import Seen

#: Fixtures of the guest of their name.
_GUESTS = ("plain", "qos", "partitions", "services", "interrupts")


def _guests_of(session: pytest.Session, known: Sequence[str]) -> list[str]:
    """The guests that the selected tests look at, in the order in which they do."""
    names: dict[str, None] = {}
    for item in session.items:
        parameters = getattr(item, "callspec", None)
        given = [str(parameters.params.get("name"))] if parameters else []
        fixtures = [name for name in _GUESTS if name in getattr(item, "fixturenames", ())]
        names |= dict.fromkeys(name for name in (*given, *fixtures) if name in known)
    return list(names)


@pytest.fixture(scope="session")
def made() -> base.Base:
    """The kernel and the root file system of all guests."""
    if os.geteuid() != 0:
        pytest.skip("only root can run programs of deliveries in the root file systems of guests")
    lacking = base.missing()
    if lacking:
        pytest.skip(f"to boot guests, install {' '.join(lacking)} (Debian)")
    return base.make()


@pytest.fixture(scope="session")
def lab(
    made: base.Base, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Lab:
    """The guests of this run."""
    guests = Lab(made, tmp_path_factory.mktemp("boot"))
    guests.start(_guests_of(request.session, NODES))
    return guests


@pytest.fixture(scope="session")
def lean(
    made: base.Base, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Lean:
    """The guests without systemd."""
    guests = Lean(made, tmp_path_factory.mktemp("lean"))
    guests.start(_guests_of(request.session, booted.NODES))
    return guests


@pytest.fixture(scope="session")
def plain(lab: Lab) -> Seen:
    """The guest `plain`."""
    return lab.seen("plain")


@pytest.fixture(scope="session")
def qos(lab: Lab) -> Seen:
    """The guest `qos`, with containers of each QoS class."""
    return lab.seen("qos")


@pytest.fixture(scope="session")
def partitions(lab: Lab) -> Seen:
    """The guest `partitions`, with containers of each QoS class."""
    return lab.seen("partitions")


@pytest.fixture(scope="session")
def services(lab: Lab) -> Seen:
    """The guest `services`, whose system has slices."""
    return lab.seen("services")


@pytest.fixture(scope="session")
def interrupts(lab: Lab) -> Seen:
    """The guest `interrupts`, whose interrupts have CPUs of their own."""
    return lab.seen("interrupts")
