"""`cpuplan compile`: solve the layouts and write out/, or say that it is stale."""

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from cpuplan.base.text import counted
from cpuplan.cli.output import (
    fails,
    filter_options,
    format_option,
    narrow_to,
    note,
    note_all,
    note_names,
    print_diagnostics,
    settings,
    time_limit_option,
    work_options,
)
from cpuplan.cli.workers import making, uses_cache
from cpuplan.diagnostics import CpuplanError
from cpuplan.language.read import files
from cpuplan.write import record

if TYPE_CHECKING:
    from cpuplan.diagnostics import Diagnostic
    from cpuplan.pipeline import Compiled, Project
    from cpuplan.plan import ConfiguredPlan


class _Options(NamedTuple):
    """What the command line asks of a compilation."""

    check: bool
    force: bool
    resolve: bool
    allow_removal: bool
    prune: bool
    strict: bool
    output_format: str


class _Run(NamedTuple):
    """One compilation: what was read and made."""

    project: "Project"
    compiled: "Compiled"
    diagnostics: "tuple[Diagnostic, ...]"
    #: The note of the files' digests, for `out/` and for the record.
    written: bytes

    @property
    def out(self) -> Path:
        return self.project.root / "out"


@click.command()
@click.option(
    "--check",
    is_flag=True,
    help="Write nothing; exit code 3 if out/ or the lock is out of date.",
)
@click.option("--force", is_flag=True, help="Overwrite files of out/ that were edited by hand.")
@click.option(
    "--resolve",
    is_flag=True,
    help="Solve all layouts from scratch instead of keeping locked ones, and show the gain.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Treat warnings as errors, except waived ones: nothing is written then.",
)
@click.option(
    "--allow-removal",
    is_flag=True,
    help="Accept that classes, pools or clusters that were compiled before are gone. Their layouts "
    "stay in the lock.",
)
@click.option(
    "--prune", is_flag=True, help="Remove the layouts of classes that are gone from the lock."
)
@click.option(
    "--stdout",
    is_flag=True,
    help="Write nothing: print the objects of the cluster that --cluster names, as YAML documents. "
    "The lock must be up to date.",
)
@click.option(
    "--hosting",
    is_flag=True,
    help="With --stdout: print what belongs into the cluster that hosts this one.",
)
@click.option(
    "--topologies",
    is_flag=True,
    help="With --stdout: print the NodeResourceTopology that is expected of each node of the "
    "cluster, or of each that --node names.",
)
@format_option
@filter_options
@time_limit_option
@work_options
def command(  # noqa: PLR0913, PLR0917 - the options of the command
    check: bool,
    force: bool,
    resolve: bool,
    allow_removal: bool,
    prune: bool,
    strict: bool,
    stdout: bool,
    hosting: bool,
    topologies: bool,
    output_format: str,
) -> int:
    """Solve the layouts and write out/ and intents/plan.lock.yaml, completely or not at all.

    Files in out/ that cpuplan did not write are unchanged.
    """
    if stdout:
        _check_stdout(
            check or force or resolve or allow_removal or prune or (hosting and topologies),
            output_format,
        )
        return _print(hosting=hosting, topologies=topologies, strict=strict)
    if hosting or topologies:
        raise click.UsageError("--hosting and --topologies are for --stdout")
    if settings().is_narrowed and not check:
        raise click.UsageError(
            "compile always writes everything: use --cluster and --node only with --check"
        )
    root = settings().root
    if not check:
        _finish(root / "out")
    known = None
    if not (check or force or resolve or prune or settings().time_limit) and uses_cache():
        known = record.unchanged(files.read_inputs(root), root / "out")
    if known:
        print_diagnostics(known.diagnostics, output_format, strict=strict)
        note("nothing has changed: out/ is up to date")
        return 1 if fails(known.diagnostics, strict=strict) else 0
    asked = _Options(check, force, resolve, allow_removal, prune, strict, output_format)
    try:
        return _compile_once(asked)
    except CpuplanError as error:
        if not settings().cache or any(finding.code != "CP570" for finding in error.diagnostics):
            raise
    # Files that cannot be read back are a bug, unless somebody changed what was kept.
    settings().cache = False
    return _compile_once(asked)


def _compile_once(asked: _Options) -> int:
    """Compile, then compare or write, and tell what was done."""
    from cpuplan import pipeline
    from cpuplan.cli.compilation import with_paused
    from cpuplan.diagnostics import errors
    from cpuplan.write.manifest import render_written

    project = pipeline.load(settings().root, seconds=settings().time_limit)
    narrow_to(project)
    with making(is_gate=asked.check) as how:
        compiled = pipeline.compile_project(
            project,
            resolve=asked.resolve,
            allow_removal=asked.allow_removal,
            prune=asked.prune,
            settle=not asked.check,
            making=how,
        )
    if asked.check:
        compiled = with_paused(project, compiled)
    if errors(compiled.diagnostics):
        print_diagnostics(compiled.diagnostics, asked.output_format, strict=asked.strict)
        return 1
    # What is in out/ now is about to change: this is the time to say it, and nothing that the
    # record should repeat.
    before = pipeline.check_state_files(project, compiled.plan)
    diagnostics = (*compiled.diagnostics, *before)
    if asked.strict and fails(diagnostics, strict=True):
        print_diagnostics(diagnostics, asked.output_format, strict=True)
        note("nothing was written: with --strict, warnings count as errors")
        return 1
    run = _Run(project, compiled, diagnostics, render_written(compiled.files))
    if asked.check:
        code = _check(run, asked.output_format)
    else:
        code = _write(run, asked.output_format, force=asked.force)
    _tell_changes(run, asked.resolve)
    if code:
        return code
    if uses_cache():
        _remember(run)
    return _tell_unproven(run)


