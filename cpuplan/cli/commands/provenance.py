"""`cpuplan provenance`: which inputs gave which files."""

import click

from cpuplan.cli.output import (
    divided_option,
    echo_result,
    print_diagnostics,
    script_option,
    time_limit_option,
)


@click.command()
@script_option
@divided_option
@time_limit_option
def command() -> int:
    """State which inputs gave which files of out/: an in-toto statement, as JSON.

    It names the SHA-256 of each file and each input, and the versions of cpuplan and its solver.
    `cpuplan publish` adds it to what it publishes; sign it with the tools for in-toto statements.
    out/ must be what the inputs give. Exit code 3: it is out of date.
    """
    from cpuplan.cli.compilation import compile_again, differences
    from cpuplan.gitops import provenance

    done = compile_again()
    if done is None:
        return 1
    project, compiled = done
    if stale := [*differences(project, compiled)]:
        print_diagnostics([*compiled.diagnostics, *stale])
        return 3
    echo_result(provenance.render(provenance.of(compiled.files, project.inputs)).decode())
    return 0
