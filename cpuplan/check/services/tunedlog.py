"""What TuneD says: the verdict of `tuned-adm verify`, and its log since a profile was loaded."""

import re
from typing import NamedTuple

from cpuplan.base import nodetext

#: The beginnings of the sentence of `tuned-adm verify` (tuned/admin/admin.py).
_SUCCEEDED, _FAILED = "Verification succeeded", "Verification failed"
_LOADING = "tuned.profiles.loader: loading profile"
_VERIFYING = "verifying profile"
_LINE = re.compile(r"\S+ \S+ (?P<level>[A-Z]+) +(?P<logger>tuned\S*): (?P<text>.*)\Z")
#: tuned/consts.py: STR_VERIFY_PROFILE_FAIL and its kin.
_DIFFERS = "verify: failed: "
_NO_PROFILE = ("Cannot load profile", "Cannot find profile", "Cannot set initial profile")
_NO_PLUGIN = "failed to initialize plugin "


class Log(NamedTuple):
    """What the log says of the profile that was loaded last."""

    profile: str
    #: Plugins that could not be loaded, so that none of their options holds.
    lost: tuple[str, ...]
    #: What the last verification found: `'x' = '1', expected '2'`.
    failed: tuple[str, ...]
    #: Why no profile could be loaded; "" if one was.
    refused: str = ""


def verdict(text: str) -> bool | None:
    """Whether `tuned-adm verify` succeeded; None for what is not its output."""
    if _SUCCEEDED in text:
        return True
    return False if _FAILED in text else None


def log(text: str) -> Log:
    """The log since the last profile was loaded, or since the log was begun."""
    profile = refused = ""
    lost: list[str] = []
    failed: list[str] = []
    for line in nodetext.lines(text):
        match = _LINE.match(line)
        if match is None:
            continue
        said = match["text"]
        if _LOADING in line:
            profile, refused = said.rpartition(": ")[2].strip(), ""
            lost, failed = [], []
        elif said.startswith(_VERIFYING):
            failed = []
        elif said.startswith(_NO_PLUGIN) and match["level"] == "ERROR":
            lost.append(said.removeprefix(_NO_PLUGIN).strip())
        elif match["level"] == "ERROR" and any(text in said for text in _NO_PROFILE):
            refused = said
        elif said.startswith(_DIFFERS):
            failed.append(said.removeprefix(_DIFFERS).strip())
    return Log(profile, tuple(dict.fromkeys(lost)), tuple(dict.fromkeys(failed)), refused)
