"""The table of diagnostic codes, with a module for each subject of a stage.

`CP` + stage digit (1 reading, 2 intent and inventory, 3 topology, 4 solving, 5 components and
backends, 6 writing, 7 simulation, 8 the node differs, 9 a bug) + two digits, or three where a
stage has used up its two. A code is never reused; one that stood for unlike findings is divided,
and each of its codes says so (`was`). A message states the value and the rule; a
remedy states what to do. The documentation is generated from the table.
"""

from cpuplan.diagnostics.codes import (
    checking,
    components,
    cpu_mechanisms,
    delivery,
    inputs,
    isolation,
    koordinator,
    layouts,
    profiles,
    reading,
    running_nodes,
    simulation,
    writing,
)
from cpuplan.diagnostics.codes.code import Code as Code

CODES: dict[str, Code] = {
    **reading.CODES,
    **inputs.CODES,
    **profiles.CODES,
    **layouts.CODES,
    **components.CODES,
    **isolation.CODES,
    **cpu_mechanisms.CODES,
    **koordinator.CODES,
    **writing.CODES,
    **delivery.CODES,
    **simulation.CODES,
    **checking.CODES,
    **running_nodes.CODES,
}

#: The codes that were divided: no finding has them.
DIVIDED: frozenset[str] = frozenset(entry.was for entry in CODES.values() if entry.was)


def successors(code: str) -> tuple[str, ...]:
    """The codes of the findings that a code names: itself, or what it was divided into."""
    if code in CODES:
        return (code,)
    return tuple(name for name, entry in CODES.items() if code and entry.was == code)
