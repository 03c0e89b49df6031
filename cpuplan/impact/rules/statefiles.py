"""State files that a kubelet refuses after a change: the node is drained and they are removed."""

from collections.abc import Iterator, Mapping

from cpuplan.components import kubelet
from cpuplan.components.derived import CGROUPS, HUGE_PAGES
from cpuplan.components.openshift import pinning
from cpuplan.expected.state import Expected
from cpuplan.impact.impact import Step
from cpuplan.impact.rules.differences import Changed, Half, origin_of, told
from cpuplan.impact.rules.table import RULES
from cpuplan.kubelet.cpu.policy_static import Fork
from cpuplan.kubelet.machineinfo import machine_of, without
from cpuplan.kubelet.releases.features import LATEST
from cpuplan.kubelet.releases.policy_options import with_gates
from cpuplan.simulate import statefiles
from cpuplan.simulate.planned import Planned

_CPU, _POLICY = "cpu_manager_state", "cpuManagerPolicy"
#: Platforms that remove the file of the CPU manager where its policy changes, and no other
#: (docs.siderolabs.com).
_REMOVES_OF_OTHER_POLICY = frozenset({"talos"})
#: Platforms of which it is not known.
_MAY_REMOVE = frozenset({"bottlerocket"})


def steps(before: Half, after: Half, changes: tuple[Changed, ...]) -> Iterator[Step]:
    """What the state files of the plan before make necessary; nothing on OpenShift."""
    new = after.state
    if new is None or new.platform.removes_state_files:
        return
    own = [each for each in changes if each.component == kubelet.NAME]
    if before.key is None:
        if after.value(kubelet.NAME, _POLICY) == "static":
            yield RULES["state-file-new-node"].step(f"kubelet {_POLICY}", origin_of(own))
        return
    old = before.state
    if old is None:
        if own:
            yield RULES["state-file-maybe"].step(told(own), origin_of(own), file=_CPU)
        return
    because = told(own) or "the offlined CPUs"
    policy = before.value(kubelet.NAME, _POLICY) != after.value(kubelet.NAME, _POLICY)
    for refusal in statefiles.refusals(_planned(old), _planned(new)):
        name = new.release.platform
        if refusal.file == _CPU and policy and name in _REMOVES_OF_OTHER_POLICY:
            continue
        rule = RULES["state-file-maybe" if name in _MAY_REMOVE else "state-file"]
        yield rule.step(f"{because}{refusal.when}", origin_of(own), file=refusal.file)


def _planned(state: Expected) -> Planned:
    """What the kubelet of a class finds, from its expected state alone."""
    version = state.release.kubernetes or LATEST
    platform = state.platform
    config = with_gates(kubelet.configuration(state.settings.of(kubelet.NAME)), version)
    is_pinned = bool(state.settings.of(pinning.NAME))
    fork = Fork(platform.forks_kubelet, platform.forks_kubelet and is_pinned)
    topology = without(state.topology, state.pool("offlined").cpus)
    machine = machine_of(topology, _pages(state))
    machine = machine._replace(cgroup_v1=state.facts.get(CGROUPS) == "v1")
    return Planned({"maxPods": platform.max_pods, **config}, machine, version, fork)


def _pages(state: Expected) -> dict[int, tuple[tuple[int, int], ...]]:
    """(size in KiB, count) by NUMA node: sysfs has all sizes on all nodes, with a count of 0."""
    fact = state.facts.get(HUGE_PAGES)
    given: Mapping[str, Mapping[str, int]] = fact if isinstance(fact, dict) else {}  # type: ignore[assignment]
    sizes = sorted({int(size) for counts in given.values() for size in counts})
    return {
        node: tuple((size, given.get(str(node), {}).get(str(size), 0)) for size in sizes)
        for node in _memory_nodes(state)
    }


def _memory_nodes(state: Expected) -> list[int]:
    from cpuplan.components import hugepages

    return list(hugepages.memory_nodes(state.topology))
