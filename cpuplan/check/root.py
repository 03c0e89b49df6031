"""The root file system of the node under test: a live host, a container's /host, or a copy."""

from pathlib import Path


class Root:
    """Reads files below one folder. Links are followed inside it only: `/etc/x` in a copy means the copy's `/etc/x`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()

    def shown(self, path: str) -> str:
        """How a file is named to people."""
        return str(self.folder / path)

    def read(self, path: str) -> str | None:
        """The text of a file; None where there is none that can be read."""
        found = self._inside(path)
        try:
            return found.read_text(encoding="utf-8", errors="replace") if found else None
        except OSError:
            return None

    def names(self, path: str) -> list[str]:
        """The names of the entries of a folder, ascending; none where there is no such folder."""
        found = self._inside(path)
        try:
            return sorted(entry.name for entry in found.iterdir()) if found else []
        except OSError:
            return []

    def is_file(self, path: str) -> bool:
        found = self._inside(path)
        return found is not None and found.is_file()

    def _inside(self, path: str, depth: int = 0) -> Path | None:
        """Resolve every link as a process with this root would (chroot)."""
        at = self.folder
        parts = [part for part in path.split("/") if part not in ("", ".")]
        while parts:
            part = parts.pop(0)
            if part == "..":
                at = at.parent if at != self.folder else at
                continue
            step = at / part
            if step.is_symlink():
                if (depth := depth + 1) > 40:
                    return None
                target = step.readlink().as_posix()
                at = self.folder if target.startswith("/") else at
                parts = [piece for piece in target.split("/") if piece not in ("", ".")] + parts
                continue
            at = step
        return at
