"""Each guest is booted once in a run, whatever looks at it."""

import os

import pytest

from tests.boot import base
from tests.boot.lab import Lab
from tests.boot.lean.booted import Lean
from tests.boot.seen import Seen


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
def lab(made: base.Base, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """The guests of this run."""
    return Lab(made, tmp_path_factory.mktemp("boot"))


@pytest.fixture(scope="session")
def lean(made: base.Base, tmp_path_factory: pytest.TempPathFactory) -> Lean:
    """The guests without systemd."""
    return Lean(made, tmp_path_factory.mktemp("lean"))


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
