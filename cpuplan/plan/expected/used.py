"""What is compared with an expected state that anybody may have written, its digest included."""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePath

from cpuplan.diagnostics import CpuplanError, diagnose
from cpuplan.plan.expected.state import Expected


@contextmanager
def used(expected: Expected, node: str) -> Iterator[None]:
    """Raise CpuplanError (CP8175) where a comparison ends for what the state holds.

    The types of a file are known, those of each setting and fact only to what compares them. A
    value that no compilation gives is never a yes, and no bug either.
    """
    try:
        yield
    except (CpuplanError, OSError, MemoryError, RecursionError):
        raise
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{PurePath(frame.filename).stem}.{frame.name}"
        problem = f"{type(error).__name__}: {error} ({place})"[:500]
        name = f"{expected.cluster}/{expected.name}"
        finding = diagnose("CP8175", node=node, name=name, problem=problem)
        raise CpuplanError([finding]) from error
