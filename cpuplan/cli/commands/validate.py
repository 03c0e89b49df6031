"""`cpuplan validate`: everything that is wrong with the inventories and intents, in one run."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cpuplan.cli.output import (
    fails,
    filter_options,
    format_option,
    narrow_to,
    note,
    print_diagnostics,
    settings,
)
from cpuplan.read import inputs
from cpuplan.text import counted
from cpuplan.write import record

if TYPE_CHECKING:
    from cpuplan.diagnostics import Diagnostic


@click.command()
@click.argument("files", nargs=-1, type=click.Path(exists=True, path_type=Path))
@format_option
@filter_options
@click.option("--strict", is_flag=True, help="Treat warnings as errors, except waived ones.")
@click.option(
    "--target",
    metavar="PLATFORM/VERSION",
    help="Release for which KubeletConfigurations are checked, such as kubernetes/1.33 or "
    "openshift/4.20.  [default: the project's target if it has only one, otherwise the newest "
    "Kubernetes]",
)
@click.option(
    "--config-dir",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The kubelet's --config-dir: its drop-ins (*.conf) are merged over the "
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
def command(
    files: tuple[Path, ...],
    output_format: str,
    strict: bool,
    target: str | None,
    config_dir: Path | None,
    crio_folder: Path | None,
) -> int:
    """Report everything that is wrong with the project, and whether every node has a layout.

    FILES (or folders) are read in addition to those of the project: intents, or unmodified
    PerformanceProfiles of OpenShift's node tuning operator, with the MachineConfigPool and Node
    objects of their cluster. All YAML and JSON files of a folder are read. KubeletConfigurations
    are checked as the kubelet does at startup, also without a project.

    Exit code 0: nothing is wrong; 1: something is.
    """
    root = settings().root
    if not (files or config_dir or crio_folder or settings().is_narrowed) and (
        known := record.unchanged(inputs.read(root), root / "out")
    ):
        text = f"{_valid(known.nodes, known.classes)}; out/ was compiled from them"
        return _finish(known.diagnostics, output_format, text, strict=strict)
    from cpuplan import pipeline
    from cpuplan.cli.commands.kubelet_files import check_files, drop_ins, split
    from cpuplan.components import cgroups
    from cpuplan.diagnostics import errors
    from cpuplan.read.files import input_files, object_files
    from cpuplan.write.files import check_tree

    given = [object_files(path) for path in files]
    refused = [problem for listed in given for problem in listed.diagnostics]
    configurations, others = split([path for listed in given for path in listed.files])
    merged, unread = drop_ins(config_dir) if config_dir else ([], [])
    refused += unread
    if crio_folder:
        refused += _of_crio(crio_folder)
    is_of_kubelet = bool(configurations or config_dir)
    if (is_of_kubelet or crio_folder) and not others and not any(input_files(root)):
        if is_of_kubelet:
            refused += check_files(configurations, target, merged=merged)
        readers = ["the kubelet"] * is_of_kubelet + ["CRI-O"] * bool(crio_folder)
        text = f"valid for {' and '.join(readers)}"
        return _finish(refused, output_format, text, strict=strict)
    project = pipeline.load(root, others)
    narrow_to(project)
    plan, findings = pipeline.judge(project)
    # What `compile` refuses to write over is nothing to call valid.
    diagnostics = [*refused, *findings, *check_tree(root / "out")]
    if not errors(diagnostics):
        diagnostics += pipeline.check_state_files(project, plan)
    if is_of_kubelet:
        diagnostics += check_files(
            configurations,
            target,
            [node_class.target for node_class in project.classes],
            merged,
            cgroup_v1=bool(plan.nodes) and all(map(cgroups.is_v1, plan.nodes)),
        )
    text = _valid(plan.number_of_nodes, len(plan.nodes))
    if not (plan.nodes or project.documents.of_kind("Nodes")):
        text = "valid, as far as this can be checked without an inventory"
    return _finish(diagnostics, output_format, text, strict=strict)


def _of_crio(folder: Path) -> "list[Diagnostic]":
    """What is wrong with CRI-O's files, and what of them is not read."""
    from cpuplan.check import crio_files
    from cpuplan.check.root import Root
    from cpuplan.diagnostics import diagnose

    root = Root(folder)
    findings = list(crio_files.findings(root, ""))
    unread = [diagnose("CP805", path=path, problem=why) for path, why in root.refused.items()]
    return [*findings, *unread]


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
