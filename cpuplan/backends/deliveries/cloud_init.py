"""cloud-init: user data that writes the files, sets the boot arguments, and reboots once.

cloud-init runs it at the first boot of an instance only. The rules for merging let it be one part
of several: its lists are added to those of other parts.
"""

from cpuplan.backends.base import NodeTree, to_file
from cpuplan.backends.deliveries import script
from cpuplan.language.model.intent import Target

#: By this line cloud-init knows its format.
_HEAD = b"#cloud-config\n"
_MERGING = [
    {"name": "list", "settings": ["append"]},
    {"name": "dict", "settings": ["no_replace", "recurse_list"]},
]


def render(tree: NodeTree, _target: Target) -> bytes:
    """The user data of the nodes of one class."""
    config = {
        "merge_how": _MERGING,
        "write_files": script.entries(tree),
        "runcmd": [["bash", script.APPLY]],
        "power_state": {
            "mode": "reboot",
            "message": "Boot arguments of cpuplan",
            "condition": script.NEEDS_REBOOT,
        },
    }
    return _HEAD + to_file(config)
