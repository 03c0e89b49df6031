"""Terminal colours (ECMA-48 SGR). They only add: every text must be complete without them."""

#: The basic sixteen colours, so that a terminal's own theme holds. Pools: blue, yellow and cyan differ to every kind of
#: colour blindness in hue or in brightness.
STYLES = {
    "error": "1;31",
    "warning": "1;33",
    "note": "1;36",
    "place": "34",
    "added": "32",
    "removed": "31",
    "bold": "1",
    "dim": "2",
    "reserved": "97;44",
    "shared": "30;43",
    "isolated": "30;46",
    "offlined": "97;100",
    "offline": "2",
}


def paint(text: str, style: str, colour: bool) -> str:
    """`text` in a style of STYLES; unchanged without colour, and for a style that is not in the table."""
    if not colour or not text or style not in STYLES:
        return text
    return f"\x1b[{STYLES[style]}m{text}\x1b[0m"
