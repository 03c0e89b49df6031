"""The options of a proposal, and the reserved, offlined and isolated CPUs chosen by them.

The order of CPUs is the profile creator's, so that its correct layouts stay the same: NUMA nodes by
id, their cores by lowest CPU, sockets of one NUMA node in turns. The counts differ: cores are the
kernel's sibling sets (the creator treats CPUs of one core_id in a NUMA node as siblings, even on
two sockets), shares of NUMA nodes add up to the requested number, and nodes without CPUs get none.
"""

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, TypeAlias

from cpuplan.base.cpuset import EMPTY, MAX_CPU, CpuSet, union
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.importers.base import Machine


class Wanted(NamedTuple):
    """The requested numbers of CPUs, and how to choose them.

    With `save_power`, whole sockets are switched off first.
    """

    reserved: int
    offlined: int = 0
    split: bool = False  # reserved CPUs from every NUMA node
    disable_smt: bool = False  # nosmt: a core has one thread
    save_power: bool = True


class Choice(NamedTuple):
    """A layout that contains every online CPU. `shares` has the reserved CPUs by NUMA node."""

    reserved: CpuSet
    isolated: CpuSet
    offlined: CpuSet
    shares: dict[int, CpuSet]


def choose(machine: Machine, wanted: Wanted) -> Choice | Diagnostic:
    """The layout of a machine, or why there is none."""
    cores = _cores(machine, disable_smt=wanted.disable_smt)
    cpus = union(cores)
    problem = _problem(wanted, cores) or _core_problem(wanted, cores)
    if problem:
        return problem
    nodes = _by_numa_node(machine, cores)
    has_nodes = not (machine.kubelet and machine.kubelet.no_numa_nodes)
    # by number with nosmt, and if NUMA nodes are unknown
    if has_nodes and cores == list(machine.siblings):
        nodes = {node: _in_turns(machine, members) for node, members in nodes.items()}
    reserved = (
        _split(nodes, wanted.reserved) if wanted.split else _first(_all(nodes), wanted.reserved)
    )
    offlined = _offline(_by_socket(machine, cores), reserved, wanted)
    held = {node: union(members) & reserved for node, members in nodes.items()}
    shares = {node: cpus for node, cpus in held.items() if cpus}
    return Choice(reserved, cpus - reserved - offlined, offlined, shares)


def _cores(machine: Machine, *, disable_smt: bool) -> list[CpuSet]:
    """The online CPUs of each core, ascending by lowest CPU. nosmt leaves the first thread."""
    return [CpuSet((siblings.first,)) if disable_smt else siblings for siblings in machine.siblings]


def _problem(wanted: Wanted, cores: Sequence[CpuSet]) -> Diagnostic | None:
    """Numbers that do not fit the CPUs: isolated needs one too."""
    total = sum(map(len, cores))
    if wanted.reserved < 1:
        return diagnose(
            "CP283",
            problem=f"{wanted.reserved} CPUs for the system",
            remedy="reserve at least 1 CPU",
        )
    if wanted.offlined < 0:
        return diagnose(
            "CP283", problem=f"{wanted.offlined} CPUs to switch off", remedy="ask for 0 or more"
        )
    if wanted.reserved + wanted.offlined >= total:
        asked = (
            f"{wanted.reserved} reserved and {wanted.offlined} offlined CPUs of {total} "
            "leave none for pods"
        )
        return diagnose("CP283", problem=asked, remedy=_most(wanted, cores))
    return None


def _most(wanted: Wanted, cores: Sequence[CpuSet]) -> str:
    """The numbers nearest to the wanted ones that leave CPUs: whole cores are reserved."""
    sums, total = _sums(cores)[0], sum(map(len, cores))
    most = max((count for count in range(total - wanted.offlined) if sums >> count & 1), default=0)
    if most:
        return f"reserve at most {most} CPUs"
    return f"switch off at most {max(total - wanted.reserved - 1, 0)} CPUs"


def _core_problem(wanted: Wanted, cores: Sequence[CpuSet]) -> Diagnostic | None:
    """A number of reserved CPUs that no set of whole cores has."""
    sums = _sums(cores)[0]
    if sums >> wanted.reserved & 1:
        return None
    total = sum(map(len, cores))
    near = [count for count in range(1, total) if sums >> count & 1]
    below = max((count for count in near if count < wanted.reserved), default=0)
    above = min((count for count in near if count > wanted.reserved), default=0)
    known = " or ".join(str(count) for count in (below, above) if count)
    text = f"{wanted.reserved} reserved CPUs are not whole cores"
    return diagnose(
        "CP283",
        problem=text,
        remedy=f"reserve {known} CPUs: siblings of one core disturb each other",
    )


def _sums(cores: Sequence[CpuSet]) -> list[int]:
    """For each place in `cores`, a bit set of the sums of CPUs of cores from there on."""
    sums = [1]
    for siblings in reversed(cores):
        sums.append(sums[-1] | sums[-1] << len(siblings))
    return sums[::-1]


def _first(cores: Sequence[CpuSet], count: int) -> CpuSet:
    """Cores that have exactly `count` CPUs, earlier ones preferred. There must be some."""
    sums = _sums(cores)
    chosen = EMPTY
    for place, siblings in enumerate(cores):
        left = count - len(chosen) - len(siblings)
        if left >= 0 and sums[place + 1] >> left & 1:
            chosen |= siblings
    return chosen


