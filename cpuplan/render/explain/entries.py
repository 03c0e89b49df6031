"""The entries of the tables of codes, rules, goals and defaults."""

from string import Formatter
from textwrap import fill

from cpuplan.codes import CODES
from cpuplan.defaults import DEFAULTS
from cpuplan.model.rulebook import EXPERT_RULES, FIXED_RULES, GOALS
from cpuplan.platforms import PLATFORMS
from cpuplan.render.explain import defaults
from cpuplan.render.explain.rows import table
from cpuplan.text import joined

_WIDTH = 88


def explain_code(code: str) -> str:
    """The page of a diagnostic code, in either case; KeyError for one that is not in the table."""
    code = code.upper()
    entry = CODES[code]
    message = f"{entry.severity}[{code}]: {wording(entry.message)}"
    help_line = f"  help: {wording(entry.remedy)}"
    return _page(f"{code}: {entry.title}", f"{message}\n{help_line}", entry.about)


def wording(template: str) -> str:
    """A wording of the table with `<name>` in the place of `{name!r}`."""
    parts = Formatter().parse(template)
    return "".join(text if name is None else f"{text}<{name}>" for text, name, _, _ in parts)


def explain_rule(name: str) -> str:
    """The page of a built-in rule or a goal; KeyError for another name."""
    if name in EXPERT_RULES:
        rule = EXPERT_RULES[name]
        verb = "disable" if rule.on else "enable"
        state = "It applies unless" if rule.on else "It applies only if"
        switch = f"{state} an intent has:\n\n  rules:\n  - {{{verb}: {name}, because: ...}}"
        codes = [f"Violations are reported as {joined(rule.codes)}."] if rule.codes else []
        return _page(f"rule {name}: {rule.text}", rule.about, switch, *codes)
    if name in FIXED_RULES:
        text, about = FIXED_RULES[name]
        note = "It is part of the language and cannot be switched off."
        return _page(f"rule {name}: {text}", about, note)
    text, about = GOALS[name]
    note = "docs/layout.md describes the order of goals, and how an intent changes it."
    return _page(f"goal {name}: {text}", about, note)


def explain_default(name: str) -> str:
    """The page of a default; KeyError for another name."""
    rows = [row for row in DEFAULTS if row.name == name]
    if not rows:
        raise KeyError(name)
    platforms = sorted(
        platform.name for platform in PLATFORMS.values() if rows[0].on.includes(platform)
    )
    settings = [(setting, row.reason) for row in rows for setting in row.settings]
    lines = [
        f"default {name}, set on {joined(platforms)} unless an intent changes it",
        "",
        *table(settings),
        "",
        defaults.HEADING,
        *table(defaults.switches(rows)),
    ]
    return "\n".join(lines) + "\n"


def _page(*parts: str) -> str:
    """Paragraphs; a text with line breaks keeps them."""
    return "\n\n".join(part if "\n" in part else fill(part, _WIDTH) for part in parts) + "\n"
