"""What programs set at run time: sysctls, masks of the kernel's work, and TuneD."""

from collections.abc import Iterator

from cpuplan.base.cpuset import CpuSet
from cpuplan.components.host import sysctl
from cpuplan.facts.settings.host import shown_in
from tests.mutation.image import Content
from tests.mutation.mutation import Case, Mutation, named
from tests.mutation.values import other_cpus, other_word

_VERDICT = (
    "Verification failed, current system settings differ from the preset profile.\n"
    "You can mostly fix this by restarting the TuneD daemon, e.g.:\n"
)
WORKQUEUE = "sys/devices/virtual/workqueue/cpumask"


def mutations(case: Case) -> Iterator[Mutation]:
    """Of each that the plan says."""
    for setting in case.expected.settings.of(sysctl.NAME):
        path = shown_in(setting.key)
        text = case.image.text(path)
        if text is not None:
            about = f"{named(setting.key)}|{path}"
            changes = {path: f"{other_word(text.strip())}\n"}
            yield Mutation("running", f"sysctl {setting.key}", changes, about)
        later = {"etc/sysctl.d/99-zzzz-site.conf": f"{setting.key} = 12345\n"}
        yield Mutation("running", f"a later file sets {setting.key}", later, named(setting.key))
    text = case.image.text(WORKQUEUE)
    planned = case.expected.settings.of("workqueue")
    if text and (planned or case.expected.settings.values("kernel").get("nohz_full")):
        isolated = case.expected.cpus("isolated CPUs")
        mask = (CpuSet.parse_mask(text) | isolated).short_mask()
        yield Mutation("running", "workqueue mask", {WORKQUEUE: f"{mask}\n"}, "workqueue")
    yield from _tuned(case)
    yield from _steering(case)


def _tuned(case: Case) -> Iterator[Mutation]:
    """Another profile, by hand, and what TuneD says of its own work."""
    if not case.expected.settings.of("tuned"):
        return
    path, about = "etc/tuned/active_profile", "[Tt]une[Dd]"
    if case.image.text(path):
        other: dict[str, Content] = {path: "throughput-performance\n"}
        yield Mutation("running", "another profile of TuneD", other, about)
    for name in ("cpuplan/tuned-verify", "cpuplan/tuned-adm-verify"):
        if case.image.text(name):
            failed: dict[str, Content] = {name: _VERDICT}
            yield Mutation("running", "TuneD's verdict", failed, about)


def _steering(case: Case) -> Iterator[Mutation]:
    path = "proc/sys/net/core/rps_default_mask"
    text = case.image.text(path)
    if text and case.expected.settings.of("rps"):
        mask = other_cpus(CpuSet.parse_mask(text), case.expected.topology.online).short_mask()
        yield Mutation("running", "RPS default mask", {path: f"{mask}\n"}, "rps")
