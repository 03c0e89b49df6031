"""`cpuplan merge-check`: whether a merge would give a valid project."""

from typing import TYPE_CHECKING

import click

from cpuplan.base.text import counted
from cpuplan.cli.output import (
    fails,
    format_option,
    note,
    print_diagnostics,
    settings,
    time_limit_option,
    work_options,
)

if TYPE_CHECKING:
    from cpuplan.diagnostics import Diagnostic
    from cpuplan.git.repository import Repository
    from cpuplan.gitops.merging import Merge


@click.command()
@click.argument("ref", required=False)
@click.option("--strict", is_flag=True, help="Treat warnings as errors, except waived ones.")
@format_option
@work_options
@time_limit_option
def command(ref: str | None, strict: bool, output_format: str) -> int:
    """Say whether merging REF into the present commit (HEAD) would give a valid project.

    REF is a branch or commit; the default is the main branch. Git merges in memory: no index, work
    tree or branch changes, and only what is committed counts. Reported are inputs that both sides
    change in one place, classes whose layout both sides change, with the CPUs that both move, and
    everything that `validate` says of the merged inputs and the merged lock.

    Exit code 0: after the merge every layout is that of one of the two sides, and valid; 1: it is
    not.
    """
    from cpuplan.git.program import opened
    from cpuplan.gitops import merging
    from cpuplan.gitops import merging as snapshot

    with opened(settings().root) as repository:
        merged = merging.merge(repository, ref)
        layouts = merging.of_layouts(repository, merged)
        findings, size = list(merging.of_inputs(merged)), ""
        if not findings:  # what Git marked as a conflict cannot be read
            judged, size = _judge(repository, merged, layouts)
            findings = [*snapshot.repositories_in(repository, merged.tree), *judged]
        findings += layouts
    print_diagnostics(findings, output_format, strict=strict)
    outputs = [path for path in merged.conflicts if path.startswith("out/")]
    if outputs:
        note(f"Git cannot merge {counted(len(outputs), 'file')} of out/; `compile` writes them")
    if fails(findings, strict=strict):
        return 1
    note(f"merging {merged.ref} gives a valid project: {size}, each with a layout that a side has")
    return 0


def _judge(
    repository: "Repository", merged: "Merge", known: "list[Diagnostic]"
) -> "tuple[list[Diagnostic], str]":
    """What is wrong with the merged project beside what is `known`, and how large it is."""
    from cpuplan import pipeline
    from cpuplan.cli.workers import making
    from cpuplan.gitops import merging
    from cpuplan.gitops import merging as snapshot

    shown = f"the merge of {merged.ref}"
    with (
        snapshot.project_at(repository, merged.tree, shown) as place,
        making(is_gate=True) as how,
    ):
        project = pipeline.load(place, seconds=settings().time_limit)
        plan, findings = pipeline.judge(project, settle=True, making=how)
        findings += merging.of_moves(pipeline.moves(project, plan), known, merged.ref)
    nodes = counted(plan.number_of_nodes, "node")
    return findings, f"{nodes} in {counted(len(plan.nodes), 'class')}"
