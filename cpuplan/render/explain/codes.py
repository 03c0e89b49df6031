"""The entries of the table of codes; without models, for installations that have none."""

from string import Formatter
from textwrap import fill

from cpuplan.diagnostics.codes import CODES

_WIDTH = 88


def explain_code(code: str) -> str:
    """The page of a diagnostic code, in either case; KeyError for one that is not in the table."""
    code = code.upper()
    entry = CODES[code]
    message = f"{entry.severity}[{code}]: {wording(entry.message)}"
    help_line = f"  help: {wording(entry.remedy)}"
    return page(f"{code}: {entry.title}", f"{message}\n{help_line}", entry.about)


def wording(template: str) -> str:
    """A wording of the table with `<name>` in the place of `{name!r}`."""
    parts = Formatter().parse(template)
    return "".join(text if name is None else f"{text}<{name}>" for text, name, _, _ in parts)


def page(*parts: str) -> str:
    """Paragraphs; a text with line breaks keeps them."""
    return "\n\n".join(part if "\n" in part else fill(part, _WIDTH) for part in parts) + "\n"
