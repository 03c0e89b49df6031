"""The performance profile creator's answers (vectors/nto/ppc): what was asked, and what of an
answer is right.

Its answers are judged by the rules of vectors/nto/README.md, in this order: as many CPUs as were
asked for, no core in two pools, no CPU in two sets, every online CPU in one. A core whose second
thread is switched off is in one pool.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from cpuplan.base.cpuset import EMPTY, CpuSet, union
from cpuplan.importers.base import Machine

#: The creator's flags, and `cpuplan propose`'s. A word that is not here is passed on as it is.
FLAGS = {
    "mcp-name": "--pool",
    "node-pool-name": "--pool",
    "reserved-cpu-count": "--reserved",
    "offlined-cpu-count": "--offlined",
    "power-consumption-mode": "--power",
    "topology-manager-policy": "--topology-policy",
    "profile-name": "--name",
}
SWITCHES = {
    "split-reserved-cpus-across-numa": "--split",
    "disable-ht": "--disable-smt",
    "rt-kernel": "--rt-kernel",
    "per-pod-power-management": "--per-pod-power",
    "user-level-networking": "--user-level-networking",
    # The creator prints a comment that tells how to write frequencies; --hardware-tuning writes
    # them.
    "enable-hardware-tuning": None,
}
#: Refusals that say more of the creator than of what was asked.
_LIMITS = (
    (
        re.compile(
            (
                r"please specify the \w+ CPU count in|"
                r"please ensure that reserved-cpu-count|can't allocate odd number"
            )
        ),
        "whether there is a layout follows from the machine",
    ),
    (
        re.compile(r"CPU core ids in NUMA node \d+ differ"),
        "one list of CPUs fits (as releases from 4.19 on know)",
    ),
    (re.compile(r"gzip: invalid header"), "a whole archive is read, whatever it is compressed by"),
    (
        re.compile(r"no match for .*infrastructures/cluster\.yaml"),
        "MachineConfigPools tell that it is not hosted",
    ),
    (
        re.compile(r"multiple matches for "),
        "images that agree are one cluster, and a node's name may end in `nodes`",
    ),
    (re.compile(r"missing required flags: --rt-kernel$"), "the usual kernel is the default"),
)
_NAME = re.compile(r"(?=.{1,253}\Z)[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_NUMBERS = ("reserved-cpu-count", "offlined-cpu-count")
#: strconv.ParseBool.
_TRUE = ("1", "t", "T", "TRUE", "true", "True")
_FALSE = ("0", "f", "F", "FALSE", "false", "False")


class Asked(NamedTuple):
    """The words of a call by the creator's names."""

    words: tuple[tuple[str, str], ...]

    def get(self, name: str) -> str:
        """The value of a word, the last one that is said; empty where it is not said."""
        return dict(self.words).get(name, "")

    @property
    def numbers(self) -> tuple[int, int]:
        """CPUs to reserve and to switch off."""
        return int(self.get("reserved-cpu-count")), int(self.get("offlined-cpu-count") or 0)

    @property
    def pool(self) -> str:
        return self.get("mcp-name") or self.get("node-pool-name")

    def contradicts_itself(self) -> bool:
        """By the creator's own rules, which it forgets where a word has capitals; or a name for no
        API server.
        """
        mode, policy = (
            self.get("power-consumption-mode").lower(),
            self.get("topology-manager-policy").lower(),
        )
        return (
            (policy == "single-numa-node" and self.get("split-reserved-cpus-across-numa") == "true")
            or (mode in ("", "default") and self.get("rt-kernel") == "true")
            or (mode == "ultra-low-latency" and self.get("per-pod-power-management") == "true")
            or not _NAME.fullmatch(self.get("profile-name") or "performance")
        )


class Layout(NamedTuple):
    """The three sets of a profile."""

    reserved: CpuSet
    isolated: CpuSet
    offlined: CpuSet


def asked(arguments: Sequence[str]) -> Asked:
    """The call as pairs; a switch without a value is true, and numbers are decimal."""
    pairs = (argument.removeprefix("--").partition("=") for argument in _joined(arguments))
    return Asked(
        tuple((name, _value(name, text if sign else "true")) for name, sign, text in pairs)
    )


