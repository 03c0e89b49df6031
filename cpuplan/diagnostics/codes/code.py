"""One kind of diagnostic."""

from typing import NamedTuple


class Code(NamedTuple):
    """A kind of diagnostic. `diagnostics.diagnose` fills the gaps of its message and remedy.

    `about` is the paragraph that the documentation gives it. `was` is the code that its findings
    had before that was divided: waivers and `explain` still take it.
    """

    title: str
    message: str
    remedy: str
    about: str
    severity: str = "error"
    was: str = ""
