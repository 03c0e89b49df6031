"""The table of promises in docs/mechanisms.md, from the data that `simulate --with` prints."""

from cpuplan.simulate.mechanisms import MECHANISMS, PROMISES, RELEASES
from tests.projects import REPOSITORY

PATH = "docs/mechanisms.md"
_START, _END = "<!-- promises -->\n", "<!-- end of promises -->"


def page() -> str:
    """The page with the table of now."""
    text = (REPOSITORY / PATH).read_text()
    head, _, rest = text.partition(_START)
    _, _, tail = rest.partition(_END)
    return f"{head}{_START}{_table()}{_END}{tail}"


def _table() -> str:
    heads = " | ".join(MECHANISMS)
    lines = [f"| promise | {heads} |", "|---" * (len(MECHANISMS) + 1) + "|"]
    for promise in PROMISES:
        cells = " | ".join(promise.held[mechanism].text for mechanism in MECHANISMS)
        lines.append(f"| {promise.title} | {cells} |")
    releases = ", ".join(dict.fromkeys(RELEASES.values()))
    return "\n".join([*lines, "", f"As of {releases}.", ""])
