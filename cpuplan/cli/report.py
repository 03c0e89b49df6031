"""The report of a command: its findings, with what the command line says about them."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import IO, Any

import click

from cpuplan.base.files import Unreadable, read_regular
from cpuplan.cli.folders import Names
from cpuplan.cli.options import Settings
from cpuplan.diagnostics import Diagnostic
from cpuplan.render.diagnostics import notice, render, text
from cpuplan.render.diagnostics.report import Report, grouped, ordered


class Reporter:
    """Writes the findings of one command in any format."""

    def __init__(
        self,
        settings: Settings,
        diagnostics: Iterable[Diagnostic],
        *,
        strict: bool = False,
        finished: bool = True,
    ) -> None:
        self.settings, self.names = settings, Names(settings.root)
        every = list(diagnostics)
        self.here = [
            finding for finding in every if settings.scope is None or settings.scope.has(finding)
        ]
        context = click.get_current_context(silent=True)
        self.report = self._calling_files(
            self.names.in_repository,
            Report(
                command=(context and context.info_name) or "cpuplan",
                strict=strict,
                finished=finished,
                verbose=settings.verbose,
                elsewhere=len(every) - len(self.here),
            ),
        )

    def _calling_files(self, shown: Callable[[str], str], report: Report) -> Report:
        """The report with what `shown` makes of paths, in messages about whole files too."""
        findings = [_renamed(finding, self.settings.root, shown) for finding in self.here]
        return report._replace(
            diagnostics=ordered(findings if report.verbose else grouped(findings)), shown=shown
        )

    def text(self, stream: IO[str] | Any, *, colour: bool) -> str:
        """For people; on a terminal, paths are as they see them."""
        report = self.report
        if stream.isatty():
            report = self._calling_files(self.names.from_here, report)
        return text.render(report, colour=colour, read_lines=self._lines)

    def document(self, output_format: str) -> str:
        """For a program, or a file."""
        if output_format == "text":
            return text.render(self.report, read_lines=self._lines)
        return render(output_format, self.report)

    def notices(self, output_format: str) -> list[str]:
        """What whoever reads the format will not be shown."""
        report = self.report
        sentences = [notice(output_format, report)]
        if report.elsewhere:
            sentences.append(f"{report.elsewhere} more, excluded by --cluster or --node")
        return [text for text in sentences if text]

    def _lines(self, path: str) -> Sequence[str]:
        place, root = self.names.place(path), self.names.root
        if path in self.settings.private:
            return ()
        try:
            data = read_regular(place, within=root if place.startswith(f"{root}/") else None)
        except Unreadable:
            return ()
        return data.decode("utf-8-sig", errors="replace").splitlines()


def _renamed(finding: Diagnostic, root: Path, shown: Callable[[str], str]) -> Diagnostic:
    """What is said of a whole file calls it as the writer of the output folder did."""
    if finding.position is None or finding.position.line:
        return finding
    path = finding.position.path
    called = next((name for name in (str(root / path), path) if name in finding.message), path)
    return finding._replace(message=finding.message.replace(called, shown(path), 1))
