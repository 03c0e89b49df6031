"""Text of a node as the kernel and systemd write it: lines, and numbers of bounded length.

Python's own `int`, `isdecimal`, `splitlines` and `strip` know digits of all scripts, underscores
and a dozen line ends, and refuse numbers of 4,300 digits: whoever can name a process, a control
group or a file could make a text say something else here than on the node.
"""

from cpuplan.base.patterns import expression

#: A number of 64 bits has 20 digits.
_NATURAL = expression(r"[0-9]{1,20}")
_INTEGER = expression(r"-?(?:[0-9]{1,20}|(0x)[0-9a-fA-F]{1,16})")
_SECONDS = expression(r"([0-9]{1,18})(?:\.[0-9]{1,18})?")
_BLANKS = " \t\n"


def natural(text: str) -> int | None:
    """A number of the digits 0 to 9, with blanks around it; None for anything else."""
    match = _NATURAL.fullmatch(text.strip(_BLANKS))
    return int(match[0]) if match else None


def integer(text: str) -> int | None:
    """The same, perhaps with a minus sign, or as `0x1f`."""
    match = _INTEGER.fullmatch(text.strip(_BLANKS))
    return int(match[0], 16 if match[1] else 10) if match else None


def seconds(text: str) -> float | None:
    """A time such as `1234.56`; None for anything else."""
    return float(text) if _SECONDS.fullmatch(text) else None


def lines(text: str) -> list[str]:
    """The lines of a text, without their ends."""
    split = text.replace("\r\n", "\n").split("\n")
    if not split[-1]:
        split.pop()
    return split
