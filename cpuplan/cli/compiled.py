"""A compilation that must agree with the lock and with out/ as they are."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cpuplan.base.progress import stage
from cpuplan.cli.output import narrow_to, print_diagnostics, settings

if TYPE_CHECKING:
    from cpuplan.diagnostics import Diagnostic
    from cpuplan.pipeline import Compiled, Project


@stage("compiling")
def compile_again(output_format: str = "") -> "tuple[Project, Compiled] | None":
    """The project, and what it gives, from nothing but its inputs; None if it has errors.

    What is to be said of it is printed.
    """
    from cpuplan import pipeline
    from cpuplan.cli.workers import workers
    from cpuplan.diagnostics import errors
    from cpuplan.pipeline.perclass.making import Making

    project = pipeline.load(settings().root, seconds=settings().time_limit)
    narrow_to(project)
    with workers() as who:
        compiled = with_paused(project, pipeline.compile_project(project, making=Making(who)))
    if errors(compiled.diagnostics):
        print_diagnostics(compiled.diagnostics, output_format)
        return None
    return project, compiled


def with_paused(project: "Project", compiled: "Compiled") -> "Compiled":
    """What was compiled, with what is to be said of files that stay although nothing gives them."""
    if not any(node.kept for node in compiled.plan.nodes):
        return compiled
    from cpuplan.gitops.premerge import paused

    said = paused.check(project, compiled.plan)
    return compiled._replace(diagnostics=(*compiled.diagnostics, *said))


def differences(project: "Project", compiled: "Compiled") -> "Iterator[Diagnostic]":
    """What `compile` would change: of the lock (CP620), and of out/ (CP602, CP603, CP608 ...)."""
    from cpuplan.write.files import compare_tree

    yield from of_lock(project, compiled)
    yield from compare_tree(project.root / "out", compiled.files)[1]


def of_lock(project: "Project", compiled: "Compiled") -> "Iterator[Diagnostic]":
    """CP620 for a lock that `compile` would change."""
    from cpuplan.diagnostics import diagnose
    from cpuplan.diagnostics.source import Position
    from cpuplan.fleet import lock
    from cpuplan.language.read.inputs import LOCK_PATH

    if not lock.is_same(project.inputs.lock, compiled.lock):
        yield diagnose("CP620", Position(LOCK_PATH, 0, 0), path=LOCK_PATH)
