"""What a node without an operator gets, as one value: every delivery is written from it."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class NodeFile(NamedTuple):
    """A file of a node's root file system.

    Git keeps no mode of files below `out/`, so that units run scripts by their shell, and 0755
    is for what other programs run.
    """

    data: bytes
    mode: int = 0o644
    #: The name of the component whose settings it has.
    component: str = ""

    @property
    def text(self) -> str:
        """Its content; all files are text."""
        return self.data.decode()

    @property
    def permissions(self) -> str:
        """Its mode as `chmod` reads it."""
        return f"{self.mode:04o}"


class NodeTree(NamedTuple):
    """The content of a node of one class."""

    #: By absolute path, in the order of the paths; nothing of a boot loader.
    files: Mapping[str, NodeFile]
    #: The words of the kernel command line that are added to what the node boots with.
    arguments: tuple[str, ...]
    #: Names of units that are enabled; others are started by units, or by udev.
    enabled: tuple[str, ...]
    #: The KubeletConfiguration of the kubelet's drop-in, which is among the files too.
    kubelet: Mapping[str, Any]
    #: Whether the operating system may read /etc/default/grub.d.
    has_grub_folder: bool = True

    def moved(self, old: str, new: str) -> "NodeTree":
        """The same with the files below `old` in `new`, also where other files name them."""
        before, after = f"{old}/".encode(), f"{new}/".encode()
        files = {
            path.replace(f"{old}/", f"{new}/", 1) if path.startswith(f"{old}/") else path: (
                file._replace(data=file.data.replace(before, after))
            )
            for path, file in self.files.items()
        }
        return self._replace(files=dict(sorted(files.items())))
