"""The guests of a run: each gets its files by its delivery, is booted, and shows what it does."""

from collections.abc import Callable
from pathlib import Path

from tests.boot import base, containers, delivering, guests, qemu
from tests.boot.seen import Seen
from tests.boot.together import Guests

#: Further boot arguments. No irqbalance helps `plain` to move interrupts.
_FURTHER = {"plain": ("systemd.mask=irqbalance.service",)}


NODES = ("plain", "qos", "partitions", "services", "balloons", "interrupts")


class Lab(Guests[Seen]):
    """The guests with systemd, each with the files that its delivery gave it."""

    def __init__(self, made: base.Base, folder: Path) -> None:
        super().__init__()
        self.made, self.folder = made, folder

    def prepared(self, name: str) -> Callable[[], Seen]:
        """What boots a node that got its files by its delivery, and looks at it."""
        node, arguments = delivering.deliver(name, self.made, self.folder / name)
        if (guests.PROJECT / "pods" / f"{name}.yaml").exists():
            node.write(containers.LIST, containers.listed(containers.simulated(name)))
        line = " ".join((arguments, *_FURTHER.get(name, ())))
        return lambda: Seen(qemu.look(self.made.kernel, node.root, line, node.folder))
