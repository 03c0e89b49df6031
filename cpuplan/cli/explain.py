"""`cpuplan explain`: why a CPU is where it is, and what a diagnostic code means."""

import re

import click

from cpuplan.cli.output import settings
from cpuplan.diagnostics import CpuplanError, diagnose


@click.command()
@click.argument("subject", metavar="NODE|CODE")
@click.argument("cpu", required=False, type=click.IntRange(min=0))
def command(subject: str, cpu: int | None) -> int:
    """Say why CPU of NODE is in its pool, with the file and line of every statement; or what CODE means.

    \b
    cpuplan explain worker-3 17
    cpuplan explain CP213
    """
    if re.fullmatch(r"(?i)CP\d{3}", subject):
        return _explain_code(subject.upper())
    if cpu is None:
        raise click.UsageError("which CPU? Write the node and the number of a CPU: cpuplan explain worker-3 17")
    return _explain_cpu(subject, cpu)


def _explain_code(code: str) -> int:
    from cpuplan.codes import CODES
    from cpuplan.render.explain import explain_code

    if code not in CODES:
        raise click.UsageError(f"there is no code {code}; docs/diagnostics.md lists them")
    click.echo(explain_code(code), nl=False)
    return 0


def _explain_cpu(node: str, cpu: int) -> int:
    from cpuplan import components
    from cpuplan.cli.nodes import find_node, load_plan
    from cpuplan.components.setting import names_cpu
    from cpuplan.render.explain import explain_cpu

    loaded = load_plan(settings().root)
    if loaded is None:
        return 1
    project, plan = loaded
    found, name = find_node(plan, node)
    present = found.topology.online | found.topology.offline
    if cpu not in present:
        raise CpuplanError([diagnose("CP252", node=name, cpu=cpu, cpus=present)])
    named = [setting for setting in components.all_settings(found) if names_cpu(setting.value, cpu)]
    click.echo(explain_cpu(found, name, cpu, project.locate, named).rstrip("\n"))
    return 0
