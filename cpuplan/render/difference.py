"""What changes in a file, as diff(1) -u shows it."""

from difflib import unified_diff

from cpuplan.render.ansi import paint

_STYLES = {"+": "added", "-": "removed", "@": "place"}


def unified(path: str, before: str | None, after: str, *, colour: bool) -> str:
    """The difference of two texts of the file at `path`; `before` is None for a new file."""
    start = "/dev/null" if before is None else path
    lines = unified_diff((before or "").splitlines(), after.splitlines(), start, path, lineterm="")
    text = ""
    for number, line in enumerate(lines):
        style = "bold" if number < 2 else _STYLES.get(line[:1], "")
        text += paint(line, style, colour) + "\n"
    return text
