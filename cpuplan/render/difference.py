"""What changes in a file, as diff(1) -u shows it."""

from cpuplan.render.ansi import paint

_STYLES = {"+": "added", "-": "removed", "@": "place"}


def unified(path: str, before: str | None, after: str, *, colour: bool) -> str:
    """The difference of two texts of the file at `path`; `before` is None if there is no such file
    yet.
    """
    from difflib import unified_diff

    start = "/dev/null" if before is None else path
    lines = unified_diff((before or "").splitlines(), after.splitlines(), start, path, lineterm="")
    return "".join(
        paint(line, "bold" if at < 2 else _STYLES.get(line[:1], ""), colour) + "\n"
        for at, line in enumerate(lines)
    )
