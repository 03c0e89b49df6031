"""`cpuplan import performanceprofile`: PerformanceProfiles of OpenShift to Intents."""

import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cpuplan.base.text import counted, joined
from cpuplan.cli import new_files
from cpuplan.cli.output import echo, note, print_diagnostics, settings
from cpuplan.diagnostics import CpuplanError, diagnose, errors

if TYPE_CHECKING:
    from cpuplan.language.read.documents import Document

_HINT = (
    "view the new document with --stdout, then overwrite the file with --force, or choose "
    "another folder with -o"
)


def run(paths: list[Path], folder: Path, *, release: str, to_stdout: bool, force: bool) -> int:
    """Write an Intent for each profile in `paths`, which also hold the cluster's other objects.

    `release` is OpenShift's; empty where it is not given.
    """
    _check_release(release)
    from cpuplan.base.emit import to_yaml
    from cpuplan.language.read.files import object_files
    from cpuplan.profiles import project

    given = [object_files(path) for path in paths]
    documents, wrong = project.read(
        Path(),
        [path for listed in given for path in listed.files],
        cache(lambda: release or _release()),
    )
    diagnostics = [problem for listed in given for problem in listed.diagnostics]
    # nothing to read: said of profiles below
    diagnostics += [problem for problem in wrong if problem.code != "CP109"]
    profiles = [document for document in documents.of_kind("Intent") if document.written_as]
    if not profiles and not errors(diagnostics):
        diagnostics.append(diagnose("CP127", path=", ".join(map(str, paths))))
    header = new_files.HEADER.format(kind="intent")
    texts = {
        folder / f"{profile.name}.yaml": to_yaml(profile.source.data, header)
        for profile in profiles
    }
    blocked = [] if force or to_stdout else new_files.blocked(texts, _HINT)
    print_diagnostics([*diagnostics, *blocked])
    if errors(diagnostics):
        return 1
    if blocked:
        return 2
    if to_stdout:
        echo("---\n".join(texts.values()), nl=False)
        return 0
    new_files.write(texts)
    for profile in profiles:
        _tell_of_memory(profile)
    note(
        f"{counted(len(texts), 'profile')} read; the profiles themselves are no longer needed here"
    )
    return 0


def _tell_of_memory(profile: "Document") -> None:
    """Say where memory is reserved, if the operator would reserve it on NUMA node 0."""
    from cpuplan.language.model.words import ALIGNING

    kubelet = profile.spec.kubelet
    if kubelet.topology_manager_policy in ALIGNING and not kubelet.reserved_memory:
        note(
            f"note: intent {profile.name}: memory is reserved on the NUMA nodes of the reserved "
            "CPUs; the node tuning operator reserves it on NUMA node 0 (CP573)"
        )


def _check_release(release: str) -> None:
    from cpuplan import platforms
    from cpuplan.components.checks import releases

    if release and release not in platforms.OPENSHIFT.releases:
        raise CpuplanError([releases.unknown(platforms.OPENSHIFT, release)])


def _release() -> str:
    """The release that the project's own targets have, if they have one; else the user is asked."""
    names = sorted(set(_releases()))
    if len(names) == 1:
        note(
            f"note: the profiles are read for OpenShift {names[0]}, the release of the "
            "project's intents"
        )
        return names[0]
    if sys.stdin.isatty():
        from cpuplan import platforms

        answer: str = click.prompt(
            "Release of OpenShift", type=click.Choice(list(platforms.OPENSHIFT.releases)), err=True
        )
        return answer
    why = (
        f"the project has targets of {joined(names)}"
        if names
        else "a PerformanceProfile does not contain it"
    )
    raise click.UsageError(
        f"unknown release of OpenShift: {why}; give it with --release, such as --release 4.20"
    )


def _releases() -> Iterator[str]:
    """Of the targets in the project's intents; what is wrong with these is not said here."""
    from cpuplan import platforms
    from cpuplan.language.read import files
    from cpuplan.profiles import project

    root = settings().root
    documents, _ = project.read(root, files.input_files(root).files)
    for document in documents.of_kind("Intent"):
        if not document.written_as:
            yield from (
                target.version
                for target in document.spec.targets
                if target.platform == platforms.OPENSHIFT.name
            )
