"""What nodes get from all MachineConfigs of their cluster, those of paused classes with them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from cpuplan.backends.base import Files, Key
from cpuplan.backends.openshift import objects
from cpuplan.base import yaml_values
from cpuplan.base.emit import to_json
from cpuplan.components import kubelet
from cpuplan.components.derived import RENDERED
from cpuplan.components.openshift import pinning, pool
from cpuplan.components.openshift.machineconfig import ROLE, WORKER
from cpuplan.facts import versions
from cpuplan.facts.settings.kubelet import SYSTEM_RESERVED
from cpuplan.facts.settings.openshift import KERNEL_TYPE, POOL_SELECTOR
from cpuplan.language.model.base import Model
from cpuplan.plan import ConfiguredPlan
from cpuplan.plan.setting import Value
from cpuplan.upstream.mco.common import RenderError
from cpuplan.upstream.mco.controller_helpers import Generated
from cpuplan.upstream.mco.kubelet_config_controller import KUBELET_CONF, NODE_SIZING
from cpuplan.upstream.mco.machineconfig import MachineConfig, MachineConfigs, read_machine_config
from cpuplan.upstream.mco.render_controller import Rendered, render

_FOLDERS = ("/manifests/", "/expected/operator/")
_PROFILE = "/manifests/10-performanceprofile-"


def has_none_kept(plan: ConfiguredPlan) -> bool:
    """Whether a class is paused and nothing was compiled of it."""
    return plan.spec.paused and not _files(plan)


def kept_objects(plan: ConfiguredPlan, kind: str) -> list[dict[str, Any]]:
    """The objects of a kind that a paused class has, and those that operators make of its own."""
    kept: list[dict[str, Any]] = []
    for path, data in sorted(_files(plan).items()):
        name = path.rpartition("/")[2]
        if kind.lower() in name and any(folder in path for folder in _FOLDERS):
            kept += [
                item for item in yaml_values.load_yaml11(data.decode()) if item["kind"] == kind
            ]
    return kept


def is_profile(plan: ConfiguredPlan) -> bool:
    """Whether the node tuning operator makes the objects of a class, paused or not."""
    if not plan.spec.paused:
        return plan.node_class.target.is_profile
    return any(_PROFILE in path for path in _files(plan))


def _files(plan: ConfiguredPlan) -> Mapping[str, bytes]:
    return plan.kept.files if plan.kept else {}


class Source(NamedTuple):
    """A MachineConfig: of a class of cpuplan, or of the object at `place` in a Cluster document.

    `is_kubelet` of what the machine config operator writes of a KubeletConfig.
    """

    data: Mapping[str, Any]
    config: MachineConfig  # what the operator reads of it
    plan: ConfiguredPlan | None = None
    place: str = ""
    is_kubelet: bool = False

    @classmethod
    def read(cls, data: Mapping[str, Any], **origin: Any) -> "Source":
        """An object with its `plan` or `place`."""
        return cls(data, read_machine_config(data), **origin)

    @property
    def intent(self) -> str:
        """The intent of its class; empty for an object of the Cluster document."""
        return self.plan.node_class.intent if self.plan else ""

    def writes(self) -> Iterator[tuple[str, str]]:
        """The files and units of the object: field and path or name."""
        for field, name, _ in self.entries():
            yield field, name

    def entries(self) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
        """The same with all that Ignition gets of them."""
        config = self.data["spec"].get("config") or {}
        for index, file in enumerate((config.get("storage") or {}).get("files") or ()):
            yield f"files.{index}", file["path"], file
        for index, unit in enumerate((config.get("systemd") or {}).get("units") or ()):
            yield f"units.{index}", unit["name"], unit


class Pool(NamedTuple):
    """A class in its pool: the rendered MachineConfig, and the objects that it is made from."""

    plan: ConfiguredPlan
    rendered: Rendered
    sources: tuple[Source, ...]


def of_cluster(plans: Sequence[ConfiguredPlan]) -> Iterator[Pool]:
    """The pools of one cluster's classes; none on a platform without pools.

    RenderError where a pool cannot be rendered.
    """
    pools, error = _merged(tuple(plans))
    yield from pools
    if error:
        raise error


@lru_cache(maxsize=256)
def _merged(plans: tuple[ConfiguredPlan, ...]) -> tuple[list[Pool], RenderError | None]:
    """The pools up to the first one that cannot be rendered; made once for checks and output."""
    merging = [plan for plan in plans if has_pool(plan) and not has_none_kept(plan)]
    sources = list(_sources(merging)) if merging else []
    configs = MachineConfigs(source.config for source in sources)
    by_name = {source.config.name: source for source in sources}
    pools: list[Pool] = []
    for plan in merging:
        release = versions.from_text(plan.node_class.target.version)
        try:
            rendered = render(pool_object(plan), configs, release)
        except RenderError as error:
            return pools, error
        if rendered is not None:
            pools.append(Pool(plan, rendered, tuple(by_name[name] for name in rendered.order)))
    return pools, None


def has_pool(plan: ConfiguredPlan) -> bool:
    """Whether the nodes of a class are in a MachineConfigPool."""
    node_class = plan.node_class
    return bool(node_class.machine_config_pool) and not node_class.target.is_hosted


def pool_object(plan: ConfiguredPlan) -> dict[str, Any]:
    """The MachineConfigPool of a class; those that every cluster has select one role."""
    name = plan.node_class.target.pool or ""
    if name not in pool.BUILT_IN:
        made = kept_objects(plan, "MachineConfigPool")
        return made[0] if made else objects.machine_config_pool(plan)
    selector = {"matchLabels": {ROLE: name}}
    return {"metadata": {"name": name}, "spec": {POOL_SELECTOR.key: selector}}


def _sources(plans: Sequence[ConfiguredPlan]) -> Iterator[Source]:
    """The MachineConfigs of a cluster, each name once."""
    names: set[str] = set()
    for source in (*_own_sources(plans), *_foreign_sources(plans)):
        if source.config.name not in names:
            names.add(source.config.name)
            yield source


def _own_sources(plans: Sequence[ConfiguredPlan]) -> Iterator[Source]:
    for plan in plans:
        for config in machine_configs(plan):
            yield Source.read(config, plan=plan)
        fields = {setting.key for setting in plan.settings.of(kubelet.NAME)}
        config = _kubelet_object(plan.node_class.target.pool or "", fields)
        yield Source.read(config, plan=plan, is_kubelet=True)


def _foreign_sources(plans: Sequence[ConfiguredPlan]) -> Iterator[Source]:
    """The objects of a Cluster document; of KubeletConfigs those for workers without a class."""
    facts = plans[0].node_class.cluster_facts
    for number, config in enumerate(facts.machine_configs):
        yield Source.read(foreign_object(config), place=f"machineConfigs.{number}")
    for number, kubelet_config in enumerate(facts.kubelet_configs):
        if kubelet_config.machine_config_pool_selector.selects(pool.built_in_labels(WORKER)):
            place = f"kubeletConfigs.{number}.name"
            yield Source.read(_kubelet_object(WORKER), place=place, is_kubelet=True)


def _kubelet_object(pool_name: str, fields: Collection[str] = ()) -> dict[str, Any]:
    """What the machine config operator writes of a KubeletConfig with these fields."""
    paths = [KUBELET_CONF]
    if any(field.startswith(f"{SYSTEM_RESERVED.head}.") for field in fields):
        paths.append(NODE_SIZING)
    name = f"99-{pool_name}-generated-kubelet"
    return Generated(name, pool_name, {}).as_object() | {"spec": _kubelet_spec(tuple(paths))}


@lru_cache
def _kubelet_spec(paths: tuple[str, ...]) -> dict[str, Any]:
    """The same in all pools, and one value for all of them."""
    spec: dict[str, Any] = Generated("", "", dict.fromkeys(paths, "")).as_object()["spec"]
    return spec


def machine_configs(plan: ConfiguredPlan) -> Iterator[dict[str, Any]]:
    """The MachineConfigs of a class: cpuplan's, or those of the node tuning operator."""
    target = plan.node_class.target
    if plan.spec.paused:
        yield from kept_objects(plan, "MachineConfig")
        return
    if target.is_profile:
        for manifest in objects.predicted_manifests(plan):
            if manifest.data["kind"] == "MachineConfig":
                yield manifest.data
        return
    for pinned in pinning.pools(plan.settings.of(pinning.NAME)):
        yield objects.pinning_machine_config(pinned)
    yield objects.machine_config(plan)


