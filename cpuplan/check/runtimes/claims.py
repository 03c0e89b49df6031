"""The CPUs of claims, as the DRA CPU driver tells the container runtime: files of CDI.

Nothing else on a node shows what the driver gives out. Its configuration is in the cluster.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from cpuplan.base.cpuset import EMPTY, CpuSet, cpus_text
from cpuplan.base.foreign import read_json
from cpuplan.check.subject import Subject
from cpuplan.components.dra import driver, resource_slices
from cpuplan.plan.expected.evidence import Answer
from cpuplan.plan.setting import Setting
from cpuplan.upstream.dra.api import ENVIRONMENT

#: /var/run is a link to it; the driver writes a file for each claim.
FOLDER = "run/cdi"
_PREFIX, _SUFFIX = "dra.k8s.io-cpu_claim-", ".json"
FACT = "CPUs of claims"


class _Claim(NamedTuple):
    uid: str
    path: str
    cpus: CpuSet


def given_out(subject: Subject) -> Iterator[Answer]:
    """CP687 for a claim with CPUs that are not to be claimed, or that another claim has."""
    settings = subject.expected.settings
    if not settings.of(driver.NAME):
        return
    paths = list(_paths(subject))
    if not paths:
        yield subject.unverifiable(FACT, FOLDER, "no claim has CPUs here")
        return
    planned = settings.values(resource_slices.NAME).get(resource_slices.CPUS)
    allowed = planned if isinstance(planned, CpuSet) else EMPTY
    problems = list(_problems(subject, paths, allowed))
    yield from problems
    if not problems:
        yield subject.held(FACT, paths[0])


def _paths(subject: Subject) -> Iterator[str]:
    for name in subject.root.names(FOLDER):
        if name.startswith(_PREFIX) and name.endswith(_SUFFIX):
            yield f"{FOLDER}/{name}"


def _problems(subject: Subject, paths: list[str], allowed: CpuSet) -> Iterator[Answer]:
    taken: dict[int, str] = {}
    for path in paths:
        claim = _read(subject, path)
        if claim is None:
            yield subject.unverifiable(FACT, path, "the file has no CPUs of a claim")
            continue
        if foreign := claim.cpus - allowed:
            yield _differs(subject, claim, _not_for_claims(foreign), allowed)
        if others := sorted({taken[cpu] for cpu in claim.cpus if cpu in taken}):
            common = CpuSet(cpu for cpu in claim.cpus if cpu in taken)
            problem = f"claim {others[0]} has {cpus_text(common)} too"
            yield _differs(subject, claim, problem, allowed)
        taken |= dict.fromkeys(claim.cpus, claim.uid)


def _not_for_claims(cpus: CpuSet) -> str:
    return f"{cpus_text(cpus)} {'is' if len(cpus) == 1 else 'are'} not for claims"


def _read(subject: Subject, path: str) -> _Claim | None:
    """The claim of a file; None where it tells of no CPUs."""
    try:
        data = read_json(subject.root.read(path) or "")
        (variable,) = _variables(data)
        name, _, text = variable.partition("=")
        return _Claim(name.removeprefix(f"{ENVIRONMENT}_"), path, CpuSet.parse(text))
    except ValueError:
        return None


def _variables(data: Any) -> list[str]:
    """Variables of containers that get one of a file's devices."""
    variables: list[str] = []
    devices = data.get("devices") if isinstance(data, dict) else None
    for device in devices if isinstance(devices, list) else ():
        edits = device.get("containerEdits") if isinstance(device, dict) else None
        given = edits.get("env") if isinstance(edits, dict) else None
        variables += [
            variable for variable in given or () if str(variable).startswith(f"{ENVIRONMENT}_")
        ]
    return variables


def _differs(subject: Subject, claim: _Claim, problem: str, allowed: CpuSet) -> Answer:
    settings: list[Setting] = list(subject.expected.settings.of(resource_slices.NAME))
    return subject.differs(
        FACT,
        "CP687",
        claim.path,
        observed=str(claim.cpus),
        expected=str(allowed),
        labels=subject.labels(settings[0].reasons),
        claim=claim.uid,
        problem=problem,
    )
