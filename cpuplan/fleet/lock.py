"""The lock, `intents/plan.lock.yaml`: solved layouts, kept until their inputs change.

It contains only CPU lists: reasons follow from the intent and the layout (`solve.solver.explain`).
So a plan that is read back is equal to the plan that was written, and a comment added to an intent
does not change the file.

An entry of the lock is one line: Git merges lines, and a whole layout must come from one side. The
lines between entries do not change, so that changes of neighbours do not conflict. The last line
ends the YAML document, to distinguish a truncated file from a shorter one.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

from cpuplan import API_VERSION
from cpuplan.base import program
from cpuplan.base.cpuset import CpuSet, CpuSetError, union
from cpuplan.base.emit import Flow, to_yaml
from cpuplan.diagnostics import Diagnostic, Label, diagnose
from cpuplan.diagnostics.source import Data, Position, Source
from cpuplan.fleet import previous
from cpuplan.fleet.previous import Before, Key
from cpuplan.language.model.base import to_json
from cpuplan.language.model.pools import DIVIDED, POOLS, QOS_SETS
from cpuplan.language.read import yaml
from cpuplan.plan import Limited, NodeClass, NodePlan, Unproven

#: Incremented when built-in rules change, so that an older lock does not count as edited by hand.
FORM = 2


class Locked(NamedTuple):
    """The layout of one class, what it was solved from and by, and its place in the file."""

    solved_from: str
    pools: dict[str, CpuSet]
    position: Position
    places: dict[str, Position]  # of each pool's list
    pool: str = ""  # the MachineConfigPool or NodePool that had it
    solver: str = ""  # the version of OR-Tools
    gone: bool = False  # the class was removed on request
    limited: Limited | None = None  # what was not proven of it
    others: "tuple[Locked, ...]" = ()  # of the same class, from the other side of a merge

    @property
    def overlaps(self) -> bool:
        """Whether some CPU is in two pools, which no layout allows."""
        pools = [cpus for name, cpus in self.pools.items() if name in POOLS]
        return len(union(pools)) < sum(map(len, pools))

    @property
    def cpus(self) -> CpuSet:
        """All CPUs of the machine that it was solved for."""
        return union(cpus for name, cpus in self.pools.items() if name in POOLS)

    @property
    def content(self) -> tuple[object, ...]:
        """What the file contains of it; two sides of a merge may be equal."""
        pools = tuple(self.pools.items())
        return self.solved_from, pools, self.pool, self.solver, self.gone, self.limited


Lock: TypeAlias = Mapping[Key, Locked]


def digest(node_class: NodeClass) -> str:
    """A digest of what a layout depends on: the intent and the machine. 16 hexadecimal digits."""
    spec = node_class.spec
    models = (spec.pools, spec.qos, *spec.workloads, *spec.rules)
    pools = " ".join(map(to_json, models))
    policy = node_class.cpu_manager_policy
    near = [
        to_json(device)
        for device in node_class.devices
        if '"near"' in pools or '"per_device"' in pools
    ]
    text = f"{FORM} {pools} {spec.objective} {policy} {near} {node_class.topology.fingerprint}"
    return sha256(text.encode()).hexdigest()[:16]


_TYPES = {"goal": str, "set": str, "part": str, "found": int, "bound": int}
#: By the keys of the lock, in their order.
_FIELDS = dict(zip(_TYPES, Unproven._fields, strict=True))
_DEFAULTS = Unproven._field_defaults


def unproven_to_data(limited: Limited) -> dict[str, object]:
    """The limit, and the goals with what is known of them."""
    goals = []
    for goal in limited.goals:
        values = ((key, field, getattr(goal, field)) for key, field in _FIELDS.items())
        goals.append({key: value for key, field, value in values if value != _DEFAULTS.get(field)})
    seconds = limited.seconds
    # The reader takes a whole number for one only without a point.
    return {"seconds": int(seconds) if seconds == int(seconds) else seconds, "goals": goals}


def unproven_from_data(data: Data) -> Limited | None:
    """The same again; None for what has another form."""
    if not isinstance(data, dict) or data.keys() != {"seconds", "goals"}:
        return None
    seconds, written = data["seconds"], data["goals"]
    if not (isinstance(seconds, int | float) and isinstance(written, list) and written):
        return None
    goals = [_goal(goal) for goal in written]
    known = tuple(goal for goal in goals if goal)
    return Limited(seconds, known) if len(known) == len(goals) else None


def _goal(data: Data) -> Unproven | None:
    if not isinstance(data, dict) or "goal" not in data or not data.keys() <= _TYPES.keys():
        return None
    if not all(isinstance(value, _TYPES[key]) for key, value in data.items()):
        return None
    values: dict[str, Any] = {_FIELDS[key]: value for key, value in data.items()}
    return Unproven(**values)


class Start(NamedTuple):
    """A layout that a class may start from, and the class that had it."""

    locked: Locked
    key: Key
    is_own: bool


class Starts:
    """The locked layouts, and which of them the present classes start from."""

    def __init__(self, lock: Lock, compiled: Before, classes: Iterable[NodeClass]) -> None:
        # After a merge the lock may lack an entry, and a deleted lock lacks all of them: `out/` has
        # the layouts too.
        in_out = {
            key: _from_plan(key, record) for key, record in compiled.items() if key not in lock
        }
        self.lock: dict[Key, Locked] = {key: entry for key, entry in in_out.items() if entry}
        self.lock |= lock
        self.current = {node_class.key for node_class in classes}
        self._compiled = compiled
        # Several stages ask the same of all classes.
        self._starts: dict[NodeClass, list[Start]] = {}
        self._had: dict[NodeClass, dict[Key, list[str]]] = {}

    @cached_property
    def members(self) -> dict[Key, list[str]]:
        """The nodes of each class that was compiled before."""
        return previous.members(self._compiled)

    @cached_property
    def _classes_of(self) -> dict[Key, list[Key]]:
        """The classes that a node was in, by cluster and node name; several after some merges."""
        classes_of: dict[Key, list[Key]] = {}
        for key, names in self.members.items():
            for name in names:
                classes_of.setdefault((key[0], name), []).append(key)
        return classes_of

    def of(self, node_class: NodeClass) -> list[Start]:
        """The layouts of one locked class, the first choice first; several during a merge.

        That class is the one of the same name, unless it had only other nodes; else the one that
        had most of the nodes, on the same CPUs; else the one of the same hardware without CPUs that
        are offline on some nodes; else one that was solved from the same inputs, because an intent
        was renamed; else one that has no nodes any more, on the same CPUs.
        """
        if node_class not in self._starts:
            self._starts[node_class] = self._found(node_class)
        return self._starts[node_class]

    def _found(self, node_class: NodeClass) -> list[Start]:
        key = next(self._keys(node_class), None)
        if key is None:
            return []
        entry, is_own = self.lock[key], key == node_class.key
        starts = [Start(locked, key, is_own) for locked in (entry, *entry.others)]
        if entry.others:
            wanted = digest(node_class)
            starts.sort(key=lambda start: start.locked.solved_from != wanted)
        return starts

    def had(self, node_class: NodeClass) -> dict[Key, list[str]]:
        """The nodes of the class by the class that they were in before."""
        if node_class not in self._had:
            names_by_class: dict[Key, list[str]] = {}
            for name in node_class.nodes:
                for key in self._classes_of.get((node_class.cluster, name), ()):
                    names_by_class.setdefault(key, []).append(name)
            self._had[node_class] = names_by_class
        return self._had[node_class]

    def _keys(self, node_class: NodeClass) -> Iterator[Key]:
        lock, cluster = self.lock, node_class.cluster
        if not lock:
            return
        had = {key: names for key, names in self.had(node_class).items() if key in lock}
        most = sorted(had, key=lambda key: (-len(had[key]), key))
        own = node_class.key
        # Other nodes had this name, if names were exchanged: their layout is with them.
        is_taken = (
            own not in had
            and self.members.get(own)
            and any(_fits(lock[key], node_class) for key in most)
        )
        if own in lock and not is_taken:
            yield own
            return
        yield from (key for key in most if _fits(lock[key], node_class))
        kin = (cluster, f"{node_class.intent}-{node_class.hardware}")
        if kin in lock:
            yield kin
        here = [key for key in sorted(lock) if key[0] == cluster]
        wanted = digest(node_class)
        yield from (key for key in here if lock[key].solved_from == wanted)
        left = [key for key in here if key not in self.current and not lock[key].gone]
        left = [key for key in left if _fits(lock[key], node_class)]
        yield from sorted(left, key=lambda key: not key[1].startswith(f"{node_class.intent}-"))


def in_order(starts: Iterable[Sequence[Start]]) -> list[Start]:
    """The layouts that classes may start from together: first those that they had themselves."""
    several = list(starts)
    if len(several) == 1:
        return list(several[0])
    return sorted(chain.from_iterable(several), key=lambda start: not start.is_own)


def _fits(locked: Locked, node_class: NodeClass) -> bool:
    """Whether a layout is one of a machine with the same CPUs, some of them offline perhaps."""
    online = node_class.topology.online
    return online <= locked.cpus <= online | node_class.topology.offline


def _from_plan(key: Key, compiled: dict[str, object]) -> Locked | None:
    """The layout of a class as `out/` has it."""
    groups = [compiled.get("pools"), compiled.get("sets")]
    sets = [group for group in groups if isinstance(group, dict)]
    try:
        pools = {
            name: CpuSet.parse(fields["cpus"]) for group in sets for name, fields in group.items()
        }
    except (CpuSetError, KeyError, TypeError):
        return None
    place = Position(f"out/{previous.CLASSES}/{key[0]}/{key[1]}.json", 1, 1)
    return Locked("", pools, place, {}, pool=str(compiled.get("pool", ""))) if pools else None


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
        entries[key] = _entry_of_plan(plan, before.get(key), solver)
    return write(entries)


def _entry_of_plan(plan: NodePlan, before: Locked | None, solver: Callable[[], str]) -> Locked:
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
        data["unproven"] = unproven_to_data(entry.limited)
    return data


_WANTED = (("cluster", str), ("class", str), ("solvedFrom", str | int), ("pools", dict))
_PARTITIONS = tuple(f"{host}." for host in DIVIDED)
_OPTIONAL = (("pool", str), ("solver", str), ("gone", bool))
#: The finding on a lock with both sides of a merge, where the merge is not resolved.
UNSETTLED = "CP248"
_RESTORE = "restore the file from Git, then compile"
_MARKED = re.compile(r"^<{7} ", re.MULTILINE)
_MARKER = re.compile(r"(<{7}|\|{7}|={7}|>{7})( .*)?")


def read(data: bytes | None, shown: str) -> tuple[Lock, list[Diagnostic]]:
    """The layouts of the lock file's bytes, or of no file. An empty file is an error (CP243)."""
    if data is None:
        return {}, []
    if not data.strip():
        return {}, [diagnose("CP243", Position(shown, 1, 1), path=shown)]
    try:
        return parse(data.decode(), shown)
    except UnicodeDecodeError:
        return {}, [diagnose("CP241", Position(shown, 1, 1), problem="is not UTF-8")]


