"""Warnings that the project's Waivers take out of the count.

What is found here does not depend on the day: a waived finding has the last day of its waiver, and
each waiver has a finding (CP295) for the time after it. `diagnostics.as_of` takes what counts on a
day.
"""

from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase

from cpuplan.base.text import did_you_mean
from cpuplan.diagnostics import Diagnostic, Severity, Waiver, diagnose, errors
from cpuplan.language.model.operations import WaiverSpec
from cpuplan.language.read.documents import Document, Documents

#: What is said of waivers themselves.
_OWN = ("CP294", "CP295", "CP296")


def waive(diagnostics: Iterable[Diagnostic], documents: Documents) -> list[Diagnostic]:
    """The diagnostics, which know their fields, with the matching waiver that holds longest."""
    rules = [rule for _, _, rule in _rules(documents)]
    return [_waived(finding, rules) for finding in diagnostics] if rules else list(diagnostics)


def _waived(finding: Diagnostic, rules: Iterable[WaiverSpec]) -> Diagnostic:
    fitting = [
        rule for rule in rules if finding.severity is Severity.WARNING and _fits(rule, finding)
    ]
    if not fitting:
        return finding
    longest = max(fitting, key=lambda rule: rule.expires)
    return finding._replace(waiver=Waiver(longest.reason, longest.expires))


def check(diagnostics: Sequence[Diagnostic], documents: Documents) -> Iterator[Diagnostic]:
    """What is to say of the waivers themselves, given everything that was found.

    One for an error is an error (CP294). One that matches nothing is reported (CP296) if all was
    looked at: with errors, a later stage may not have been, and pods and hosts are no part of the
    judgement.
    """
    looked_at_all = not (errors(diagnostics) or documents.broken)
    for document, index, rule in _rules(documents):
        place = document.at("waivers", index, "code")
        if problem := _unwaivable(rule.code):
            yield diagnose("CP294", place, waived=rule.code, problem=problem[0], hint=problem[1])
            continue
        where = rule.at or rule.files
        at_day = document.at("waivers", index, "expires")
        expired = diagnose("CP295", at_day, waived=rule.code, where=where, expires=rule.expires)
        yield expired._replace(after=rule.expires)
        if (
            looked_at_all
            and rule.code[2] not in "78"
            and not any(_fits(rule, finding) for finding in diagnostics)
        ):
            yield diagnose(
                "CP296", place, waived=rule.code, where=where, hint=_absent(rule, documents)
            )


def _rules(documents: Documents) -> Iterator[tuple[Document, int, WaiverSpec]]:
    for document in documents.of_kind("Waivers"):
        for index, rule in enumerate(document.spec.waivers):
            yield document, index, rule


def _unwaivable(code: str) -> tuple[str, str] | None:
    """Why findings of a code cannot be waived, and what to do."""
    from cpuplan.diagnostics.codes import CODES, successors

    severities = {CODES[name].severity for name in successors(code)}
    if not severities:
        return "there is no such code", did_you_mean(code, CODES)
    if code in _OWN:
        return "it reports on waivers", "correct or remove the waiver that it reports"
    if "warning" not in severities:
        return f"it is {'an error' if 'error' in severities else 'a note'}", "remove the waiver"
    return None


def _fits(rule: WaiverSpec, finding: Diagnostic) -> bool:
    from cpuplan.diagnostics.codes import CODES

    if rule.code not in (finding.code, CODES[finding.code].was) or finding.position is None:
        return False
    if rule.files:
        return fnmatchcase(finding.position.path, rule.files)
    document, _, path = (rule.at or "").partition(":")
    of, _, field = finding.field.partition(":")
    return of == document and (not path or field == path or field.startswith(f"{path}."))


def _absent(rule: WaiverSpec, documents: Documents) -> str:
    """What is perhaps wrong with the place of a waiver that matches nothing."""
    if not rule.at:
        return "remove it, or correct its files"
    kind, _, name = rule.at.partition(":")[0].partition("/")
    if (kind, name) not in documents.by_name:
        names = [f"{kind}/{name}" for kind, name in documents.by_name if kind != "Waivers"]
        return f"there is no {kind}/{name}: {did_you_mean(f'{kind}/{name}', names)}"
    return "remove it, or correct its place: `cpuplan validate -v` names the field of each finding"
