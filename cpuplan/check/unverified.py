"""Settings that no step answered on: held in their file, or not verifiable here."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from cpuplan.check.subject import name
from cpuplan.components import containerd, crio, kubelet
from cpuplan.plan.expected.evidence import FILE, FILES, Answer, Verdict
from cpuplan.plan.expected.state import Expected
from cpuplan.plan.setting import Setting

#: Programs of a node, whose steps answer on each of their settings if there is anything to read.
_PROGRAMS = (kubelet.NAME, crio.NAME, containerd.NAME)
_NOT_SHOWN = "nothing that was read here shows it"


def unverified(expected: Expected, given: Sequence[Answer], reason: str = "") -> Iterator[Answer]:
    """An answer on each setting that has none among those that were given.

    A `reason` says why no more was read.
    """
    by_fact = {answer.fact: answer for answer in given}
    for setting in expected.settings:
        if name(setting) not in by_fact:
            paths = _files(setting, expected)
            left = _open(setting, reason, has_files=bool(paths))
            yield _in_files(setting, paths, by_fact) or left


def _files(setting: Setting, expected: Expected) -> list[str]:
    """The files that have a setting: the one of its name, or all of its component."""
    own = [path for path, file in expected.files.items() if file.component == setting.component]
    named = [path for path in own if path == setting.key or path.endswith(f"/{setting.key}")]
    return named or own


def _in_files(
    setting: Setting, paths: Iterable[str], by_fact: Mapping[str, Answer]
) -> Answer | None:
    """Held where each file is as it was compiled; with the finding of the first that is not."""
    by_path = [by_fact.get(f"{FILE}{path}", by_fact.get(FILES)) for path in paths]
    answered = [answer for answer in by_path if answer]
    if not answered or len(answered) < len(by_path):
        return None
    order = (Verdict.DIFFERS, Verdict.UNVERIFIABLE, Verdict.HELD)
    worst = min(answered, key=lambda answer: order.index(answer.verdict))
    return worst._replace(fact=name(setting))


def _open(setting: Setting, reason: str, *, has_files: bool) -> Answer:
    """No step has read it: of what neither a file nor a program of the node has, none can."""
    shown_by = setting.effect.shown_by if setting.effect else ""
    not_read = f"{shown_by} shows it, which is not read" if shown_by else _NOT_SHOWN
    reason = reason or not_read
    is_of_node = has_files or shown_by.startswith("/") or setting.component in _PROGRAMS
    fact, verdict = name(setting), Verdict.UNVERIFIABLE
    return Answer(fact, verdict, "", reason=reason, is_unshown=not is_of_node)