def parse(text: str, shown: str) -> tuple[Lock, list[Diagnostic]]:
    """The layouts of a lock's text.

    Of a class that both sides of a merge changed, the first layout has the `others`.
    """
    by_class: dict[Key, list[Locked]] = {}
    diagnostics: list[Diagnostic] = []
    for side in _sides(text):
        sources, problems = yaml.parse(shown, _in_one(side))
        problems = [problem._replace(remedy=_RESTORE) for problem in problems]
        diagnostics += [problem for problem in problems if problem not in diagnostics]
        for source in sources:
            for key, entry in _entries(source, diagnostics):
                entries = by_class.setdefault(key, [])
                if all(entry.content != other.content for other in entries):
                    entries.append(entry)
        if not diagnostics and _is_new(side) and side.rstrip().rpartition("\n")[2] != END:
            line = side.rstrip().count("\n") + 1
            problem = f"is cut short: its last line, `{END}`, is missing"
            diagnostics.append(diagnose("CP241", Position(shown, line, 1), problem=problem))
    lock = {key: first._replace(others=tuple(others)) for key, (first, *others) in by_class.items()}
    return lock, [*diagnostics, *_unsettled(text, shown, lock)]


def _unsettled(text: str, shown: str, lock: Lock) -> Iterator[Diagnostic]:
    """CP248: conflicts that only `compile` resolves."""
    marked = _MARKED.search(text)
    if marked:
        line = text.count("\n", 0, marked.start()) + 1
        yield diagnose(UNSETTLED, Position(shown, line, 1), what="Git's conflict markers")
        return
    for (cluster, name), entry in lock.items():
        if entry.others:
            labels = [Label(other.position, "the other one") for other in entry.others]
            what = f"two layouts of class {name} of cluster {cluster}"
            yield diagnose(UNSETTLED, entry.position, labels=labels, what=what)


