"""Text in columns."""

from collections.abc import Sequence

from cpuplan.base.printable import printable_values


def table(rows: Sequence[tuple[str, ...]]) -> str:
    """Columns as wide as they need."""
    rows = printable_values(tuple(rows))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        lines.append("  ".join(cells).rstrip() + "\n")
    return "".join(lines)
