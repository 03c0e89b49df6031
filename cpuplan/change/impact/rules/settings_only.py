"""Talos and Bottlerocket: what they do with the settings that they take."""

from collections.abc import Iterable, Iterator, Mapping

from cpuplan.change.impact.impact import Step
from cpuplan.change.impact.rules.differences import Changed, Half, listed, origin_of, told
from cpuplan.change.impact.rules.table import RULES
from cpuplan.components import kernel, kubelet
from cpuplan.components.host import sysctl

#: By platform: the rule of each component, and the file that has its settings.
RULES_OF: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "talos": {
        kubelet.NAME: ("talos-kubelet", ".talos.yaml"),
        sysctl.NAME: ("talos-sysctl", ".talos.yaml"),
        kernel.NAME: ("talos-schematic", ".schematic.yaml"),
    },
    "bottlerocket": {
        kubelet.NAME: ("bottlerocket-kubelet", ".bottlerocket.toml"),
        sysctl.NAME: ("bottlerocket-sysctl", ".bottlerocket.toml"),
        kernel.NAME: ("bottlerocket-boot", ".bottlerocket.toml"),
    },
}


def steps(platform: str, before: Half, after: Half, changes: Iterable[Changed]) -> Iterator[Step]:
    """What the platform does; a setting that none of its files says changes nothing."""
    known, rules = tuple(changes), RULES_OF[platform]
    differing = {end for _, end in rules.values() if _file(before, end) != _file(after, end)}
    explained = set()
    for component, (rule, end) in rules.items():
        own = [each for each in known if each.component == component]
        if own and end in differing:
            explained.add(end)
            yield RULES[rule].step(told(own), origin_of(own))
    left = differing - explained
    for component, (rule, end) in rules.items():
        if end in left:
            left.discard(end)
            yield RULES[rule].step(f"{component}: {listed([end])}")


def _file(half: Half, end: str) -> bytes | None:
    if half.key is None:
        return None
    cluster, name = half.key
    return half.side.files.get(f"nodes/{cluster}/{name}{end}")