def _is_new(text: str) -> bool:
    """Whether a lock is of the form that has an end: entries on one line."""
    return not re.search(r"^- cluster:", text, re.MULTILINE)


def _in_one(text: str) -> str:
    """The text with only its last end mark.

    Git puts the entries of an older form, which has no end mark, behind it.
    """
    lines = text.rstrip().split("\n")
    return "\n".join(["" if line.rstrip() == END else line for line in lines[:-1]] + lines[-1:])


def _sides(text: str) -> list[str]:
    """The text, or both texts of a conflict that Git left in it, with their lines in place."""
    if not _MARKED.search(text):
        return [text]
    ours, theirs = [], []
    side = ""
    for line in text.split("\n"):
        marker = _MARKER.fullmatch(line.rstrip("\r"))
        if marker:
            side = "" if marker[1][0] == ">" else marker[1][0]
            ours.append("")
            theirs.append("")
            continue
        ours.append(line if side in ("", "<") else "")
        theirs.append(line if side in ("", "=") else "")
    return ["\n".join(ours), "\n".join(theirs)]


def _entries(source: Source, diagnostics: list[Diagnostic]) -> Iterator[tuple[Key, Locked]]:
    """The entries of one document; what is wrong with it is added to `diagnostics`."""
    data = source.data
    form = " ".join(
        str(data[key]) for key in ("apiVersion", "kind") if isinstance(data, dict) and key in data
    )
    if form != f"{API_VERSION} Plan":
        place = source.value_at(("apiVersion",)) if form else source.value_at(())
        actual, expected = form or "without apiVersion and kind", f"{API_VERSION} Plan"
        if program.is_later_version(form.partition(" ")[0]):
            diagnostics.append(
                diagnose("CP139", place, what="the lock", found=actual, expected=expected)
            )
        else:
            diagnostics.append(diagnose("CP242", place, found=actual, expected=expected))
        return
    classes = data.get("classes") if isinstance(data, dict) else None
    if not isinstance(classes, list):
        diagnostics.append(diagnose("CP241", source.value_at(()), problem="has no list `classes`"))
        return
    for index, entry in enumerate(classes):
        problems = list(_problems(source, index, entry))
        diagnostics += problems
        if not problems:
            yield _entry(source, index, entry)


