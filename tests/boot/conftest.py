"""Each guest is booted once in a run, whatever looks at it."""

from pathlib import Path

import pytest

from cpuplan.backends.kubernetes import node
from tests.boot import base, containers, guests, qemu
from tests.boot.seen import Seen


@pytest.fixture(scope="session")
def made() -> base.Base:
    """The kernel and the root file system of all guests."""
    lacking = base.missing()
    if lacking:
        pytest.skip(f"to boot guests, install {' '.join(lacking)} (Debian)")
    return base.make()


@pytest.fixture(scope="session")
def plain(made: base.Base, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """The guest `plain`, from its plain tree; no irqbalance helps to move interrupts."""
    return boot("plain", made, tmp_path_factory.mktemp("boot"), "systemd.mask=irqbalance.service")


@pytest.fixture(scope="session")
def qos(made: base.Base, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """The guest `qos`, with containers of each QoS class."""
    return boot("qos", made, tmp_path_factory.mktemp("boot"))


@pytest.fixture(scope="session")
def partitions(made: base.Base, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """The guest `partitions`, with containers of each QoS class."""
    return boot("partitions", made, tmp_path_factory.mktemp("boot"))


def boot(name: str, made: base.Base, folder: Path, *further: str) -> Seen:
    """What a node shows that has its plain tree and boot arguments, and `further` ones."""
    tree = node.of(guests.plan(name))
    files = dict(tree.files)
    if (guests.PROJECT / "pods" / f"{name}.yaml").exists():
        files |= containers.listed(containers.simulated(name))
    return Seen(qemu.boot(made, files, " ".join((*tree.arguments, *further)), folder / name))
