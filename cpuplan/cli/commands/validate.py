"""`cpuplan validate`: everything that is wrong with the inventories and intents, in one run."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cpuplan.base.text import counted, joined
from cpuplan.cli.output import (
    fails,
    filter_options,
    format_option,
    narrow_to,
    note,
    print_diagnostics,
    settings,
    time_limit_option,
    work_options,
)
from cpuplan.cli.workers import making, uses_cache
from cpuplan.facts.settings.host import CONFIG_DIR
from cpuplan.language.read import files as inputs
from cpuplan.write import record

if TYPE_CHECKING:
    from cpuplan.cli.node_files import NodeFiles
    from cpuplan.diagnostics import Diagnostic
    from cpuplan.pipeline import Project
    from cpuplan.plan import Plan


@click.command()
@click.argument("files", nargs=-1, type=click.Path(exists=True, path_type=Path))
@format_option
@filter_options
@work_options
@click.option("--strict", is_flag=True, help="Treat warnings as errors, except waived ones.")
@click.option(
    "--target",
    "targets",
    metavar="PLATFORM/VERSION",
    multiple=True,
    help="Release for which files of nodes are checked: kubernetes/1.33 or openshift/4.20 for "
    "those of the kubelet and CRI-O, containerd/2.1 for containerd's, koordinator/1.8 for pods, "
    "nodes and configuration of Koordinator. Can be repeated.  [default: that of the project's "
    "targets if they have only one, otherwise the newest]",
)
@click.option(
    CONFIG_DIR.key,
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help=f"The kubelet's {CONFIG_DIR.key}: its drop-ins (*.conf) are merged over the "
    "KubeletConfiguration in FILES, and the result is checked.",
)
@click.option(
    "--crio",
    "crio_folder",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="CRI-O's configuration, such as a copy of /etc/crio: crio.conf and everything below "
    "crio.conf.d are read as CRI-O reads them, also without a project.",
)
@click.option(
    "--containerd",
    "containerd_path",
    metavar="PATH",
    type=click.Path(exists=True, path_type=Path),
    help="containerd's configuration: its config.toml, or a copy of /etc/containerd with it. All "
    "that it imports is read as containerd reads it, also without a project.",
)
@click.option(
    "--against",
    metavar="REF",
    help="Report only findings that the project did not have in this commit, such as origin/main. "
    "They are compared by code and field, whatever lines they are in.",
)
@time_limit_option
def command(  # noqa: PLR0913, PLR0917 - one for each option
    files: tuple[Path, ...],
    output_format: str,
    strict: bool,
    targets: tuple[str, ...],
    config_dir: Path | None,
    crio_folder: Path | None,
    containerd_path: Path | None,
    against: str | None,
) -> int:
    """Report everything that is wrong with the project, and whether every node has a layout.

    FILES (or folders) are read in addition to those of the project: intents, or unmodified
    PerformanceProfiles of OpenShift's node tuning operator, with other objects of their cluster,
    such as MachineConfigs, KubeletConfigs and rendered Policies. All YAML and JSON files of a
    folder are read; objects of other kinds are left alone. KubeletConfigurations are checked as the
    kubelet does at startup, also without a project, and objects of Koordinator as its programs read
    them: pods, nodes, ClusterColocationProfiles and its ConfigMaps. NodeResourceTopologies are
    checked as the API server and schedulers read them.

    Exit code 0: nothing is wrong; 1: something is. With --against, something that is new.
    """
    root = settings().root
    runtimes = (crio_folder, containerd_path)
    if against is not None:
        if files or config_dir or any(runtimes):
            raise click.UsageError("--against compares the project: give no other files")
        return _against(root, against, output_format, strict=strict)
    narrowed = settings().is_narrowed or settings().time_limit
    known = None
    if not (files or config_dir or any(runtimes) or narrowed or strict) and uses_cache():
        known = record.unchanged(inputs.read_inputs(root), root / "out")
    if known:
        text = f"{_valid(known.nodes, known.classes)}; out/ was compiled from them"
        return _finish(known.diagnostics, output_format, text, strict=strict)
    from cpuplan.cli.node_files import read
    from cpuplan.language.read.files import input_files

    given = read(files, config_dir, runtimes, targets)
    if given.readers and not given.others and not any(input_files(root)):
        text = f"valid for {joined(given.readers)}"
        return _finish(given.check(), output_format, text, strict=strict)
    diagnostics, text = _with_project(root, given, is_gate=strict)
    return _finish(diagnostics, output_format, text, strict=strict)


def _with_project(
    root: Path, given: "NodeFiles", *, is_gate: bool
) -> "tuple[list[Diagnostic], str]":
    """What is wrong with the project and the given files, and what to say if nothing is."""
    from cpuplan import pipeline
    from cpuplan.components import chosen

    project = pipeline.load(root, given.others, settings().time_limit)
    narrow_to(project)
    plan, diagnostics = _judge(project, given.refused, is_gate=is_gate)
    targets = [node_class.target for node_class in project.classes]
    is_v1 = bool(plan.nodes) and all(map(chosen.has_cgroups_v1, plan.nodes))
    text = _valid(plan.number_of_nodes, len(plan.nodes))
    if not (plan.nodes or project.documents.of_kind("Nodes")):
        text = "valid, as far as this can be checked without an inventory"
    return [*diagnostics, *given.check(targets, cgroup_v1=is_v1)], text


def _judge(
    project: "Project", refused: "Sequence[Diagnostic]" = (), *, is_gate: bool = True
) -> "tuple[Plan, list[Diagnostic]]":
    """The plan, and what is wrong with the project beside what is `refused` already.

    A gate takes nothing from earlier runs.
    """
    from cpuplan import pipeline
    from cpuplan.diagnostics import errors
    from cpuplan.write.files import check_tree

    with making(is_gate=is_gate) as how:
        plan, findings = pipeline.judge(project, making=how)
    # What `compile` refuses to write over is nothing to call valid.
    diagnostics = [*findings, *check_tree(project.root / "out")]
    if not errors([*refused, *diagnostics]):
        diagnostics += pipeline.check_state_files(project, plan)
    return plan, diagnostics


def _against(root: Path, ref: str, output_format: str, *, strict: bool) -> int:
    """Tell what the project has that it did not have in the commit `ref`."""
    from cpuplan import pipeline
    from cpuplan.cli.output import today
    from cpuplan.diagnostics import as_of
    from cpuplan.git import trees
    from cpuplan.git.program import opened
    from cpuplan.gitops.merging import brought_in, project_at

    with opened(root) as repository:
        commit = trees.commit_of(repository, ref)
        project = pipeline.load(root, seconds=settings().time_limit)
        narrow_to(project)
        plan, now = _judge(project)
        with project_at(repository, commit, ref) as place:
            before = _judge_before(place)
    new = brought_in(as_of(now, today()), as_of(before, today()))
    print_diagnostics(new, output_format, strict=strict)
    if known := len(as_of(now, today())) - len(new):
        them = "it" if known == 1 else "them"
        note(f"{counted(known, 'finding')} not reported: {ref} has {them}")
    if fails(new, strict=strict):
        return 1
    size = f"{counted(plan.number_of_nodes, 'node')} in {counted(len(plan.nodes), 'class')}"
    note(f"nothing new is wrong, compared with {ref}: {size}")
    return 0


def _judge_before(place: Path) -> "Sequence[Diagnostic]":
    """What was wrong with the project; also what made it unreadable."""
    from cpuplan import pipeline
    from cpuplan.diagnostics import CpuplanError

    try:
        return _judge(pipeline.load(place, seconds=settings().time_limit))[1]
    except CpuplanError as error:
        return error.diagnostics


def _valid(nodes: int, classes: int) -> str:
    if not nodes:
        return "valid, but no intent selects a node: there is no layout to check"
    return f"valid: {counted(nodes, 'node')} in {counted(classes, 'class')}, each with a layout"


def _finish(
    diagnostics: "Sequence[Diagnostic]", output_format: str, text: str, *, strict: bool
) -> int:
    print_diagnostics(diagnostics, output_format, strict=strict)
    if fails(diagnostics, strict=strict):
        return 1
    note(text)
    return 0
