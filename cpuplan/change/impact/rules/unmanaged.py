"""All that happens to nodes without an operator, on every platform but OpenShift.

Files reach them by a delivery, Talos and Bottlerocket take settings only, and a kubelet refuses
some state files after a change.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

from cpuplan.backends.deliveries import script
from cpuplan.change.impact.rule_table import RULES
from cpuplan.change.impact.rules import nodes
from cpuplan.change.impact.rules.inputs import (
    Half,
    listed,
    objects,
    origin_of,
    told,
    unequal,
)
from cpuplan.change.impact.setting_rules import OF_API, RULES_OF, Changed
from cpuplan.components import kubelet
from cpuplan.facts.settings.costs import Impact, Step
from cpuplan.facts.settings.kubelet import CPU_MANAGER_POLICY
from cpuplan.plan.expected.state import Expected
from cpuplan.simulate import statefiles
from cpuplan.simulate.planned import kubelet_alone

#: Read by the first boot of a machine and never again, by the ends of their files.
_FIRST_BOOT = {"butane": ".butane.yaml", "cloudInit": ".cloud-init.yaml", "ignition": ".ign"}
#: What running nodes get.
_ON_RUNNING_NODES = frozenset({"tree", "ansible", "nodeWright"})
_SKYHOOK, _TEMPLATE = "10-skyhook-{}.yaml", "10-kubeadmconfigtemplate-{}.yaml"

Files = Mapping[str, bytes]


def forms(half: Half) -> dict[str, Files]:
    """The forms in which a class gets its files, with these by path."""
    if half.key is None:
        return {}
    cluster, name = half.key
    files, folder = half.side.files, f"nodes/{cluster}/{name}"
    by_form: dict[str, Files] = {}
    tree = half.side.node_files(half.key)
    if f"ansible/{cluster}/{name}.yaml" in files:
        by_form["ansible"] = tree
    elif tree:
        by_form["tree"] = tree
    for form, end in _FIRST_BOOT.items():
        if folder + end in files:
            by_form[form] = {form: files[folder + end]}
    for form, place in (("nodeWright", "manifests"), ("clusterApi", "hosting/manifests")):
        file = (_SKYHOOK if form == "nodeWright" else _TEMPLATE).format(name)
        path = f"clusters/{cluster}/{place}/{file}"
        if path in files:
            by_form[form] = {form: files[path]}
    return by_form


def delivery_steps(
    before: Half, after: Half, of_files: list[Step], units: tuple[str, str]
) -> Iterator[Step]:
    """What the deliveries do.

    `of_files` is what the files need, `units` the runtime's and the kubelet's.
    """
    old, new = forms(before), forms(after)
    differing = {form for form in new if old.get(form) != new[form]}
    for form, make in _MAKERS.items():
        if form in differing:
            yield make(after)
    if "ansible" in new:
        installed = old.get("ansible") or old.get("tree", {})
        yield from _ansible(installed, new["ansible"], of_files, units)
    elif "tree" in new:
        yield from of_files
    read_once = differing & _FIRST_BOOT.keys()
    if read_once and of_files and not new.keys() & (_ON_RUNNING_NODES | {"clusterApi"}):
        yield RULES["first-boot-only"].step(listed(sorted(read_once)))


def _ansible(
    old: Files, new: Files, of_files: list[Step], units: tuple[str, str]
) -> Iterator[Step]:
    """The role restarts both programs whatever differs; what needs a reboot waits for one."""
    yield from (step for step in of_files if step.impact != Impact.RESTART or _is_apart(step))
    runtime, kubelet = units
    because = listed(unequal(_without_loader(old), _without_loader(new)))
    if not because:
        return
    yield RULES["ansible-restarts"].step(because, runtime=runtime, kubelet=kubelet)


def _without_loader(tree: Files) -> Files:
    """What the role copies: the line for other boot loaders is none of it."""
    return {path: data for path, data in tree.items() if path != f"/{script.CMDLINE}"}


def _is_apart(step: Step) -> bool:
    """Whether it restarts something that the role does not."""
    return step.rule in ("tuned-profile", "irqbalance")


def _node_wright(_after: Half) -> Step:
    return RULES["nodewright-reboot"].step("Skyhook: files of its package")


def _cluster_api(after: Half) -> Step:
    """The template has a name of its own for each content."""
    name = ""
    for template in objects(after.side, after.key[0] if after.key else "").values():
        is_own = after.key and template.path.endswith(_TEMPLATE.format(after.key[1]))
        name = template.id.name if is_own else name
    return RULES["cluster-api-machines"].step("KubeadmConfigTemplate", name=name)


_MAKERS: Mapping[str, Callable[[Half], Step]] = {
    "nodeWright": _node_wright,
    "clusterApi": _cluster_api,
}


def settings_steps(
    platform: str, before: Half, after: Half, changes: Iterable[Changed]
) -> Iterator[Step]:
    """What the platform does; a setting that none of its files says changes nothing."""
    known, rules = tuple(changes), RULES_OF[platform]
    differing = {end for _, end in rules.values() if _file(before, end) != _file(after, end)}
    explained = set()
    for component, (rule, end) in rules.items():
        own = [change for change in known if change.component == component]
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


_CPU, _POLICY = "cpu_manager_state", CPU_MANAGER_POLICY.key


def state_file_steps(before: Half, after: Half, changes: tuple[Changed, ...]) -> Iterator[Step]:
    """What the state files of the plan before make necessary; nothing on OpenShift."""
    new = after.state
    if new is None or new.platform.removes_state_files:
        return
    own = [change for change in changes if change.component == kubelet.NAME]
    folder = new.platform.root_directory
    if before.key is None:
        if after.value(kubelet.NAME, _POLICY) == "static":
            because = f"kubelet {_POLICY}"
            yield RULES["state-file-new-node"].step(because, origin_of(own), folder=folder)
        return
    old = before.state
    if old is None:
        if own:
            names = {"file": _CPU, "folder": folder}
            yield RULES["state-file-maybe"].step(told(own), origin_of(own), **names)
        return
    because = told(own) or "the offlined CPUs"
    policy = before.value(kubelet.NAME, _POLICY) != after.value(kubelet.NAME, _POLICY)
    for refusal in statefiles.refusals(kubelet_alone(old), kubelet_alone(new)):
        if refusal.file == _CPU and policy and new.platform.removes_state_of_other_policy:
            continue
        may_be_gone = new.platform.may_remove_state(new.release.version)
        rule = RULES["state-file-maybe" if may_be_gone else "state-file"]
        names = {"file": refusal.file, "folder": folder}
        yield rule.step(f"{because}{refusal.when}", origin_of(own), **names)


_RUNTIMES = ("crio", "containerd")


def steps(before: Half, after: Half, changes: tuple[Changed, ...]) -> Iterator[Step]:
    """What the nodes of a pair need."""
    if after.key is None:
        yield RULES["node-leaves"].step("the nodes are in no class")
        return
    of_api = [change for change in changes if change.component in OF_API]
    others = [change for change in changes if change.component not in OF_API]
    state = after.state
    platform = state.release.platform if state else ""
    yield from nodes.of_settings(of_api)
    if platform in RULES_OF:
        made = list(settings_steps(platform, before, after, others))
        yield from made
        yield from state_file_steps(before, after, changes) if made else ()
        return
    yield from _runtime(before, state)
    unit = nodes.kubelet_service(after)
    files = [*state_file_steps(before, after, changes), *nodes.steps(before, after, others, unit)]
    yield from delivery_steps(before, after, files, (_runtime_unit(state, unit), unit))


def _runtime(before: Half, state: Expected | None) -> Iterator[Step]:
    """A node whose container runtime is another one from now on."""
    old = before.state
    if old and state and old.release.runtime != state.release.runtime:
        names = {"before": old.release.runtime, "after": state.release.runtime}
        yield RULES["other-runtime"].step("the container runtime of the target", **names)


def _runtime_unit(state: Expected | None, kubelet: str) -> str:
    if state is None or not state.platform.has_runtime_unit:
        return kubelet
    return f"{state.release.runtime}.service"
