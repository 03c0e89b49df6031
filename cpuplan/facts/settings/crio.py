"""CRI-O: keys of crio.conf(5); those of [crio.runtime] stand by themselves."""

from functools import partial

from cpuplan.facts.platforms import Span
from cpuplan.facts.settings.costs import Cost, Impact, Rule
from cpuplan.facts.settings.row import Row, everywhere, with_operator, without_operator

NAME = "crio"
CONFIG = Rule(
    "crio-config",
    Impact.RESTART,
    "restart of crio.service",
    "CRI-O reads neither infra_ctr_cpuset nor shared_cpuset again on a reload. Containers that "
    "run go on with the CPUs that they have.",
    "cri-o/cri-o docs/crio.conf.5.md",
    costs=Cost.CRIO_RESTART,
)
#: What the node tuning operator writes: assets/performanceprofile/configs.
_RUNTIMES_CONF = "A/configs/99-runtimes.conf"
_row = partial(Row, NAME, shown_by="crio status config", cost=CONFIG)
_handler = partial(_row, field="runtime.handler")
_nri = partial(_row, field="targets.mechanism")

MIXED_CPUS = everywhere(
    "mixed-cpus",
    "containers may use shared CPUs in addition to exclusive ones",
    off="runtime: {mixedCpus: false}",
).by("runtime.mixedCpus", "containers may use shared CPUs beside exclusive ones")
HANDLER = with_operator(
    "handler", "pods ask for CRI-O's CPU hooks by this handler, as under the node tuning operator"
)
SHARING_HANDLER = without_operator(
    "sharing-handler",
    "CRI-O gives shared CPUs only to pods of such a handler",
    off="runtime: {mixedCpus: false}",
)
EXEC_AFFINITY = with_operator(
    "exec-affinity",
    "exec probes stay off the CPUs that workloads spin on, as under the node tuning operator",
    off="runtime: {execCpuAffinity: none}",
    on="runtime: {execCpuAffinity: first}",
).by("runtime.execCpuAffinity", "exec probes stay off the CPUs that workloads spin on")
_BY_HANDLER = (HANDLER, SHARING_HANDLER)

INFRA_CTR_CPUSET = _row(
    "infra_ctr_cpuset",
    field="pools.reserved",
    defaults=(
        everywhere(
            "infra-containers",
            "pause containers and conmon run on the reserved CPUs, and not on those of pods",
        ),
    ),
    usually="the reserved CPUs",
)
SHARED_CPUSET = _row(
    "shared_cpuset",
    field="pools.shared",
    defaults=(MIXED_CPUS,),
    since=(1, 29),
    operator=Span("4.15", None, _RUNTIMES_CONF),
)
#: GOMAXPROCS of containers without exclusive CPUs: Go would count the machine's CPUs otherwise.
MIN_INJECTED_GOMAXPROCS = _row(
    "min_injected_gomaxprocs",
    defaults=(
        with_operator(
            "gomaxprocs",
            "Go programs in containers without exclusive CPUs start few threads, "
            "as under the node tuning operator",
        ),
    ),
    usually="4",
    since=(1, 36),
    operator=Span("4.22", None, _RUNTIMES_CONF),
)
#: The file that the hook of interrupts rewrites, and the one that keeps what it had.
IRQBALANCE_CONFIG_FILE = _row("irqbalance_config_file", field="targets.osFamily")
IRQBALANCE_RESTORE_FILE = _row("irqbalance_config_restore_file", field="targets.osFamily")
#: Before a handler can inherit the default runtime, it names it.
RUNTIME_PATH = _handler("runtimes.{handler}.runtime_path", defaults=_BY_HANDLER)
RUNTIME_TYPE = _handler("runtimes.{handler}.runtime_type", defaults=_BY_HANDLER)
RUNTIME_ROOT = _handler("runtimes.{handler}.runtime_root", defaults=_BY_HANDLER)
INHERIT_DEFAULT_RUNTIME = _handler(
    "runtimes.{handler}.inherit_default_runtime",
    defaults=_BY_HANDLER,
    since=(1, 32),
    operator=Span("4.18", None, _RUNTIMES_CONF),
)
EXEC_CPU_AFFINITY = _handler(
    "runtimes.{handler}.exec_cpu_affinity",
    field="runtime.execCpuAffinity",
    defaults=(*_BY_HANDLER, EXEC_AFFINITY),
    usually="first",
    since=(1, 34),
    operator=Span("4.21", None, _RUNTIMES_CONF),
)
DEFAULT_ANNOTATIONS = _handler(
    "runtimes.{handler}.default_annotations",
    defaults=_BY_HANDLER,
    since=(1, 32),
    operator=Span("4.21", None, _RUNTIMES_CONF),
)
ALLOWED_ANNOTATIONS = _handler(
    "runtimes.{handler}.allowed_annotations", defaults=(MIXED_CPUS, *_BY_HANDLER)
)
ENABLE_NRI = _nri("crio.nri.enable_nri")
#: The validator that refuses containers while the mechanism's plugin is away.
VALIDATOR = _nri("crio.nri.default_validator.nri_enable_default_validator", since=(1, 34))
REQUIRED_PLUGINS = _nri("crio.nri.default_validator.nri_validator_required_plugins", since=(1, 34))
TOLERATION = _nri(
    "crio.nri.default_validator.nri_validator_tolerate_missing_plugins_annotation", since=(1, 34)
)