def foreign_object(foreign: Model) -> dict[str, Any]:
    """A MachineConfig of a Cluster document, with files and units whose contents are not known."""
    facts: Any = foreign
    files = [{"path": path, "contents": {"source": "data:,"}} for path in facts.files]
    config = {
        "ignition": {"version": objects.IGNITION},
        "storage": {"files": files},
        "systemd": {"units": [{"name": name} for name in facts.units]},
    }
    return {
        "metadata": {"name": facts.name, "labels": facts.labels},
        "spec": {
            "config": config,
            "kernelArguments": list(facts.kernel_arguments),
            KERNEL_TYPE.key: facts.kernel_type,
            "extensions": list(facts.extensions),
        },
    }


def expected(pool: Pool) -> dict[str, Any]:
    """The rendered MachineConfig in short: which object each file and unit comes from."""
    made_by: dict[str, dict[str, str]] = {"files": {}, "units": {}}
    for source in pool.sources:
        for field, name in source.writes():
            made_by[field.partition(".")[0]][name] = source.config.name
    return {
        "pool": pool.plan.node_class.target.pool,
        "machineConfigs": list(pool.rendered.order),
        "kernelArguments": list(pool.rendered.kernel_arguments),
        KERNEL_TYPE.key: pool.rendered.kernel_type,
        "files": dict(sorted(made_by["files"].items())),
        "units": dict(sorted(made_by["units"].items())),
    }


