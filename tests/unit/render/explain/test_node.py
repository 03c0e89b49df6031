"""Why a CPU is where it is."""

import pytest

from cpuplan.base.cpuset import CpuSet
from cpuplan.diagnostics import Reason
from cpuplan.diagnostics.source import Position
from cpuplan.facts.settings.costs import Cost
from cpuplan.facts.settings.openshift import UNIT
from cpuplan.facts.settings.row import Form
from cpuplan.plan.setting import Effect, Evidence, Setting, names_cpu
from cpuplan.render.explain.reasons import explain_cpu, explain_pool, explain_setting
from cpuplan.solve.alternatives import Alternative, Difference, Moves
from tests.unit.render.plans import bare, hybrid, make_plan, regular

CORES = "Intent/ran-du:spec.pools.reserved.cores"
PLAN = make_plan(
    regular(1, 4, 2, offline=CpuSet.parse("8-9")),
    {"reserved": "0,4", "shared": "1,5", "isolated": "2-3,6-7"},
    because={
        "reserved": (
            Reason("reserved takes 1 core of the machine", CORES),
            Reason("CPU 0 stays in reserved", "rule boot-cpu"),
            Reason("the siblings of a core stay together"),
        ),
        "shared": (Reason("shared is CPUs 1,5", "Intent/gone:spec.pools.shared"),),
    },
)
SETTINGS = (
    Setting("kubelet", "reservedSystemCPUs", CpuSet.parse("0-1,4-5"), ()),
    Setting("kernel", "isolcpus", ("managed_irq", CpuSet.parse("2-3,6-7")), ()),
    Setting("kernel", "irqaffinity", CpuSet.parse("0,4"), ()),
    Setting("kernel", "nosmt", True, ()),
    Setting("irqbalance", "banned", {"cpus": CpuSet.parse("2-3"), "strict": False}, ()),
)


def locate(origin: str) -> Position | None:
    return Position("intents/ran.yaml", 14, 7) if origin == CORES else None


@pytest.mark.parametrize(
    ("cpu", "text"),
    [
        pytest.param(
            4,
            """\
CPU 4 of worker-3 is reserved.

  where  core 0, siblings 0,4
         socket 0
         NUMA node 0, 256 GiB
         cache 0, shared by 8 CPUs
  pool   reserved, 2 CPUs: 0,4

because
  reserved takes 1 core of the machine  intents/ran.yaml:14:7
  CPU 0 stays in reserved               built-in rule boot-cpu
  the siblings of a core stay together  built-in rule

settings that contain it
  kernel   irqaffinity = 0,4
  kubelet  reservedSystemCPUs = 0-1,4-5
""",
            id="reasons",
        ),
        pytest.param(
            1,
            """\
CPU 1 of worker-3 is shared.

  where  core 1, siblings 1,5
         socket 0
         NUMA node 0, 256 GiB
         cache 0, shared by 8 CPUs
  pool   shared, 2 CPUs: 1,5

because
  shared is CPUs 1,5  Intent/gone:spec.pools.shared

settings that contain it
  kubelet  reservedSystemCPUs = 0-1,4-5
""",
            id="an origin without a place",
        ),
        pytest.param(
            3,
            """\
CPU 3 of worker-3 is isolated.

  where  core 3, siblings 3,7
         socket 0
         NUMA node 0, 256 GiB
         cache 0, shared by 8 CPUs
  pool   isolated, 4 CPUs: 2-3,6-7

settings that contain it
  irqbalance  banned = cpus: 2-3, strict: false
  kernel      isolcpus = managed_irq,2-3,6-7
""",
            id="values in values",
        ),
        pytest.param(
            8, "CPU 8 of worker-3 is offline: it is in no pool.\nOffline CPUs: 8-9\n", id="offline"
        ),
        pytest.param(99, "worker-3 has no CPU 99: its CPUs are 0-7.\n", id="no such CPU"),
    ],
)
def test_explain_cpu(cpu: int, text: str) -> None:
    named = [setting for setting in SETTINGS if names_cpu(setting.value, cpu)]
    assert explain_cpu(PLAN, "worker-3", cpu, locate, named) == text


