"""docs/diagnostics.md: the table of diagnostic codes."""

from cpuplan.diagnostics.codes import CODES, DIVIDED, Code, successors
from cpuplan.render.explain.codes import about, divided, wording

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


def page() -> str:
    """Every code, ascending; the anchor of CP102 is `#cp102`."""
    parts = [
        "# Diagnostics",
        "Every message has a code, and a code never changes its meaning.",
        "`cpuplan explain CP102` prints an entry of this page. `<name>` stands for a value.",
    ]
    stage = ""
    for code in sorted({*CODES, *DIVIDED}, key=in_order):
        if code[2] != stage:
            stage = code[2]
            parts.append(f"## {STAGES[stage]}")
        parts.append(_entry(code, CODES[code]) if code in CODES else _divided(code))
    return "\n\n".join(parts) + "\n"


def in_order(code: str) -> tuple[str, int]:
    """By stage, then by number: a stage that used up its two digits goes on with three."""
    return code[2], int(code[3:])


def _entry(code: str, entry: Code) -> str:
    message = f"{entry.severity}[{code}]: {wording(entry.message)}"
    text = f"{message}\n  help: {wording(entry.remedy)}"
    head = f"### {code}\n\n**{entry.title}** ({entry.severity})"
    return f"{head}\n\n```text\n{text}\n```\n\n{about(entry)}"


def _divided(code: str) -> str:
    rows = (f"- [{name}](#{name.lower()}): {CODES[name].title}" for name in successors(code))
    return "\n".join((f"### {code}\n\n**divided**\n\n{divided(code)}\n", *rows))
