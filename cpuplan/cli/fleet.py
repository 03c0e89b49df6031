"""How commands report what they checked of many nodes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cpuplan.base.progress import stage
from cpuplan.cli.observed import exit_code
from cpuplan.cli.output import echo_result, note, print_diagnostics, settings
from cpuplan.plan.expected.evidence import SOMETHING, Threshold
from cpuplan.render.answers.fleet import (
    Checked,
    by_class,
    coverage,
    distinct,
    findings,
    groups,
    sentence,
    unproven,
)

if TYPE_CHECKING:
    from cpuplan.cli.statements import Statements
    from cpuplan.diagnostics import Diagnostic


def report(
    checked: Sequence[Checked],
    statements: "Statements",
    output_format: str,
    *,
    with_coverage: bool = False,
    problems: "Sequence[Diagnostic]" = (),
    threshold: Threshold = SOMETHING,
) -> int:
    """Print the findings by what differs, and return the exit code.

    `problems` are about what was not looked at.
    """
    from cpuplan.cli.observed import observed

    with stage("summing up"):
        named = distinct(checked)
        found = groups(named)
        listed = findings(named, found, verbose=settings().verbose)
        unseen = [*problems, *unproven(named, threshold, verbose=settings().verbose)]
        listed = observed([*unseen, *listed], statements)
    if output_format == "json":
        from cpuplan.cli.report import Reporter
        from cpuplan.render.answers import fleet_json

        full = Reporter(settings(), listed, strict=True).report
        echo_result(fleet_json.render(checked, found, full, threshold))
    elif output_format == "junit":
        from cpuplan.render.answers import junit

        echo_result(junit.render(checked, unseen))
    elif output_format == "prometheus":
        from cpuplan.render.answers import prometheus

        echo_result(prometheus.render(each for each in checked if each.is_node))
    else:
        print_diagnostics(listed, output_format)
    if with_coverage and output_format == "text":
        echo_result(coverage(named))
    if output_format == "text":
        classes = by_class(named, every=settings().verbose, threshold=threshold)
        if classes:
            echo_result(classes)
    note(sentence(named, threshold))
    return exit_code(listed)
