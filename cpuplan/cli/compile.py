"""`cpuplan compile`: solve the layouts and write out/, or say that it is stale."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from cpuplan.cli.output import count, fails, filter_options, format_option, narrow_to, note, print_diagnostics, settings
from cpuplan.write import inputs

if TYPE_CHECKING:
    from cpuplan.pipeline import Compiled, Project


@click.command()
@click.option(
    "--check", is_flag=True, help="Write nothing; exit code 3 if out/ or the lock is not what they should be."
)
@click.option("--force", is_flag=True, help="Overwrite files of out/ that were edited by hand.")
@click.option(
    "--resolve",
    is_flag=True,
    help="Solve all layouts afresh instead of keeping locked ones, and say what is gained.",
)
@click.option("--strict", is_flag=True, help="Warnings count as errors, but for waived ones: nothing is written then.")
@format_option
@filter_options
def command(check: bool, force: bool, resolve: bool, strict: bool, output_format: str) -> int:
    """Solve the layouts and write out/ and intents/plan.lock.yaml: whole, or not at all.

    Files of out/ that cpuplan did not write are left alone.
    """
    if settings().is_narrowed and not check:
        raise click.UsageError("compile always writes everything: --cluster and --node are for --check")
    root = settings().root
    out = root / "out"
    if not (check or force or resolve) and inputs.unchanged(root, out) and inputs.is_intact(out):
        print_diagnostics([], output_format)
        note("nothing has changed: out/ is what the inputs give")
        return 0
    from cpuplan import pipeline
    from cpuplan.diagnostics import errors

    project = pipeline.load(root)
    narrow_to(project)
    compiled = pipeline.compile_project(project, resolve=resolve)
    if errors(compiled.diagnostics):
        print_diagnostics(compiled.diagnostics, output_format)
        return 1
    compiled.files[inputs.RECORD] = inputs.record(
        root, pipeline.LOCK_PATH, compiled.lock, warnings=bool(compiled.diagnostics)
    )
    # What is in out/ now is about to change: this is the time to say it, and nothing that the record should repeat.
    before = pipeline.check_state_files(project, compiled.plan)
    compiled = compiled._replace(diagnostics=(*compiled.diagnostics, *before))
    if strict and fails(compiled.diagnostics, strict=True):
        print_diagnostics(compiled.diagnostics, output_format, strict=True)
        note("nothing is written: with --strict, warnings count as errors")
        return 1
    finish = _check if check else _write
    code = finish(root, out, compiled, output_format, force)
    _tell_moves(project, compiled, resolve)
    return code


def _tell_moves(project: "Project", compiled: "Compiled", resolve: bool) -> None:
    """Which CPUs are elsewhere than in the lock, and why."""
    if not compiled.moves:
        if resolve and project.lock:
            note("solved afresh: no CPU moves")
        return
    from cpuplan.render import moves

    for line in moves.lines(compiled.moves, project.locate):
        note(line)


def _write(root: Path, out: Path, compiled: "Compiled", output_format: str, force: bool) -> int:
    from cpuplan import pipeline
    from cpuplan.write.files import write_file, write_tree

    # The tree first: if it is refused, the lock stays; killed in between, the next run solves the same layouts again.
    changes = write_tree(out, compiled.files, force=force)
    write_file(root / pipeline.LOCK_PATH, compiled.lock)
    print_diagnostics(compiled.diagnostics, output_format)
    nodes = sum(len(each.node_class.nodes) for each in compiled.plan.nodes)
    done = [
        f"{len(paths)} {word}"
        for word, paths in zip(changes._fields, changes, strict=True)
        if isinstance(paths, tuple) and paths
    ]
    what = ", ".join(done) if done else "nothing changed"
    note(f"{count(nodes, 'node')} in {count(len(compiled.plan.nodes), 'class')}; out/: {what}")
    return 0


def _check(root: Path, out: Path, compiled: "Compiled", output_format: str, _force: bool) -> int:
    from cpuplan import pipeline
    from cpuplan.diagnostics import diagnose
    from cpuplan.write.files import compare_tree

    stale = []
    lock = root / pipeline.LOCK_PATH
    if not lock.exists() or lock.read_text() != compiled.lock:
        stale.append(diagnose("CP620", path=pipeline.LOCK_PATH))
    record = out / inputs.RECORD
    if record.is_file():
        # A comment in an intent changes the digest of the inputs and nothing else: that is not stale.
        compiled.files[inputs.RECORD] = record.read_bytes()
    _, differences = compare_tree(out, compiled.files)
    stale += differences
    print_diagnostics([*compiled.diagnostics, *stale], output_format)
    if stale:
        return 3
    note("out/ is up to date")
    return 0
