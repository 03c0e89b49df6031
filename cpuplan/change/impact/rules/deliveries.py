"""How changed files reach nodes without an operator, and what that costs beside the files."""

from collections.abc import Callable, Iterator, Mapping

from cpuplan.backends.deliveries import boot
from cpuplan.change.impact.impact import Impact, Step
from cpuplan.change.impact.rules.differences import Half, listed, objects, unequal
from cpuplan.change.impact.rules.table import RULES

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
    found: dict[str, Files] = {}
    tree = half.side.node_files(half.key)
    if f"ansible/{cluster}/{name}.yaml" in files:
        found["ansible"] = tree
    elif tree:
        found["tree"] = tree
    for form, end in _FIRST_BOOT.items():
        if folder + end in files:
            found[form] = {form: files[folder + end]}
    for form, place in (("nodeWright", "manifests"), ("clusterApi", "hosting/manifests")):
        file = (_SKYHOOK if form == "nodeWright" else _TEMPLATE).format(name)
        path = f"clusters/{cluster}/{place}/{file}"
        if path in files:
            found[form] = {form: files[path]}
    return found


def steps(
    before: Half, after: Half, of_files: list[Step], units: tuple[str, str]
) -> Iterator[Step]:
    """What the deliveries do; `of_files` is what the files need, `units` the runtime's and the
    kubelet's.
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
    return {path: data for path, data in tree.items() if path != f"/{boot.CMDLINE}"}


def _is_apart(step: Step) -> bool:
    """Whether it restarts something that the role does not."""
    return step.rule in ("tuned-profile", "irqbalance")


def _node_wright(_after: Half) -> Step:
    return RULES["nodewright-reboot"].step("Skyhook: files of its package")


def _cluster_api(after: Half) -> Step:
    """The template has a name of its own for each content."""
    name = ""
    for each in objects(after.side, after.key[0] if after.key else "").values():
        is_own = after.key and each.path.endswith(_TEMPLATE.format(after.key[1]))
        name = each.id.name if is_own else name
    return RULES["cluster-api-machines"].step("KubeadmConfigTemplate", name=name)


_MAKERS: Mapping[str, Callable[[Half], Step]] = {
    "nodeWright": _node_wright,
    "clusterApi": _cluster_api,
}
