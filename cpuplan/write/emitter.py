"""ruamel's writer, but for what a quoted text has as escapes: only imported where a file is
rewritten.
"""

from io import StringIO
from typing import Any

from ruamel.yaml.emitter import RoundTripEmitter

from cpuplan.printable import printable_lines


class Emitter(RoundTripEmitter):
    """Leaves what is invisible or turns the text's direction escaped, where ruamel would write it
    as it is.
    """

    def write_double_quoted(self, text: Any, split: Any = True) -> None:
        """A text in double quotes."""
        written, self.stream = self.stream, StringIO()
        super().write_double_quoted(text, split)
        quoted, self.stream = self.stream.getvalue(), written
        self.stream.write(printable_lines(quoted))
