"""Whether a program runs, as processes, systemd or its control group show."""

from collections.abc import Iterator

from cpuplan.check.programs.command import Program, command
from cpuplan.check.services import programs, shown
from cpuplan.check.subject import Subject
from cpuplan.plan.expected.answer import Answer, Heals

_RESTARTING = "auto-restart"
_SERVICES = "sys/fs/cgroup/system.slice"


def runs(subject: Subject, program: Program) -> Iterator[Answer]:
    """CP828: a program whose unit failed, is being restarted, or has no process."""
    fact = f"{program.name} runs"
    found = command(subject, program)
    path, state = _state(subject, program.unit)
    if found and found.process and _RESTARTING not in state:
        yield subject.held(fact, found.path)
    elif state:
        yield _differs(subject, fact, path, program, state)
    elif found is None:
        reason = f"neither its process nor a {program.unit} that starts it is here"
        yield subject.unverifiable(fact, path, reason)
    elif programs.are_known(subject):
        yield _differs(subject, fact, found.path, program, "no process of it exists")
    else:
        yield subject.unverifiable(fact, path, "not all processes of the node are here")


def _state(subject: Subject, unit: str) -> tuple[str, str]:
    """What systemctl's captured output, or the control group, says against the unit, and where."""
    path, units = shown.captured(subject.root)
    properties = units.get(unit, {})
    if properties.get("LoadState") == "not-found":
        return path, f"{unit} is not installed"
    state, detail = properties.get("ActiveState", ""), properties.get("SubState", "")
    if detail == _RESTARTING or state in ("failed", "inactive"):
        result = properties.get("Result", "")
        return path, f"{unit} is {state} ({detail}), result {result or 'unknown'}"
    group = f"{_SERVICES}/{unit}/cgroup.procs"
    if subject.root.read(group) == "":
        return group, f"the control group of {unit} has no process"
    return path, ""


def _differs(subject: Subject, fact: str, path: str, program: Program, state: str) -> Answer:
    return subject.differs(
        fact,
        "CP828",
        path,
        observed=state,
        expected="running",
        heals=Heals.RESTART,
        program=program.called,
        unit=program.unit,
    )
