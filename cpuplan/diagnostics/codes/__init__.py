"""The table of diagnostic codes, with a module for each stage.

`CP` + stage digit (1 reading, 2 intent and inventory, 3 topology, 4 solving, 5 components and
backends, 6 writing, 7 simulation, 8 the node differs, 9 a bug) + two digits, or three where a
stage has used up its two. A code is never reused. A message states the value and the rule; a
remedy states what to do. The documentation is generated from the table.
"""

from cpuplan.diagnostics.codes import (
    bugs,
    checking,
    components,
    dividing,
    git,
    importing,
    inputs,
    isolation,
    koordinator,
    kubelet,
    locking,
    mechanism,
    mechanisms,
    nodes,
    planning,
    profiles,
    reading,
    rollout,
    runtime_files,
    runtimes,
    simulation,
    solving,
    topology,
    topologyaware,
    verifying,
    writing,
)
from cpuplan.diagnostics.codes.code import Code as Code

CODES: dict[str, Code] = {
    **reading.CODES,
    **importing.CODES,
    **inputs.CODES,
    **locking.CODES,
    **profiles.CODES,
    **topology.CODES,
    **solving.CODES,
    **components.CODES,
    **kubelet.CODES,
    **isolation.CODES,
    **mechanisms.CODES,
    **mechanism.CODES,
    **koordinator.CODES,
    **runtimes.CODES,
    **topologyaware.CODES,
    **writing.CODES,
    **dividing.CODES,
    **planning.CODES,
    **git.CODES,
    **simulation.CODES,
    **checking.CODES,
    **nodes.CODES,
    **runtime_files.CODES,
    **verifying.CODES,
    **rollout.CODES,
    **bugs.CODES,
}
