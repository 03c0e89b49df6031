"""The report of a command: its findings, with what the command line says about them."""

from collections.abc import Iterable, Sequence
from typing import IO, Any

import click

from cpuplan.cli.folders import Names
from cpuplan.cli.options import Settings
from cpuplan.diagnostics import Diagnostic
from cpuplan.files import Unreadable, read_regular
from cpuplan.render import formats
from cpuplan.render.formats import text
from cpuplan.render.formats.report import Report, ordered
from cpuplan.render.grouping import grouped


class Reporter:
    """Writes the findings of one command in any format."""

    def __init__(
        self, settings: Settings, diagnostics: Iterable[Diagnostic], *, strict: bool = False, finished: bool = True
    ) -> None:
        self.names = Names(settings.root)
        every = list(diagnostics)
        here = [each for each in every if settings.scope is None or settings.scope.has(each)]
        found = here if settings.verbose else grouped(here)
        context = click.get_current_context(silent=True)
        self.report = Report(
            ordered(found),
            self.names.in_repository,
            command=(context and context.info_name) or "cpuplan",
            strict=strict,
            finished=finished,
            verbose=settings.verbose,
            elsewhere=len(every) - len(here),
        )

    def text(self, stream: IO[str] | Any, *, colour: bool) -> str:
        """For people; on a terminal, paths are as they see them."""
        report = self.report._replace(shown=self.names.from_here) if stream.isatty() else self.report
        return text.render(report, colour=colour, read_lines=self._lines)

    def document(self, output_format: str) -> str:
        """For a program, or a file."""
        if output_format == "text":
            return text.render(self.report, read_lines=self._lines)
        return formats.render(output_format, self.report)

    def notices(self, output_format: str) -> list[str]:
        """What whoever reads the format will not be shown."""
        report = self.report
        found = [formats.notice(output_format, report)]
        if report.elsewhere:
            found.append(f"{report.elsewhere} more elsewhere, which --cluster or --node leaves out")
        return [text for text in found if text]

    def _lines(self, path: str) -> Sequence[str]:
        place, root = self.names.place(path), self.names.root
        try:
            data = read_regular(place, within=root if place.startswith(f"{root}/") else None)
        except Unreadable:
            return ()
        return data.decode("utf-8-sig", errors="replace").splitlines()
