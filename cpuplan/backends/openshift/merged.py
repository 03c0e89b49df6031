"""What nodes get from all MachineConfigs of their cluster together, as the machine config operator
merges them (`mco`), and what of that contradicts their own plan.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from cpuplan.backends.openshift import objects, predicted
from cpuplan.components import cmdline
from cpuplan.components.openshift import pinning, pool
from cpuplan.components.openshift.machineconfig import ROLE
from cpuplan.emit import to_json
from cpuplan.mco.errors import RenderError
from cpuplan.mco.machineconfig import DEFAULT_KERNEL, read_machine_config
from cpuplan.mco.pools import name_of
from cpuplan.mco.render import Rendered, render
from cpuplan.model.base import Model
from cpuplan.plan import ConfiguredPlan


class Source(NamedTuple):
    """A MachineConfig: of a class of cpuplan, or the one with a number in the Cluster document."""

    data: Mapping[str, Any]
    plan: ConfiguredPlan | None = None
    number: int = -1

    @property
    def intent(self) -> str:
        """The intent of its class; empty for an object of the Cluster document."""
        return self.plan.node_class.intent if self.plan else ""

    def writes(self) -> Iterator[tuple[str, str]]:
        """The files and units of the object: field and path or name."""
        config = self.data["spec"].get("config") or {}
        for index, file in enumerate((config.get("storage") or {}).get("files") or ()):
            yield f"files.{index}", file["path"]
        for index, unit in enumerate((config.get("systemd") or {}).get("units") or ()):
            yield f"units.{index}", unit["name"]


class Inherited(NamedTuple):
    """Something that nodes of a class get from an object that is not their own.

    `what` names it; `field` is the key in a MachineConfig of a Cluster document, with its index.
    """

    source: Source
    what: str
    field: str


class Pool(NamedTuple):
    """A class in its pool: the rendered MachineConfig, and the objects that it is made from."""

    plan: ConfiguredPlan
    rendered: Rendered
    sources: tuple[Source, ...]


def of_cluster(plans: Sequence[ConfiguredPlan]) -> Iterator[Pool]:
    """The pools of one cluster's classes; none on a platform without pools.

    RenderError where a pool cannot be rendered.
    """
    merging = [plan for plan in plans if _has_pool(plan)]
    if not merging:
        return
    sources = list(_sources(merging))
    by_name = {name_of(source.data): source for source in sources}
    for plan in merging:
        configs = [source.data for source in sources]
        rendered = render(_pool_object(plan), configs, _release(plan))
        if rendered is not None:
            yield Pool(plan, rendered, tuple(by_name[name] for name in rendered.order))


def _has_pool(plan: ConfiguredPlan) -> bool:
    node_class = plan.node_class
    return bool(node_class.machine_config_pool) and not node_class.target.is_hosted


def _release(plan: ConfiguredPlan) -> tuple[int, int]:
    major, _, minor = plan.node_class.target.version.partition(".")
    return int(major), int(minor)


def _pool_object(plan: ConfiguredPlan) -> dict[str, Any]:
    """The MachineConfigPool of a class; those that every cluster has select one role."""
    name = plan.node_class.target.pool or ""
    if name not in pool.BUILT_IN:
        return objects.machine_config_pool(plan)
    selector = {"matchLabels": {ROLE: name}}
    return {"metadata": {"name": name}, "spec": {"machineConfigSelector": selector}}


def _sources(plans: Sequence[ConfiguredPlan]) -> Iterator[Source]:
    """The MachineConfigs of a cluster, each name once."""
    names: set[str] = set()
    for plan in plans:
        for config in _machine_configs(plan):
            if name_of(config) not in names:
                names.add(name_of(config))
                yield Source(config, plan)
    for number, foreign in enumerate(plans[0].node_class.cluster_facts.machine_configs):
        if foreign.name not in names:
            yield Source(_foreign_object(foreign), number=number)


def _machine_configs(plan: ConfiguredPlan) -> Iterator[dict[str, Any]]:
    """The MachineConfigs of a class: cpuplan's, or those of the node tuning operator."""
    target = plan.node_class.target
    if target.is_profile:
        for manifest in predicted.manifests(plan):
            if manifest.data["kind"] == "MachineConfig":
                yield manifest.data
        return
    for pinned in pinning.pools(plan.settings.of(pinning.NAME)):
        yield objects.pinning_machine_config(pinned)
    yield objects.machine_config(plan)


def _foreign_object(foreign: Model) -> dict[str, Any]:
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
            "kernelType": facts.kernel_type,
        },
    }


def inherited(pool: Pool) -> Iterator[Inherited]:
    """What contradicts a class's own plan: boot arguments, kernel, files and units of others.

    Of other classes everything counts, of objects of a Cluster document only what the plan sets
    too. Of a file or unit with several objects, the last one counts.
    """
    own = [source for source in pool.sources if _is_own(source, pool.plan)]
    arguments = _arguments(own)
    kernel_types = {read_machine_config(source.data).kernel_type for source in own}
    written = {name for source in own for _, name in source.writes()}
    last = {name: source for source in pool.sources for _, name in source.writes()}
    for source in pool.sources:
        if source in own:
            continue
        yield from _contradicting_arguments(source, arguments)
        kernel_type = read_machine_config(source.data).kernel_type
        if kernel_type not in ("", DEFAULT_KERNEL, *kernel_types):
            yield Inherited(source, f"kernelType {kernel_type}", "kernelType")
        for field, name in source.writes():
            if last[name] is source and (source.plan or name in written):
                yield Inherited(source, name, field)


def _is_own(source: Source, plan: ConfiguredPlan) -> bool:
    """Whether an object is of the same pool: classes of one pool share its objects."""
    if source.plan is None:
        return False
    return source.plan.node_class.target.pool == plan.node_class.target.pool


def _arguments(sources: Sequence[Source]) -> dict[str, Any]:
    """The values of boot arguments, by key."""
    words = [
        word for source in sources for word in read_machine_config(source.data).kernel_arguments
    ]
    return dict(cmdline.keyed(" ".join(words)))


def _contradicting_arguments(source: Source, own: Mapping[str, Any]) -> Iterator[Inherited]:
    for index, argument in enumerate(read_machine_config(source.data).kernel_arguments):
        for key, value in cmdline.keyed(argument).items():
            is_set = key in own or cmdline.canonical(key) in cmdline.CPU_LISTS
            if (source.plan or is_set) and own.get(key) != value:
                yield Inherited(source, argument, f"kernelArguments.{index}")


def expected(pool: Pool) -> dict[str, Any]:
    """The rendered MachineConfig in short: which object each file and unit comes from."""
    made_by: dict[str, dict[str, str]] = {"files": {}, "units": {}}
    for source in pool.sources:
        for field, name in source.writes():
            made_by[field.partition(".")[0]][name] = name_of(source.data)
    return {
        "pool": pool.plan.node_class.target.pool,
        "machineConfigs": list(pool.rendered.order),
        "kernelArguments": list(pool.rendered.kernel_arguments),
        "kernelType": pool.rendered.kernel_type,
        "files": dict(sorted(made_by["files"].items())),
        "units": dict(sorted(made_by["units"].items())),
    }


def expected_files(plans: Sequence[ConfiguredPlan]) -> dict[str, bytes]:
    """Files of `expected/pools/` of one cluster, by name.

    None where an object cannot be rendered: it is reported when it is written (CP570).
    """
    try:
        pools = list(of_cluster(plans))
    except RenderError:
        return {}
    return {
        f"pools/{pool.plan.node_class.target.pool}.json": to_json(expected(pool)).encode()
        for pool in pools
    }
