"""Mixed CPUs: the file that says how many containers may use the shared pool.

OpenShift's kubelet reads it once, at its start, and advertises
workload.openshift.io/enable-shared-cpus (openshift/kubernetes, pkg/kubelet/sharedcpus).
"""

import json
from collections.abc import Iterator, Sequence

from cpuplan.base.emit import to_json
from cpuplan.components import chosen, mixedcpus
from cpuplan.components.chosen import asked_or, stated_or, unasked
from cpuplan.components.emission import emit
from cpuplan.facts.settings import openshift as rows
from cpuplan.facts.settings.crio import MIXED_CPUS
from cpuplan.plan import NodePlan
from cpuplan.plan.setting import Setting, Value

NAME = rows.MIXED
PATH = "/etc/kubernetes/openshift-workload-mixed-cpus"


def settings(plan: NodePlan) -> Iterator[Setting]:
    """How many containers of the node may share."""
    if mixedcpus.are_used(plan):
        limit = chosen.sharing_limit(plan)
        row, text = rows.CONTAINERS_LIMIT, f"up to {limit} containers may share"
        why = stated_or(plan, text, row.field, unasked(plan, rows.LIMIT))
        yield from emit(plan, row, limit, (asked_or(plan, MIXED_CPUS), why))


def render(settings: Sequence[Setting]) -> str:
    """The file's JSON."""
    limits = {setting.key.partition(".")[2]: setting.value for setting in settings}
    return to_json({"shared_cpus": limits})


def parse(text: str) -> dict[str, Value]:
    """The keys below `shared_cpus`; none where the file has no such object."""
    data = json.loads(text)
    limits = data.get("shared_cpus") if isinstance(data, dict) else None
    if not isinstance(limits, dict):
        return {}
    return {f"shared_cpus.{key}": value for key, value in limits.items()}


def files(settings: Sequence[Setting]) -> dict[str, tuple[int, str]]:
    """(mode, text) by absolute path; none without settings."""
    return {PATH: (0o644, render(settings))} if settings else {}
