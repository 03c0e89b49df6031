"""Values in files of the kernel: numbers, CPU lists and masks, sizes."""

import re
from collections.abc import Iterable, Iterator

from cpuplan.base.cpuset import EMPTY, CpuSet, CpuSetError
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.importers.packed_files import too_large
from cpuplan.importers.trees import Tree

#: Bytes of one file: the list of 8,192 CPUs of which every second is named has 20 KiB, their mask
#: has 2.
MAX_VALUE = 64 * 1024
#: Bytes of all, where a file counts _LEAST at least: 8,192 CPUs that have masks only come to 50
#: MiB.
MAX_VALUES = 64 * 1024 * 1024
_LEAST = 128
_MAX_COMPLAINTS = 20  # of a made-up tree, these are enough to see that it is one
_NUMBER = re.compile(r"-?(?:(0x)[0-9a-f]{1,16}|[0-9]{1,18})")
DECIMAL = re.compile(r"0|[1-9][0-9]{0,8}")
_SIZE = re.compile(r"([0-9]{1,9})([KMG]?)")
_UNITS = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3}


class Reader:
    """Reads values out of a tree. Texts repeat (siblings, masks, caches), so each is parsed once.

    Raises ArchiveError for a tree that holds more than any machine has.
    """

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.diagnostics: list[Diagnostic] = []
        self._left = MAX_VALUES
        self._sets: dict[str, CpuSet | None] = {}
        self._complained: set[str] = set()

    def text(self, path: str) -> str | None:
        """The text of a file that holds a value or a few; None for a missing one."""
        text = self.tree.read(path, MAX_VALUE)
        if text is not None:
            self._left -= max(len(text), _LEAST)
            if self._left < 0:
                raise too_large(self.tree.name, MAX_VALUES, "bytes in the files of its values")
        return text

    def numbered(self, folder: str, prefix: str, most: int) -> Iterator[int]:
        """The numbers of what is called `<prefix><number>` in a folder, ascending, up to `most`."""
        for number in numbered(self.tree.names(folder), prefix):
            if number <= most:
                yield number
            else:
                self.tree.refused.add(f"a number above {most:,}", f"{folder}/{prefix}{number}")

    def number(self, path: str) -> int | None:
        """A number; None for a missing or empty file."""
        text = self.text(path)
        if text is None or not text.strip():
            return None
        match = _NUMBER.fullmatch(text.strip())
        if not match:
            self.complain(path, text, "it is not a number")
            return None
        return int(match[0], 16 if match[1] else 10)

    def list(self, path: str) -> CpuSet | None:
        """A CPU list; None for a missing file."""
        text = self.text(path)
        if text is None:
            return None
        if text not in self._sets:
            try:
                self._sets[text] = CpuSet.parse_kernel(text)
            except CpuSetError as error:
                self.complain(path, text, f"{error.item[:40]!r} {error.problem}")
                self._sets[text] = None
        return self._sets[text]

    def set(self, *paths: str) -> CpuSet | None:
        """The first of the files that is there; a name that does not end in `list` has a mask."""
        for path in paths:
            cpus = self.list(path) if path.endswith("list") else self._mask(path)
            if cpus is not None:
                return cpus
        return None

    def _mask(self, path: str) -> CpuSet | None:
        text = self.text(path)
        if text is None:
            return None
        key = f"mask {text}"
        if key not in self._sets:
            try:
                # Kernels before 2.6.2x on wide machines put no zeros in front, and an Itanium's
                # cache maps are empty.
                self._sets[key] = CpuSet.parse_mask(text) if text.strip() else EMPTY
            except CpuSetError as error:
                self.complain(path, text, error.problem)
                self._sets[key] = None
        return self._sets[key]

    def size(self, path: str) -> int | None:
        """A cache's size, `1280K`, in bytes."""
        text = self.text(path)
        match = _SIZE.fullmatch(text.strip()) if text else None
        if text and text.strip() and not match:
            self.complain(path, text, "it is not a size such as 1280K")
        return int(match[1]) * _UNITS[match[2]] if match else None

    def complain(self, path: str, text: str, problem: str) -> None:
        """Note that the file at `path` does not hold what its kind holds; the same is said once."""
        key = re.sub(r"[0-9]+", "N", path) + text
        if key not in self._complained and len(self._complained) < _MAX_COMPLAINTS:
            self._complained.add(key)
            place = f"{self.tree.name}: {path}"
            self.diagnostics.append(
                diagnose("CP125", path=place, text=text.strip()[:40], problem=problem)
            )


def numbered(names: Iterable[str], prefix: str) -> list[int]:
    """The numbers of the names `<prefix><number>`, ascending."""
    cut = len(prefix)
    return sorted(
        int(name[cut:])
        for name in names
        if name.startswith(prefix) and DECIMAL.fullmatch(name[cut:])
    )