def _joined(arguments: Sequence[str]) -> list[str]:
    """Each option with its value, also where that is a word of its own."""
    joined: list[str] = []
    words = iter(arguments)
    for word in words:
        takes_next = word.removeprefix("--") in (*FLAGS, *_NUMBERS) and word.startswith("--")
        value = next(words, None) if takes_next else None
        joined.append(word if value is None else f"{word}={value}")
    return joined


def _value(name: str, text: str) -> str:
    """A value as the creator reads it (Go's strconv); one that it refuses stays as it is."""
    if name in SWITCHES:
        words = {**dict.fromkeys(_TRUE, "true"), **dict.fromkeys(_FALSE, "false")}
        return words.get(text, text)
    if name in _NUMBERS:
        # Go takes a leading zero for octal, which Python wants to be written out.
        try:
            return str(int(re.sub(r"^([+-]?)0(?=[0-7_])", r"\g<1>0o", text), 0))
        except ValueError:
            return text
    return text


def translate(arguments: Sequence[str], *, hosted: bool) -> list[str] | None:
    """The arguments of `cpuplan propose`; None for a call that it has no words for.

    That is one of two pools, or of a node pool where the cluster is not `hosted`: the creator finds
    no such pool (`listNodesForPool`), and takes the pool of a hosted cluster by either name.
    """
    call = asked(arguments)
    if call.get("node-pool-name") and (call.get("mcp-name") or not hosted):
        return None
    names = [name for name, _ in call.words]
    translated = [] if "profile-name" in names else ["--name", "performance"]
    for argument, (name, value) in zip(_joined(arguments), call.words, strict=True):
        if name in FLAGS:
            translated += [FLAGS[name], value]
        elif name in SWITCHES and value in ("true", "false"):
            switch = SWITCHES[name]
            translated += [switch] if switch and call.get(name) == "true" else []
        else:
            translated.append(argument)
    return translated


def is_name(name: str | None) -> bool:
    """Whether an API server takes the name; the creator does not ask, not even if it is empty."""
    return bool(name and _NAME.fullmatch(name))


def profile_of(manifest: dict[str, Any]) -> dict[str, Any]:
    """The PerformanceProfile, also that of a hosted cluster's ConfigMap."""
    if manifest["kind"] == "ConfigMap":
        found: dict[str, Any] = yaml.safe_load(manifest["data"]["tuning"])
        return found
    return manifest


def layout_of(manifest: dict[str, Any]) -> Layout:
    """The sets of a profile; an empty text is an empty set."""
    cpus = profile_of(manifest)["spec"]["cpu"]
    return Layout(
        *(CpuSet.parse(cpus[name]) if cpus.get(name) else EMPTY for name in Layout._fields)
    )


def cores_of(machine: Machine, call: Asked) -> list[CpuSet]:
    """The cores as they come up."""
    without_smt = call.get("disable-ht") == "true"
    return [CpuSet((core.first,)) if without_smt else core for core in machine.siblings]


def is_possible(machine: Machine, call: Asked) -> bool:
    """Whether whole cores have the number of CPUs that is asked for, with one CPU left for pods."""
    reserved, offlined = call.numbers
    cores = cores_of(machine, call)
    sums = {0}
    for core in cores:
        sums |= {before + len(core) for before in sums}
    return (
        reserved > 0
        and offlined >= 0
        and reserved in sums
        and reserved + offlined < len(union(cores))
    )


def broken_rules(layout: Layout, machine: Machine, call: Asked) -> Iterator[str]:
    """What is wrong with a layout."""
    reserved, offlined = call.numbers
    if len(layout.reserved) != reserved:
        yield f"reserves {len(layout.reserved)} CPUs ({layout.reserved}), not {reserved}"
    if len(layout.offlined) != offlined:
        yield f"switches {len(layout.offlined)} CPUs off ({layout.offlined}), not {offlined}"
    if not layout.isolated:
        yield "isolates no CPU"
    cores = cores_of(machine, call)
    for one, other in combinations(Layout._fields, 2):
        if both := getattr(layout, one) & getattr(layout, other):
            yield f"has {both} in {one} and in {other}"
    if union(layout) != union(cores):
        yield f"has the CPUs {union(layout)}, and {union(cores)} come up"
    for core in machine.siblings:
        if core & layout.reserved and core & (layout.isolated | layout.offlined):
            yield f"splits the core {core}"
    if call.get("split-reserved-cpus-across-numa") == "true":
        yield from _uneven_shares(layout, machine, cores, reserved)


