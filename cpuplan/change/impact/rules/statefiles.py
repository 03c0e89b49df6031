"""State files that a kubelet refuses after a change: the node is drained and they are removed."""

from collections.abc import Iterator

from cpuplan.change.impact.impact import Step
from cpuplan.change.impact.rules.differences import Changed, Half, origin_of, told
from cpuplan.change.impact.rules.table import RULES
from cpuplan.components import kubelet
from cpuplan.simulate import statefiles
from cpuplan.simulate.compiled import kubelet_alone

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
    for refusal in statefiles.refusals(kubelet_alone(old), kubelet_alone(new)):
        name = new.release.platform
        if refusal.file == _CPU and policy and name in _REMOVES_OF_OTHER_POLICY:
            continue
        rule = RULES["state-file-maybe" if name in _MAY_REMOVE else "state-file"]
        yield rule.step(f"{because}{refusal.when}", origin_of(own), file=refusal.file)
