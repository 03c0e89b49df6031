"""`python -m tests.boot.capture [GUEST...]`: boot guests, and keep their snapshots as fixtures.

It needs what the tests with marker `boot` need. What is captured is in `tests/captured/`.
"""

import gzip
import lzma
import sys
import tempfile
from pathlib import Path

from tests import captured
from tests.boot import base
from tests.boot.lab import Lab
from tests.boot.lean.booted import NODES, SNAPSHOT, Lean

#: With systemd: all pools and interrupts; containers; irqbalance.
FULL = ("plain", "qos", "interrupts")


def main(names: list[str]) -> None:
    """Capture the guests, or all."""
    lacking = base.missing()
    if lacking:
        sys.exit(f"install {' '.join(lacking)} (Debian)")
    made = base.make()
    with tempfile.TemporaryDirectory() as folder:
        lean, full = Lean(made, Path(folder, "lean")), Lab(made, Path(folder, "full"))
        for name in names or (*NODES, *FULL):
            seen = lean.seen(name) if name in NODES else full.seen(name).folder
            keep(name, seen / SNAPSHOT)


def keep(name: str, snapshot: Path) -> None:
    """The snapshot as a fixture, at half its size."""
    packed = lzma.compress(gzip.decompress(snapshot.read_bytes()), preset=9 | lzma.PRESET_EXTREME)
    captured.archive(name).write_bytes(packed)


if __name__ == "__main__":
    main(sys.argv[1:])