def _check_stdout(with_others: bool, output_format: str) -> None:
    """Raise UsageError for options that say what is written, or print something else."""
    if with_others or output_format != "text":
        raise click.UsageError(
            "--stdout goes with --cluster, --strict, and --hosting or --topologies only"
        )


def _print(*, hosting: bool, topologies: bool, strict: bool) -> int:
    """Print objects to standard output. Raises UsageError for nodes whose objects are no own."""
    from cpuplan.cli import compilation

    if topologies:
        return compilation.print_topologies(settings().root, strict=strict)
    if settings().nodes:
        raise click.UsageError("--stdout goes with --node only if --topologies are printed")
    return compilation.print_manifests(settings().root, hosting=hosting, strict=strict)


def _finish(out: Path) -> None:
    """Finish what a killed run has begun, before its lock is read."""
    from cpuplan.write.tree import stage_of

    if stage_of(out).folder.is_dir():
        from cpuplan.write.files import finish

        finish(out)


def _tell_changes(run: _Run, resolve: bool) -> None:
    """Print which CPUs moved since the lock and why, and which nodes lost an earlier layout."""
    from cpuplan.pipeline import lock_diff

    compiled, project = run.compiled, run.project
    if not compiled.moves and resolve and project.lock:
        note("solved from scratch: no CPU moves")
    changed = lock_diff.changes(project, compiled.plan) if project.lock or project.before else []
    if not (changed or compiled.moves):
        return
    from cpuplan.render.changes import change_lines, move_lines

    moved = move_lines(compiled.moves, project.locate, every=settings().verbose)
    note_all((*moved, *change_lines(changed)))


def _tell_unproven(run: _Run) -> int:
    """The exit code 6, with a note, if this run took layouts that it could not prove best.

    Layouts that were locked as such before, and those whose finding is waived, were accepted.
    """
    waived = {name for finding in run.diagnostics if finding.waiver for name in _unproven(finding)}
    taken = [
        plan.node_class.full_name
        for plan in run.compiled.plan.nodes
        if plan.limited and not plan.limited.is_best and not _is_locked(run.project, plan)
    ]
    new = [name for name in taken if name not in waived]
    if not new:
        return 0
    note_names("not proven best within --time-limit", new)
    return 6


def _unproven(diagnostic: "Diagnostic") -> tuple[str, ...]:
    """The classes that a finding calls not proven best."""
    return diagnostic.classes if diagnostic.code == "CP322" else ()


def _is_locked(project: "Project", plan: "ConfiguredPlan") -> bool:
    """Whether the lock has this layout, with the same words on what is not proven."""
    entry = project.lock.get(plan.node_class.key)
    return entry is not None and (entry.pools, entry.limited) == (plan.layout, plan.limited)


def _remember(run: _Run) -> None:
    """Record that this project is valid with its present lock, for the next run."""
    from cpuplan.write.manifest import tree_digest

    compiled = run.compiled
    now = run.project.inputs._replace(lock=compiled.lock.encode())
    plan, tree = compiled.plan, tree_digest(run.written)
    made = record.Record(compiled.diagnostics, tree, plan.number_of_nodes, len(plan.nodes))
    record.save(now, made, run.project.documents.sources)


def _write(run: _Run, output_format: str, *, force: bool) -> int:
    from cpuplan.write.files import write_compiled

    compiled = run.compiled
    changes = write_compiled(
        run.out,
        compiled.files,
        compiled.classes,
        run.written,
        run.project.inputs,
        compiled.lock,
        force=force,
    )
    print_diagnostics(run.diagnostics, output_format)
    done = [
        f"{len(paths)} {word}"
        for word, paths in zip(changes._fields, changes, strict=True)
        if isinstance(paths, tuple) and paths
    ]
    what = ", ".join(done) or "nothing changed"
    plan = compiled.plan
    size = f"{counted(plan.number_of_nodes, 'node')} in {counted(len(plan.nodes), 'class')}"
    note(f"{size}; out/: {what}")
    paused = [node.node_class.full_name for node in plan.nodes if node.spec.paused]
    if paused:
        note_names("paused, files in out/ unchanged", paused)
    return 0


def _check(run: _Run, output_format: str) -> int:
    from cpuplan.cli.compilation import of_lock
    from cpuplan.write import emitted
    from cpuplan.write.files import compare_tree

    stale = [*of_lock(run.project, run.compiled)]
    changes, differences = compare_tree(
        run.out, run.compiled.files, run.written, run.compiled.classes
    )
    new = {path: run.compiled.files[path] for path in (*changes.added, *changes.changed)}
    if wrong := emitted.check(new):
        raise CpuplanError(wrong)
    stale += differences
    print_diagnostics([*run.diagnostics, *stale], output_format)
    if stale:
        return 3
    is_known = all(said.code != "CP6116" for said in run.diagnostics)
    note("out/ is up to date" + ("" if is_known else ", except paused classes: not proven"))
    return 0
