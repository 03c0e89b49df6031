"""Terminal colours (ECMA-48 SGR). They only add: every text must be complete without them."""

import re

from cpuplan.base.printable import inert_in_logs, printable_lines

#: The basic sixteen colours, so that a terminal's own theme holds. Pools: blue, yellow and cyan
#: differ to every kind of colour blindness in hue or in brightness.
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
    "isolcpus": "30;47",
    "offlined": "97;100",
    "offline": "2",
}
#: Partitions of isolated: its cyan, greens, underlined and bold, to have some with eight colours.
_PARTITIONS = (
    "30;42 30;106 30;102 4;30;46 4;30;42 4;30;106 4;30;102 "
    "1;30;46 1;30;42 1;30;106 1;30;102 1;4;30;46"
)
#: Containers with exclusive CPUs: magenta and red, which no pool has.
_OWNERS = "97;45 97;41 30;105 30;101 4;97;45 4;97;41"
STYLES |= {f"partition{number}": style for number, style in enumerate(_PARTITIONS.split())}
STYLES |= {f"owner{number}": style for number, style in enumerate(_OWNERS.split())}


def paint(text: str, style: str, colour: bool) -> str:
    """`text`, printable, in a style of STYLES; plain without colour and for another style."""
    text = printable_lines(text)
    if not colour or not text or style not in STYLES:
        return text
    return f"\x1b[{STYLES[style]}m{text}\x1b[0m"


def on_terminal(text: str, *, colour: bool, has_own_commands: bool = False) -> str:
    """All that is printed, without terminal controls except for the colours of STYLES.

    Nor does it tell a CI system to do something, unless it `has_own_commands`.
    """
    text = inert_in_logs(text, has_own_commands=has_own_commands)
    if not colour:
        return printable_lines(text)
    codes = "|".join({"0", *STYLES.values()})
    parts = re.split(f"(\x1b\\[(?:{codes})m)", text)  # every second one is a colour
    parts[::2] = map(printable_lines, parts[::2])
    return "".join(parts)
