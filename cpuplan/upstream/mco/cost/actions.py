"""What a node does after a change."""

from collections.abc import Sequence
from typing import NamedTuple


class Action(NamedTuple):
    """One step: None, Reboot, Drain, DaemonReload, Special, or Reload and Restart of a service.

    Special reloads CRI-O, and drains where registries.conf asks for it. The legacy path has `reload
    crio` and `restart crio`.
    """

    type: str
    service: str = ""


NONE, REBOOT, SPECIAL = Action("None"), Action("Reboot"), Action("Special")
RELOAD_CRIO, RESTART_CRIO = Action("reload crio"), Action("restart crio")
DRAIN = Action("Drain")


def combined(actions: Sequence[Action]) -> tuple[Action, ...]:
    """One reboot makes all a single reboot; None disappears beside others."""
    if REBOOT in actions:
        return (REBOOT,)
    others = tuple(action for action in actions if action != NONE)
    return (NONE,) if actions and not others else others
