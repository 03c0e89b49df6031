"""What files alone do not do on a running node, for deliveries that can run a script."""

from collections.abc import Mapping
from typing import Any

from cpuplan.backends.deliveries import boot
from cpuplan.backends.tree import NodeFile, NodeTree
from cpuplan.components.texts import template

#: The script, and what it reads: boot arguments and units to enable, one on each line.
APPLY = "/usr/local/bin/cpuplan-apply.sh"
ARGUMENTS = "/etc/cpuplan/arguments"
UNITS = "/etc/cpuplan/units"
#: Ends with 0 where the running kernel lacks an argument, or has one that is no longer wanted.
NEEDS_REBOOT = f"bash {APPLY} --needs-reboot"


def files(tree: NodeTree) -> Mapping[str, NodeFile]:
    """The files of a node, those for its boot loader, the script, and what it reads.

    Without empty ones, which Cluster API refuses.
    """
    further = {
        **{f"/{path}": data for path, data in boot.grub(tree).items()},
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
        for path, file in files(tree).items()
    ]


def _lines(words: tuple[str, ...]) -> bytes:
    return "".join(f"{word}\n" for word in words).encode()
