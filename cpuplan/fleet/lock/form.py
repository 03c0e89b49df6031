"""Layouts to the text of the lock file.

An entry is one line: Git merges lines, and a whole layout must come from one side. The lines
between entries do not change, so that changes of neighbours do not conflict. The last line ends the
YAML document, to distinguish a truncated file from a shorter one.
"""

from collections.abc import Callable, Iterable

from cpuplan import API_VERSION
from cpuplan.base.emit import Flow, to_yaml
from cpuplan.diagnostics.source import Position
from cpuplan.fleet.before import Key
from cpuplan.fleet.lock import unproven
from cpuplan.fleet.lock.entry import Lock, Locked, digest
from cpuplan.plan import NodePlan

HEADER = (
    "Layouts as cpuplan solved them. Commit this file: with it, `compile` moves no CPU "
    "without need.\n"
)
#: The last line of every lock.
END = "..."
_NOWHERE = Position("", 0, 0)


def render(
    plans: Iterable[NodePlan], before: Lock, left: Lock, *, solver: Callable[[], str]
) -> str:
    """The text of the lock file: the layouts of `plans`, and of removed classes (`left`).

    Removed classes may come back. `solver` returns the version that solved the layouts that are
    not those of `before`.
    """
    entries = {key: entry._replace(gone=True, others=()) for key, entry in left.items()}
    for plan in plans:
        key = plan.node_class.key
        entries[key] = _entry(plan, before.get(key), solver)
    return write(entries)


def _entry(plan: NodePlan, before: Locked | None, solver: Callable[[], str]) -> Locked:
    """The entry of a plan; a layout that was kept keeps the version of its solver."""
    pools = plan.layout
    known = (before, *before.others) if before else ()
    kept = next((entry for entry in known if entry.pools == pools), None)
    by = kept.solver if kept else solver()
    pool = plan.node_class.target.pool or ""
    return Locked(
        digest(plan.node_class), pools, _NOWHERE, {}, pool=pool, solver=by, limited=plan.limited
    )


def write(entries: Lock) -> str:
    """The text of a lock with these entries, ascending by cluster and class."""
    head = to_yaml({"apiVersion": API_VERSION, "kind": "Plan"}, HEADER)
    if not entries:
        return f"{head}classes: []\n{END}\n"
    lines = [
        f"# {'/'.join(key)}\n{to_yaml([Flow(_data(key, entries[key]))])}\n"
        for key in sorted(entries)
    ]
    return f"{head}classes:\n{''.join(lines)}{END}\n"


def _data(key: Key, entry: Locked) -> dict[str, object]:
    data: dict[str, object] = {"cluster": key[0], "class": key[1]}
    if entry.pool:
        data["pool"] = entry.pool
    if entry.gone:
        data["gone"] = True
    data["pools"] = {name: str(cpus) for name, cpus in entry.pools.items()}
    data["solvedFrom"] = entry.solved_from
    if entry.solver:
        data["solver"] = entry.solver
    if entry.limited:
        data["unproven"] = unproven.to_data(entry.limited)
    return data
