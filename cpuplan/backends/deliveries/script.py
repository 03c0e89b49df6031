"""What files alone do not do on a running node: boot arguments, and a script that applies them."""

from collections.abc import Mapping, Sequence
from typing import Any

from cpuplan.backends.base import NodeFile, NodeTree
from cpuplan.components import cmdline
from cpuplan.components.base import template

#: For GRUB as Debian reads it. RHEL ignores this folder: `CMDLINE` is for `grubby --args` there.
GRUB = "etc/default/grub.d/50-cpuplan.cfg"
CMDLINE = "cmdline"


def boot_files(tree: NodeTree) -> dict[str, bytes]:
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


#: The script, and what it reads: boot arguments and units to enable, one on each line.
APPLY = "/usr/local/bin/cpuplan-apply.sh"
ARGUMENTS = "/etc/cpuplan/arguments"
UNITS = "/etc/cpuplan/units"
#: Ends with 0 where the running kernel lacks an argument, or has one that is no longer wanted.
NEEDS_REBOOT = f"bash {APPLY} --needs-reboot"


def script_files(tree: NodeTree) -> Mapping[str, NodeFile]:
    """The files of a node, those for its boot loader, the script, and what it reads.

    Without empty ones, which Cluster API refuses.
    """
    further = {
        **{f"/{path}": data for path, data in grub(tree).items()},
        APPLY: template("bin/cpuplan-apply.sh").encode(),
        ARGUMENTS: _lines(tree.arguments),
        UNITS: _lines(tree.enabled),
    }
    made = {**tree.files, **{path: NodeFile(data) for path, data in further.items() if data}}
    return dict(sorted(made.items()))


def entries(tree: NodeTree) -> list[dict[str, Any]]:
    """The files as cloud-init lists them in `write_files`; Cluster API took over its fields."""
    return [
        {
            "path": path,
            "owner": "root:root",
            "permissions": file.permissions,
            "content": file.text,
        }
        for path, file in script_files(tree).items()
    ]


def _lines(words: tuple[str, ...]) -> bytes:
    return "".join(f"{word}\n" for word in words).encode()