def _problems(source: Source, index: int, entry: Data) -> Iterator[Diagnostic]:
    place = source.value_at(("classes", index))
    if not isinstance(entry, dict) or not all(
        isinstance(entry.get(key), kind) for key, kind in _WANTED
    ):
        yield diagnose("CP241", place, problem="needs cluster, class, solvedFrom and pools")
        return
    for key, kind in _OPTIONAL:
        if key in entry and not isinstance(entry[key], kind):
            problem = f"has {key} {entry[key]!r}, not {'true' if kind is bool else 'text'}"
            yield diagnose("CP241", source.value_at(("classes", index, key)), problem=problem)
    if "unproven" in entry and unproven_from_data(entry["unproven"]) is None:
        place = source.value_at(("classes", index, "unproven"))
        yield diagnose("CP241", place, problem="has an `unproven` that cpuplan did not write")
    written = entry["pools"]
    assert isinstance(written, dict)  # noqa: S101 - tested above
    for name, text in written.items():
        field = ("classes", index, "pools", name)
        if name not in (*POOLS, *QOS_SETS) and not name.startswith(_PARTITIONS):
            hint = ": a list of CPUs needs quotes here" if name[:1].isdigit() else ""
            yield diagnose(
                "CP241", source.key_at(field), problem=f"has {name!r}, which is not a pool{hint}"
            )
            continue
        try:
            _cpus(text)
        except CpuSetError as error:
            yield diagnose(
                "CP241", source.value_at(field), problem=f"has an invalid CPU list: {error}"
            )


def _cpus(text: Data) -> CpuSet:
    return CpuSet.parse("" if text is None else str(text))


def _entry(source: Source, index: int, entry: Data) -> tuple[Key, Locked]:
    """An entry in which nothing is wrong."""
    assert isinstance(entry, dict)  # noqa: S101 - see _problems
    written = entry["pools"]
    assert isinstance(written, dict)  # noqa: S101
    locked = Locked(
        solved_from=str(entry["solvedFrom"]),
        pools={name: _cpus(text) for name, text in written.items()},
        position=source.value_at(("classes", index, "class")),
        places={name: source.value_at(("classes", index, "pools", name)) for name in written},
        pool=str(entry.get("pool", "")),
        solver=str(entry.get("solver", "")),
        gone=entry.get("gone") is True,
        limited=unproven_from_data(entry.get("unproven")),
    )
    return (str(entry["cluster"]), str(entry["class"])), locked


def is_same(data: bytes | None, text: str) -> bool:
    """Whether a lock file has the lines of `text`, in any order: a merge may change the order."""
    return data is not None and _lines_of(data) == _lines_of(text.encode())


def _lines_of(data: bytes) -> set[bytes]:
    return {line.rstrip(b"\r") for line in data.split(b"\n")} - {b""}


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