def _split(nodes: dict[int, list[CpuSet]], count: int) -> CpuSet:
    """As many cores from each NUMA node; the first nodes give one more if needed.

    What a small node lacks comes from those after it, and, if these are full, from those before.
    """
    chosen = EMPTY
    for target, cores in zip(_targets(nodes, count), nodes.values(), strict=True):
        for siblings in cores:
            if len(chosen) + len(siblings) <= target:
                chosen |= siblings
    rest = [siblings for siblings in _all(nodes) if not siblings <= chosen]
    missing = count - len(chosen)
    if _sums(rest)[0] >> missing & 1:
        return chosen | _first(rest, missing)
    return _first(
        _all(nodes), count
    )  # cores of different widths: the chosen ones cannot be completed


def _targets(nodes: dict[int, list[CpuSet]], count: int) -> list[int]:
    """How many CPUs the NUMA nodes up to each one should have together."""
    widths = {len(siblings) for siblings in _all(nodes)}
    width = max(widths) if count % max(widths) == 0 else 1
    share, more = divmod(count // width, len(nodes))
    return [width * (share * number + min(number, more)) for number in range(1, len(nodes) + 1)]


def _offline(sockets: Sequence[Sequence[CpuSet]], reserved: CpuSet, wanted: Wanted) -> CpuSet:
    """CPUs to switch off: sockets without a reserved CPU, then second threads, then others.

    A whole socket that sleeps saves the most power. A core that keeps its first thread loses little
    throughput. Cores of a socket that share a core id are together in `sockets`, and count as
    threads of one core for the creator.
    """
    chosen: list[int] = []
    if wanted.save_power:
        for socket in sockets:
            if not union(socket) & reserved and len(union(socket)) <= wanted.offlined - len(chosen):
                chosen += (cpu for threads in socket for cpu in threads)
    cpus = [cpu for socket in sockets for threads in socket for cpu in threads]
    firsts = CpuSet(threads.first for socket in sockets for threads in socket)
    candidates = dict.fromkeys([*chosen, *(cpu for cpu in cpus if cpu not in firsts), *cpus])
    return CpuSet([cpu for cpu in candidates if cpu not in reserved][: wanted.offlined])


def _by_numa_node(machine: Machine, cores: Sequence[CpuSet]) -> dict[int, list[CpuSet]]:
    """Cores by NUMA node that has some, ascending by id. A machine without NUMA is one node, 0."""
    node_of = {cpu: node.id for node in machine.numa_nodes for cpu in node.cpus}
    by_node: dict[int, list[CpuSet]] = {}
    for siblings in cores:
        by_node.setdefault(node_of.get(siblings.first, 0), []).append(siblings)
    return dict(sorted(by_node.items()))


def _in_turns(machine: Machine, cores: Sequence[CpuSet]) -> list[CpuSet]:
    """Cores of a NUMA node in the order of their core ids' first CPUs.

    If a node has several sockets (AMD's NPS0), core ids repeat: then the sockets take turns, as in
    the creator.
    """
    lowest: dict[int, int] = {}
    for siblings in cores:
        lowest.setdefault(_core_id(machine, siblings), siblings.first)
    return sorted(cores, key=lambda siblings: (lowest[_core_id(machine, siblings)], siblings.first))


def _core_id(machine: Machine, siblings: CpuSet) -> int:
    """The kernel's id; where it knows none, one that no other core has."""
    known = machine.core_ids.get(siblings.first, -1)
    return known if known >= 0 else siblings.first - MAX_CPU - 1


def _by_socket(machine: Machine, cores: Iterable[CpuSet]) -> list[list[CpuSet]]:
    """The CPUs of each core id by socket, ascending by both, as the creator switches them off."""
    by_socket: dict[int, dict[int, CpuSet]] = {}
    for siblings in cores:
        socket = by_socket.setdefault(machine.sockets.get(siblings.first, 0), {})
        core_id = _core_id(machine, siblings)
        socket[core_id] = socket.get(core_id, EMPTY) | siblings
    return [_in_order(by_socket[socket]) for socket in sorted(by_socket)]


def _in_order(cores: dict[int, CpuSet]) -> list[CpuSet]:
    return [cores[core_id] for core_id in sorted(cores)]


def _all(nodes: dict[int, list[CpuSet]]) -> list[CpuSet]:
    return [siblings for cores in nodes.values() for siblings in cores]


Power: TypeAlias = Literal["default", "low-latency", "ultra-low-latency"]
POWER: tuple[Power, ...] = ("default", "low-latency", "ultra-low-latency")
#: `none` is left out, as in the creator: it makes a profile for alignment.
TOPOLOGY_POLICIES = ("single-numa-node", "best-effort", "restricted")

#: As `intent.Target.version`.
RELEASE_PATTERN = r"^[1-9][0-9]?\.[0-9]{1,2}$"


class Request(NamedTuple):
    """The options. Numbers are CPUs (hardware threads); frequencies are in kHz."""

    pool: str
    reserved: int
    offlined: int = 0
    split: bool = False
    disable_smt: bool = False
    real_time: bool = False
    power: Power = "default"
    per_pod_power: bool = False
    topology_policy: str = "restricted"
    user_level_networking: bool = False
    frequencies: tuple[int, int] | None = None
    name: str = ""  # of the Intent; the pool's if empty
    release: str = ""  # of OpenShift, if the must-gather does not contain it
    cluster: str = ""


def contradiction(request: Request) -> str | None:
    """Options that exclude each other, by the rules of the creator and of the webhook."""
    if request.split and request.topology_policy == "single-numa-node":
        return (
            "--split spreads reserved CPUs over NUMA nodes and cannot be used with "
            "--topology-policy single-numa-node"
        )
    if request.real_time and request.power == "default":
        return "--rt-kernel needs --power low-latency or ultra-low-latency"
    if request.per_pod_power and request.power == "ultra-low-latency":
        return "--per-pod-power saves power and cannot be used with --power ultra-low-latency"
    return None