def test_explain_cpu_of_which_little_is_known() -> None:
    plan = make_plan(bare(), {"reserved": "0"})
    assert explain_cpu(plan, "worker-3", 3, locate) == (
        "CPU 3 of worker-3 is in no pool.\n\n  where  core 3, no siblings\n"
    )


def test_explain_cpu_names_the_core_type_and_flags() -> None:
    plan = make_plan(hybrid(), {"isolated": "0-8"})
    assert (
        explain_cpu(plan, "worker-3", 8, locate, SETTINGS[3:4])
        == """\
CPU 8 of worker-3 is isolated.

  where  core 8, no siblings, low power
         socket 0
         NUMA node 0, 32 GiB
  pool   isolated, 9 CPUs: 0-8

settings that contain it
  kernel  nosmt
"""
    )


ALTERNATIVES = (
    Alternative("shared not on NUMA node 0", (), (), (Reason("shared is CPUs 1,5", CORES),)),
    Alternative(
        "other CPUs in shared",
        (Difference("locality", "shared would be on 2 caches, not 1", True),),
        (
            Moves("shared", CpuSet.parse("1"), CpuSet.parse("2")),
            Moves("isolated", CpuSet.parse("2"), CpuSet()),
        ),
        (),
    ),
)


def test_explain_pool() -> None:
    assert (
        explain_pool(PLAN, "worker-3", "shared", locate, SETTINGS[:1], ALTERNATIVES)
        == """\
shared of worker-3 has 2 CPUs: 1,5.

  cores  1 whole core
  where  NUMA node 0, 256 GiB: 1,5

because
  shared is CPUs 1,5  Intent/gone:spec.pools.shared

settings that contain it
  kubelet  reservedSystemCPUs = 0-1,4-5

shared not on NUMA node 0: there is no such layout, because
  shared is CPUs 1,5  intents/ran.yaml:14:7

other CPUs in shared, at best
  worse locality  shared would be on 2 caches, not 1
  shared          loses 1, gets 2
  isolated        loses 2
"""
    )
    assert (
        explain_pool(PLAN, "worker-3", "offlined", locate) == "offlined of worker-3 has no CPU.\n"
    )


def test_explain_setting() -> None:
    better = Alternative("other CPUs", (Difference("balance", "more", False),), (), ())
    setting = SETTINGS[2]._replace(reasons=(Reason("interrupts stay away", "default"),))
    assert (
        explain_setting(setting, "worker-3", locate, ("reserved",), (better,))
        == """\
irqaffinity of kernel on worker-3 is 0,4. That is reserved.

because
  interrupts stay away  built-in default

other CPUs, at best
  better balance  more
  kept            because it is committed; `cpuplan compile --resolve` takes the better one
"""
    )
    assert (
        explain_setting(SETTINGS[3], "worker-3", locate) == "nosmt of kernel on worker-3 is set.\n"
    )


def test_where_a_setting_shows_on_the_node() -> None:
    cpus = CpuSet.parse("2-3,6-7")
    evidence = (
        Evidence("sys/devices/system/cpu/isolated", Form.CPUS, cpus),
        Evidence("sys/module/rcutree/parameters/x", Form.NUMBER, 0, "6.11"),
    )
    effect = Effect("/proc/cmdline", Cost.REBOOT, evidence)
    text = explain_setting(Setting("kernel", "isolcpus", cpus, (), effect), "node", locate)
    assert text.partition("on the node\n")[2].splitlines() == [
        "  shown by        /proc/cmdline",
        "  in force        /sys/devices/system/cpu/isolated = 2-3,6-7",
        "                  /sys/module/rcutree/parameters/x = 0, from Linux 6.11 on",
        "  a change costs  a reboot",
    ]


def test_a_change_costs_what_the_platform_does() -> None:
    effect = Effect("", Cost.KUBELET_RESTART)
    setting = Setting("kubelet", "maxPods", 100, (), effect)
    alone = explain_setting(setting, "w1", lambda _origin: None)
    assert "a change costs  a restart of the kubelet" in alone
    on_openshift = explain_setting(setting, "w1", lambda _origin: None, rule=UNIT)
    assert "a change costs  a reboot" in on_openshift
