"""The entries of the tables of rules, goals and defaults."""

from cpuplan.base.text import joined
from cpuplan.language.model.rulebook import EXPERT_RULES, FIXED_RULES, GOALS
from cpuplan.plan.defaults import DEFAULTS
from cpuplan.platforms import PLATFORMS
from cpuplan.render.explain import defaults
from cpuplan.render.explain.codes import page
from cpuplan.render.explain.rows import table


def explain_rule(name: str) -> str:
    """The page of a built-in rule or a goal; KeyError for another name."""
    if name in EXPERT_RULES:
        rule = EXPERT_RULES[name]
        verb = "disable" if rule.on else "enable"
        state = "It applies unless" if rule.on else "It applies only if"
        switch = f"{state} an intent has:\n\n  rules:\n  - {{{verb}: {name}, because: ...}}"
        codes = [f"Violations are reported as {joined(rule.codes)}."] if rule.codes else []
        return page(f"rule {name}: {rule.text}", rule.about, switch, *codes)
    if name in FIXED_RULES:
        text, about = FIXED_RULES[name]
        note = "It is part of the language and cannot be switched off."
        return page(f"rule {name}: {text}", about, note)
    text, about = GOALS[name]
    note = "docs/layout.md describes the order of goals, and how an intent changes it."
    return page(f"goal {name}: {text}", about, note)


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
