"""Objects of OpenShift, where the recorded ones say nothing of them."""

from cpuplan.backends.openshift import objects
from cpuplan.model.intent import Target


def test_a_pool_takes_the_machine_configs_of_its_profile() -> None:
    """Those of the role in machineConfigLabel too, where that is not the pool's name."""
    target = Target(
        platform="openshift",
        version="4.20",
        pool="cnf.v2",
        machine_config_label={objects.ROLE: "worker-cnf"},
    )
    (selected,) = objects.machine_config_pool(target)["spec"]["machineConfigSelector"][
        "matchExpressions"
    ]
    assert selected == {
        "key": objects.ROLE,
        "operator": "In",
        "values": ["worker", "cnf.v2", "worker-cnf"],
    }
    plain = objects.machine_config_pool(Target(platform="openshift", version="4.20", pool="cnf"))
    assert plain["spec"]["machineConfigSelector"]["matchExpressions"][0]["values"] == [
        "worker",
        "cnf",
    ]