def expected_files(plans: Sequence[ConfiguredPlan]) -> dict[Key, Files]:
    """Files of `expected/pools/` of the classes of one cluster; those of a pool have the same."""
    files: dict[Key, Files] = {}
    for of_pool in _rendered_pools(plans):
        node_class = of_pool.plan.node_class
        if not of_pool.plan.spec.paused:
            path = f"pools/{node_class.target.pool}.json"
            files[node_class.key] = {path: to_json(expected(of_pool)).encode()}
    return files


def rendered_facts(plans: Sequence[ConfiguredPlan]) -> dict[tuple[str, str], dict[str, Value]]:
    """The fact of each class that is in a pool, by the class's key."""
    pools = _rendered_pools(plans)
    return {pool.plan.node_class.key: {RENDERED: rendered_fact(pool)} for pool in pools}


def _rendered_pools(plans: Sequence[ConfiguredPlan]) -> list[Pool]:
    """None where an object cannot be rendered: it is reported when it is written (CP570)."""
    try:
        return list(of_cluster(plans))
    except RenderError:
        return []


def rendered_fact(pool: Pool) -> Value:
    """The parts of the rendered object that compiled objects determine.

    `machineConfigs` are these objects. Files are by path, with their modes; units by name, with
    whether they are enabled. Those of which another object has the last word are left out.
    """
    own = [source for source in pool.sources if source.plan and not source.is_kubelet]
    last = {name: source for source in pool.sources for _, name in source.writes()}
    config = pool.rendered.config
    files = config.get("storage", {}).get("files") or ()
    units = config.get("systemd", {}).get("units") or ()
    return {
        "pool": pool.plan.node_class.target.pool or "",
        "machineConfigs": tuple(source.config.name for source in own),
        "kernelArguments": pool.rendered.kernel_arguments,
        KERNEL_TYPE.key: pool.rendered.kernel_type,
        "files": {
            file["path"]: int(file["mode"]) for file in files if _is_of(last[file["path"]], own)
        },
        "units": {
            unit["name"]: bool(unit.get("enabled"))
            for unit in units
            if _is_of(last[unit["name"]], own)
        },
    }


def _is_of(source: Source, own: Sequence[Source]) -> bool:
    return any(source is other for other in own)