def _uneven_shares(
    layout: Layout, machine: Machine, cores: Sequence[CpuSet], reserved: int
) -> Iterator[str]:
    """As many cores from each NUMA node, one more from the first ones; where all have as many,
    alike in threads.
    """
    nodes = [[core for core in cores if core <= node.cpus] for node in machine.numa_nodes]
    nodes = [members for members in nodes if members]
    widths = {len(core) for core in cores}
    if len(widths) > 1 or reserved % min(widths):
        return
    share, more = divmod(reserved // min(widths), len(nodes))
    wanted = [share + (place < more) for place in range(len(nodes))]
    if any(count > len(members) for count, members in zip(wanted, nodes, strict=True)):
        return
    found = [sum(core <= layout.reserved for core in members) for members in nodes]
    if found != wanted:
        yield f"reserves {found} cores of the NUMA nodes, not {wanted}"


def limit(error: str) -> str | None:
    """Why a refusal is none that another program must repeat where it finds the pool's machines;
    None if it is one.
    """
    return next((why for pattern, why in _LIMITS if pattern.search(error)), None)


def are_alike(machines: Sequence[Machine]) -> bool:
    """Whether one list of CPUs, and one architecture, is right for all (the operator's webhook
    wants both).
    """
    return (
        len(
            {
                (machine.architecture, machine.siblings, _online_by_node(machine))
                for machine in machines
            }
        )
        == 1
    )


def _online_by_node(machine: Machine) -> tuple[tuple[int, CpuSet], ...]:
    return tuple((node.id, node.cpus & machine.online) for node in machine.numa_nodes)


def is_sound(must_gather: Path) -> bool:
    """Whether the objects that tell pools are YAML, and images have the same bytes in files of the
    same name.
    """
    found: dict[Path, bytes] = {}
    for image in sorted(path for path in must_gather.iterdir() if path.is_dir()):
        for path in sorted(path for path in image.rglob("*") if path.is_file()):
            if found.setdefault(path.relative_to(image), path.read_bytes()) != path.read_bytes():
                return False
    return all(
        _is_yaml(data)
        for path, data in found.items()
        if path.suffix == ".yaml" and path.parent.name in _READ
    )


#: The folders whose objects the creator reads.
_READ = {"nodes", "machineconfigpools", "infrastructures"}


def _is_yaml(data: bytes) -> bool:
    try:
        return isinstance(yaml.load(data, yaml.CSafeLoader), dict)
    except yaml.YAMLError:
        return False


def needs_snippet(machine: Machine) -> bool:
    """Whether the operator's own kubelet settings are wrong, so that the profile must say other
    ones.

    It reserves memory on NUMA node 0, which may be missing or have no CPUs, and the topology
    manager takes 8 nodes.
    """
    nodes = dict(_online_by_node(machine))
    return not nodes.get(0) or len(nodes) > 8


def forgets_the_mode(call: Asked) -> bool:
    """Whether the creator does not know the mode again, because it is in capitals, when it switches
    sockets off.
    """
    mode = call.get("power-consumption-mode")
    return mode.lower() == "ultra-low-latency" != mode


def meant(profile: dict[str, Any], call: Asked) -> dict[str, Any]:
    """The spec without CPU sets, nulls and falses; words with capitals mean what they mean without.

    The creator takes them, and then writes a policy that its own webhook refuses, and forgets the
    power mode. Of a pool that is selected by expressions, it writes no node selector, which its own
    schema demands.
    """
    spec = {key: value for key, value in profile["spec"].items() if key != "cpu"}
    spec["numa"] = {"topologyPolicy": spec["numa"]["topologyPolicy"].lower()}
    if mode := call.get("power-consumption-mode").lower():
        hints = {"realTime": mode != "default", "highPowerConsumption": mode == "ultra-low-latency"}
        spec["workloadHints"] = {**spec["workloadHints"], **hints}
    kept = {
        key: _true_items(value) if isinstance(value, dict) else value for key, value in spec.items()
    }
    return {key: value for key, value in kept.items() if value}


def _true_items(value: dict[str, Any]) -> dict[str, Any]:
    return {key: item for key, item in value.items() if item is not False and item is not None}
