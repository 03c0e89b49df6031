"""Units as `systemctl show` prints them."""

from cpuplan.check.services.systemd_units import parse_shown, unit_problem

TEXT = """\
Id=set-cpus-offline.service
ActiveState=active
Result=success
ExecMainStatus=0

Id=hugepages-check-1048576kB.service
ActiveState=failed
Result=exit-code
ExecMainStatus=1

Id=irqbalance.service
ActiveState=failed
Result=start-limit-hit
ExecMainStatus=0

Id=stalld.service
LoadState=masked
ActiveState=inactive

Id=cpuset-configure.service
ActiveState=inactive
Result=success
InactiveExitTimestampMonotonic=2760

Id=isolate-cpus.service
ActiveState=inactive
Result=success
InactiveExitTimestampMonotonic=0

Id=ocp-tuned-one-shot.service
ActiveState=inactive
Result=success
InactiveExitTimestampMonotonic=0
ConditionResult=no
ConditionTimestampMonotonic=17
"""


def test_problems() -> None:
    assert {name: unit_problem(unit) for name, unit in parse_shown(TEXT).items()} == {
        "set-cpus-offline.service": "",
        "hugepages-check-1048576kB.service": "it failed: exit-code, status 1",
        "irqbalance.service": "it failed: start-limit-hit",
        "stalld.service": "systemd shows it as masked",
        "cpuset-configure.service": "",
        "isolate-cpus.service": "it has not run since the node booted",
        "ocp-tuned-one-shot.service": "",
    }


def test_what_is_no_output() -> None:
    assert parse_shown("Failed to connect to bus: No such file or directory\n") == {}
