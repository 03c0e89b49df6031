"""Objects and files for clusters in which the DRA CPU driver gives CPUs to containers.

The driver itself comes by its chart: once for each class, since each has its reserved CPUs. What
the chart is given, and templates of claims and pods, which belong into the namespaces of their
workloads, are files beside the objects.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from cpuplan.backends.base import NODE_WAVE, Files, Manifest, metadata, to_file
from cpuplan.backends.dra import policies
from cpuplan.base.emit import to_yaml
from cpuplan.components.dra import claims, classes, driver, names, pods
from cpuplan.plan import ConfiguredPlan, NodeClass

#: Below the folder of a cluster in `out/`.
FOLDER = "dra"


def are_in(plans: Sequence[ConfiguredPlan]) -> list[ConfiguredPlan]:
    """The plans whose pods get their CPUs from the driver."""
    return [plan for plan in plans if plan.node_class.target.has_dra]


def node_labels(node_class: NodeClass) -> dict[str, str]:
    """The label by which the driver and pods find the nodes of a class."""
    return {names.CLASS_LABEL: node_class.name} if node_class.target.has_dra else {}


def manifests(plan: ConfiguredPlan) -> Iterator[Manifest]:
    """The DeviceClass of each partition."""
    for setting in plan.settings.of(classes.NAME):
        data = classes.document(setting)
        data["metadata"] = metadata(setting.key, NODE_WAVE)
        yield Manifest(f"20-deviceclass-{setting.key}.yaml", data)


def cluster_manifests(plans: Sequence[ConfiguredPlan]) -> Iterator[Manifest]:
    """The policies that guard partitions, once for a cluster."""
    yield from policies.manifests(are_in(plans))


def files(plans: Sequence[ConfiguredPlan], going: Sequence[ConfiguredPlan]) -> Files:
    """The files of a cluster by path below its folder: of its classes that are not paused."""
    members = are_in(plans)
    made: Files = {}
    for plan in are_in(going):
        of_class = _files(plan, is_first=plan is members[0])
        made |= {f"{plan.node_class.name}/{path}": data for path, data in of_class.items()}
    return made


def _files(plan: ConfiguredPlan, *, is_first: bool) -> Files:
    settings = plan.settings.of(driver.NAME)
    made = {"values.yaml": to_file(driver.values(plan, settings))}
    if driver.reads_file(plan):
        made["config.yaml"] = driver.render(settings).encode()
    if patches := list(_patches(plan, is_first=is_first)):
        component = {"apiVersion": "kustomize.config.k8s.io/v1alpha1", "kind": "Component"}
        made["kustomization.yaml"] = to_file({**component, "patches": patches})
    for setting in plan.settings.of(claims.NAME):
        made[f"templates/{setting.key}.yaml"] = to_file(claims.document(setting))
    for workload in plan.spec.workloads:
        if claims.demands_of(workload):
            made[f"pods/{workload.name}.yaml"] = to_file(pods.template(plan, workload))
    return made


def _patches(plan: ConfiguredPlan, *, is_first: bool) -> Iterator[dict[str, Any]]:
    """What the chart renders and must not: pods on other nodes, a second class of its name."""
    if not driver.reads_file(plan):
        path = "/spec/template/spec/nodeSelector"
        chosen = [{"op": "add", "path": path, "value": driver.selector(plan)}]
        yield {"target": {"kind": "DaemonSet"}, "patch": to_yaml(chosen)}
    if not is_first:
        removed = {
            "$patch": "delete",
            "apiVersion": names.API_VERSION,
            "kind": classes.KIND,
            "metadata": {"name": names.GENERAL},
        }
        target = {"kind": classes.KIND, "name": names.GENERAL}
        yield {"target": target, "patch": to_yaml(removed)}
