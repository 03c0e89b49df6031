"""What a node of a pool does, in steps: the actions of the machine config operator's port."""

from collections.abc import Iterator, Sequence

from cpuplan.change.impact.impact import Impact, Step
from cpuplan.change.impact.rules.differences import listed
from cpuplan.change.impact.rules.openshift.causes import Cause
from cpuplan.change.impact.rules.table import RULES
from cpuplan.upstream.mco.apihelpers import DRAIN, NONE, REBOOT, RESTART_CRIO, SPECIAL, Action
from cpuplan.upstream.mco.update import Change, Update

#: Actions that are not Restart, by what they do.
_DOES = {
    NONE: (Impact.LIVE, "nothing restarts: the files are written"),
    DRAIN: (Impact.DRAIN, "drain"),
    SPECIAL: (Impact.LIVE, "reload of crio.service"),
    RESTART_CRIO: (Impact.RESTART, "restart of crio.service"),
}


def steps(change: Change, causes: Sequence[Cause], origin: str = "") -> Iterator[Step]:
    """The steps of one change of a pool; none where its nodes get the same.

    `origin` is the statement behind its files and units.
    """
    impact = change.impact
    problem = change.refusal or (impact.refusal if impact else None)
    if problem:
        yield RULES["mco-irreconcilable"].step(_changed(change), problem=str(problem))
    elif impact and impact.update and impact.sections:
        yield from _of_update(change, impact.update, causes, origin)


def _of_update(
    change: Change, update: Update, causes: Sequence[Cause], origin: str
) -> Iterator[Step]:
    if update.error:
        yield RULES["mco-node-stops"].step(_changed(change), problem=str(update.error))
    if REBOOT in update.actions:
        first = next(iter(causes), None)
        rule = first.rule if first else RULES["mco-file"]
        because = "; ".join(cause.because for cause in causes) or _changed(change)
        first_origin = next((cause.origin for cause in causes if cause.origin), "")
        certain = any(cause.rule.is_certain for cause in causes) or rule.is_certain
        yield rule.step(because, first_origin)._replace(is_certain=certain)
        return
    actions = update.actions
    if update.drain and DRAIN not in actions:
        actions = (DRAIN, *actions)
    for action in dict.fromkeys(actions):
        worth, does = _does(action)
        yield RULES["mco-policy"].step_of(worth, _changed(change), origin, does=does)


def _does(action: Action) -> tuple[Impact, str]:
    if action in _DOES:
        return _DOES[action]
    if action.type == "DaemonReload":
        return Impact.LIVE, "systemctl daemon-reload"
    if action.type == "Restart":
        return Impact.RESTART, f"restart of {action.service}"
    return Impact.LIVE, f"reload of {action.service or 'crio.service'}"


def _changed(change: Change) -> str:
    """What differs, in words."""
    impact = change.impact
    if impact is None:
        return "the rendered MachineConfig"
    return listed((*impact.files, *impact.units)) or listed(impact.sections) or "Ignition config"
