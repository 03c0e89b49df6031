"""Symbolic links of a tree, followed as if its root were `/`."""

from collections.abc import Callable

_MAX_LINKS = 40  # as the kernel (MAXSYMLINKS)
#: Of a tree in all. A server with 10,000 PCI functions takes 100,000; a made-up tree shall not take
#: minutes.
_MAX_STEPS = 1_000_000
_MAX_TARGET = 1024


class LeavesTreeError(Exception):
    """A link that is not followed; the text says why."""


class Links:
    """Follows the links of one tree, and knows how many there were."""

    def __init__(self) -> None:
        self._steps = 0

    def resolve(self, path: str, link: Callable[[str], str | None]) -> str:
        """`path` without links, `.` and `..`, as seen from a process whose root is the tree's.

        `link` gives the target of the link at a link-free path, None where none is. Raises
        LeavesTreeError for `..` above the root, for more than 40 links, and for a tree of too many.
        """
        done: list[str] = []
        todo = path.split("/")[::-1]
        links = 0
        while todo:
            part = todo.pop()
            self._steps += 1
            if self._steps > _MAX_STEPS:
                raise LeavesTreeError("too many links")
            if part in ("", "."):
                continue
            if part == "..":
                if not done:
                    raise LeavesTreeError("a link that leads out of it")
                done.pop()
                continue
            target = link("/".join([*done, part]))
            if target is None:
                done.append(part)
                continue
            links += 1
            if links > _MAX_LINKS or len(target) > _MAX_TARGET:
                raise LeavesTreeError(
                    "a link that leads to itself"
                    if links > _MAX_LINKS
                    else "a link that is too long"
                )
            if target.startswith("/"):
                done.clear()
            todo += target.split("/")[::-1]
        return "/".join(done)
