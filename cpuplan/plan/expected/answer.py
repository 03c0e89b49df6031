"""What `check` says of each fact: it holds, it differs, or nothing here shows it."""

from enum import Enum
from typing import NamedTuple

from cpuplan.diagnostics import Diagnostic
from cpuplan.plan.setting import Cost


class Verdict(Enum):
    HELD = "held"
    DIFFERS = "differs"
    UNVERIFIABLE = "not verifiable here"


class Heals(Enum):
    """What makes a fact as it should be, once its cause is mended."""

    LIVE = "live"
    RESTART = "restart"
    REBOOT = "reboot"


_HEALS = {
    Cost.NOTHING: Heals.LIVE,
    Cost.SYSTEMD_RELOAD: Heals.LIVE,
    Cost.REBOOT: Heals.REBOOT,
}


def heals_by(cost: Cost) -> Heals:
    """How a setting whose change costs this comes into force."""
    return _HEALS.get(cost, Heals.RESTART)


class Answer(NamedTuple):
    """The answer on one fact."""

    #: `<component> <key>` of a setting, or words: `machine NUMA nodes`.
    fact: str
    verdict: Verdict
    #: The path that was read, as shown, or a command.
    evidence: str
    expected: str = ""
    observed: str = ""
    #: Why a fact cannot be verified.
    reason: str = ""
    #: Of a fact that cannot be verified: no node shows it to who reads its files.
    is_unshown: bool = False
    #: Of a fact that differs.
    finding: Diagnostic | None = None
    heals: Heals | None = None
    #: The statement that the fact comes from, as `Kind/name:field`.
    origin: str = ""
