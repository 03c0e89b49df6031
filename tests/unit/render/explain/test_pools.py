"""What a MachineConfigPool gets, in words."""

from cpuplan.backends import openshift
from cpuplan.backends.base import to_file
from cpuplan.backends.openshift import merged
from cpuplan.language.model.cluster import ClusterSpec
from cpuplan.plan import Kept
from cpuplan.render.explain.machine_configs import explain_machine_configs
from tests.machines.plans import no_position, plan

FOREIGN = {
    "name": "99-console",
    "labels": {"machineconfiguration.openshift.io/role": "worker"},
    "kernelArguments": ["console=ttyS0"],
    "units": ["console.service"],
}


def test_each_object_and_the_sum() -> None:
    of = plan(version="4.20")
    of.node_class.cluster_facts = ClusterSpec.model_validate({"machineConfigs": [FOREIGN]})
    (pool,) = merged.of_cluster([of])
    lines = explain_machine_configs(pool, "worker-0", no_position).splitlines()
    assert lines[:6] == [
        "worker-0 is in pool worker-cnf, whose MachineConfigs are, in the order of merging:",
        "",
        "99-console  Cluster/site-a:spec.machineConfigs.0.name",
        "    kernelType default",
        "    console=ttyS0",
        "    console.service",
    ]
    assert lines[6] == "50-performance-ran  Intent/ran:spec.targets.0.pool"
    assert lines[-1].startswith("  kernelArguments  console=ttyS0 ")


def test_what_stays_of_a_paused_class() -> None:
    """The objects are those in `out/`, whatever the intent says now."""
    before = plan(isolated="4-7", version="4.20")
    files = {
        f"clusters/site-a/manifests/{manifest.file}": to_file(manifest.data)
        for manifest in openshift.manifests(before)
    }
    now = plan(isolated="2-7", version="4.20", spec={"paused": True})
    now.kept = Kept({}, files)
    (pool,) = merged.of_cluster([now])
    text = explain_machine_configs(pool, "worker-0", no_position)
    assert "50-performance-ran  Intent/ran:spec.targets.0.pool" in text
    assert "isolcpus=managed_irq,4-7 " in text
    assert "2-7" not in text
