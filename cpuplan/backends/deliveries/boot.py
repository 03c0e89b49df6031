"""Boot arguments for boot loaders, where a delivery has no other place for them."""

from collections.abc import Sequence

from cpuplan.backends.tree import NodeTree
from cpuplan.components import cmdline

#: For GRUB as Debian reads it. RHEL ignores this folder: `CMDLINE` is for `grubby --args` there.
GRUB = "etc/default/grub.d/50-cpuplan.cfg"
CMDLINE = "cmdline"


def files(tree: NodeTree) -> dict[str, bytes]:
    """The line by itself and for GRUB, by path below the node's folder."""
    return {CMDLINE: f"{_line(tree.arguments)}\n".encode(), **grub(tree)}


def grub(tree: NodeTree) -> dict[str, bytes]:
    """What GRUB's configuration adds to the line that it has; nothing where it is not read."""
    if not tree.has_grub_folder:
        return {}
    line = f'GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX {_line(tree.arguments)}"\n'
    return {GRUB: line.encode()}


def _line(arguments: Sequence[str]) -> str:
    return " ".join(map(cmdline.quote, arguments))
