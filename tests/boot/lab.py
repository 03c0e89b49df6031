"""The guests of a run: each gets its files by its delivery, is booted, and shows what it does."""

from functools import cache
from pathlib import Path

import pytest

from tests.boot import base, containers, delivering, guests, qemu
from tests.boot.seen import Seen

#: Further boot arguments. No irqbalance helps `plain` to move interrupts.
_FURTHER = {"plain": ("systemd.mask=irqbalance.service",)}


class Lab:
    """The guests, each booted when it is first asked for."""

    def __init__(self, made: base.Base, folder: Path) -> None:
        self.made, self.folder = made, folder
        self.seen = cache(self._boot)

    def _boot(self, name: str) -> Seen:
        """What a node shows that got its files by its delivery."""
        if (self.folder / name).exists():
            pytest.fail(f"{name} was not brought up: the first test that needs it says why")
        node, arguments = delivering.deliver(name, self.made, self.folder / name)
        if (guests.PROJECT / "pods" / f"{name}.yaml").exists():
            node.write(containers.LIST, containers.listed(containers.simulated(name)))
        line = " ".join((arguments, *_FURTHER.get(name, ())))
        return Seen(qemu.look(self.made.kernel, node.root, line, node.folder))
