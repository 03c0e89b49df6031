"""The lock, `intents/plan.lock.yaml`: solved layouts, kept until their inputs change.

It contains only CPU lists: reasons follow from the intent and the layout (`solve.solver.explain`).
So a plan that is read back is equal to the plan that was written, and a comment added to an intent
does not change the file.
"""

from cpuplan.fleet.before import Key
from cpuplan.fleet.lock.entry import Lock, Locked, digest
from cpuplan.fleet.lock.form import render, write
from cpuplan.fleet.lock.reader import UNSETTLED, is_same, parse, read
from cpuplan.fleet.lock.start import Start, Starts

__all__ = [
    "UNSETTLED",
    "Key",
    "Lock",
    "Locked",
    "Start",
    "Starts",
    "digest",
    "is_same",
    "parse",
    "read",
    "render",
    "write",
]
