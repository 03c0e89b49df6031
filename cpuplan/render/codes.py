"""The documentation of diagnostic codes, made from their table: one page in Markdown, one code in
the terminal.
"""

from string import Formatter

from cpuplan.codes import CODES, Code

STAGES = {
    "1": "Reading",
    "2": "Intents and inventories",
    "3": "Topology",
    "4": "Solving",
    "5": "Components and targets",
    "6": "Writing",
    "7": "Simulation",
    "8": "The node differs",
    "9": "A bug",
}


def reference() -> str:
    """docs/diagnostics.md: every code, ascending; the anchor of CP102 is `#cp102`."""
    parts = [
        "# Diagnostics",
        "Every message has a code, and a code never changes its meaning.",
        "`cpuplan explain CP102` prints an entry of this page. `<name>` stands for a value.",
    ]
    stage = ""
    for code in sorted(CODES):
        if code[2] != stage:
            stage = code[2]
            parts.append(f"## {STAGES[stage]}")
        parts.append(_entry(code, CODES[code]))
    return "\n\n".join(parts) + "\n"


def wording(template: str) -> str:
    """A wording of the table with `<name>` in the place of `{name!r}`."""
    return "".join(
        f"{text}<{name}>" if name is not None else text
        for text, name, _, _ in Formatter().parse(template)
    )


def _entry(code: str, entry: Code) -> str:
    return (
        f"### {code}\n\n**{entry.title}** ({entry.severity})\n\n"
        f"```text\n{entry.severity}[{code}]: {wording(entry.message)}\n  help: {wording(entry.remedy)}\n```\n\n"
        f"{entry.about}"
    )
