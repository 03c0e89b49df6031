"""Rights of an ordinary user: root may read everything, and tests run as root in containers."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_NOBODY = 65534


@contextmanager
def unprivileged(folder: Path) -> Iterator[None]:
    """Run without root's rights, as a user who may look into `folder`.

    That is the user who runs the tests, if they are not run by root.
    """
    if os.geteuid() != 0:
        yield
        return
    for above in (folder, *folder.parents):
        if above.name.startswith("pytest-") or any(
            parent.name.startswith("pytest-") for parent in above.parents
        ):
            above.chmod(0o755)
    os.seteuid(_NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
