"""The entries of the table of codes; without models, for installations that have none."""

from string import Formatter

from cpuplan.base.text import page
from cpuplan.diagnostics.codes import CODES, DIVIDED, Code, successors


def explain_code(code: str) -> str:
    """The page of a diagnostic code, in either case; KeyError for one that is not in the table."""
    code = code.upper()
    if code in DIVIDED:
        rows = (f"  {name}  {CODES[name].title}" for name in successors(code))
        return page(f"{code}: divided", divided(code), "\n".join(rows))
    entry = CODES[code]
    message = f"{entry.severity}[{code}]: {wording(entry.message)}"
    help_line = f"  help: {wording(entry.remedy)}"
    return page(f"{code}: {entry.title}", f"{message}\n{help_line}", about(entry))


def about(entry: Code) -> str:
    """The paragraph of a code, with the one that was divided into it and others."""
    was = f" It was a part of {entry.was}, which was divided." if entry.was else ""
    return entry.about + was


def divided(code: str) -> str:
    """What is said of a code that no finding has any more."""
    return (
        f"{code} stood for unlike findings, and each has a code of its own now. A waiver of {code} "
        "is one of all of them."
    )


def wording(template: str) -> str:
    """A wording of the table with `<name>` in the place of `{name!r}`."""
    parts = Formatter().parse(template)
    return "".join(text if name is None else f"{text}<{name}>" for text, name, _, _ in parts)
