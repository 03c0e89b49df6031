"""The files that settings name as evidence, with another value of their form."""

import re
from collections.abc import Iterator

from cpuplan.base.cpuset import CpuSet
from cpuplan.plan.setting import Evidence, Setting
from tests.mutation.mutation import Case, Mutation, named
from tests.mutation.values import other_text


def mutations(case: Case) -> Iterator[Mutation]:
    """One for each file that the node has."""
    for setting in case.expected.settings:
        for evidence in setting.effect.evidence if setting.effect else ():
            text = case.image.text(evidence.path)
            if text is not None:
                yield from _of_evidence(case, setting, evidence, text)


def _of_evidence(case: Case, setting: Setting, evidence: Evidence, text: str) -> Iterator[Mutation]:
    path, online = evidence.path, case.expected.topology.online
    about = f"{named(setting.key)}|{path}"
    changed = {path: _changed(evidence, text, online)}
    yield Mutation("evidence", f"{setting.component} {setting.key}: {path}", changed, about)


def _changed(evidence: Evidence, text: str, online: CpuSet) -> str:
    """The text with another value; of a thread's status, its CPUs."""
    if evidence.path.endswith("/status"):
        return re.sub(r"(?m)^Cpus_allowed_list:.*$", f"Cpus_allowed_list:\t{online}", text)
    return f"{other_text(evidence.form, text, online)}\n"
