"""`cpuplan import`: existing hardware, and PerformanceProfiles, to documents that people edit."""

import os
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cpuplan.base.progress import stage
from cpuplan.base.text import counted, first_of, joined
from cpuplan.cli import documents
from cpuplan.cli.documents import HEADER
from cpuplan.cli.output import echo, note, print_diagnostics, print_remarks, settings, use_colour
from cpuplan.diagnostics import CpuplanError, diagnose, errors
from cpuplan.facts.platforms import OPENSHIFT, PLATFORMS
from cpuplan.facts.settings.host import CONFIG_DIR
from cpuplan.importers.formats import FORMATS

if TYPE_CHECKING:
    from cpuplan.cli.adoption import Adopted
    from cpuplan.cli.kubelets import Known
    from cpuplan.diagnostics.source import Source
    from cpuplan.importers.base import Imported
    from cpuplan.language.read.documents import Document
    from cpuplan.write.inventory.update import Kinds, Update


_HINT = (
    "view the new document with --stdout, then overwrite the file with --force, or choose "
    "another folder with -o"
)


def import_performance_profiles(
    paths: list[Path], folder: Path, *, release: str, mode: str, to_stdout: bool, force: bool
) -> int:
    """Write an Intent for each profile in `paths`, which also hold the cluster's other objects.

    `release` is OpenShift's; empty where it is not given.
    """
    _check_release(release)
    from cpuplan.base.emit import to_yaml
    from cpuplan.language.read.files import object_files
    from cpuplan.profiles import loading

    given = [object_files(path) for path in paths]
    files = [path for listed in given for path in listed.files]
    read, problems = loading.read(Path(), files, cache(lambda: release or _release()), mode)
    diagnostics = [problem for listed in given for problem in listed.diagnostics]
    # nothing to read: said of profiles below
    diagnostics += [problem for problem in problems if problem.code != "CP109"]
    profiles = [document for document in read.of_kind("Intent") if document.written_as]
    if not profiles and not errors(diagnostics):
        diagnostics.append(diagnose("CP127", path=", ".join(map(str, paths))))
    header = HEADER.format(kind="intent")
    texts = {
        folder / f"{profile.name}.yaml": to_yaml(profile.source.data, header)
        for profile in profiles
    }
    blocked = [] if force or to_stdout else documents.blocked(texts, _HINT)
    print_diagnostics([*diagnostics, *blocked])
    if errors(diagnostics):
        return 1
    if blocked:
        return 2
    if to_stdout:
        echo("---\n".join(texts.values()), nl=False)
        return 0
    documents.write(texts)
    for profile in profiles:
        _tell_of_memory(profile)
    number = counted(len(texts), "profile")
    note(f"{number} read; the profiles themselves are no longer needed here")
    _tell_of_others(read.sources)
    return 0


def _tell_of_others(sources: "Iterable[Source]") -> None:
    """Say that objects of others were read, which no intent has."""
    from cpuplan.fleet import cluster_objects
    from cpuplan.profiles import reader

    objects, _ = cluster_objects.given(known.source for known in reader.unbundled(sources, []))
    names = [known.name for known in objects if known.field != "machineConfigPools"]
    if names:
        note(
            f"note: {first_of(names, 3)} {'are' if len(names) > 1 else 'is'} part of no intent: "
            "keep the files in intents/, or import a must-gather, so that they are compared with "
            "the plan"
        )


def _tell_of_memory(profile: "Document") -> None:
    """Say where memory is reserved, if the operator would reserve it on NUMA node 0."""
    from cpuplan.language.model.vocabulary import ALIGNING

    kubelet = profile.spec.kubelet
    if kubelet.topology_manager_policy in ALIGNING and not kubelet.reserved_memory:
        note(
            f"note: intent {profile.name}: memory is reserved on the NUMA nodes of the reserved "
            "CPUs; the node tuning operator reserves it on NUMA node 0 (CP573)"
        )


def _check_release(release: str) -> None:
    from cpuplan.components.checks.releases import unknown
    from cpuplan.facts.programs import OPENSHIFT

    if release and not OPENSHIFT.find(release):
        raise CpuplanError([unknown(OPENSHIFT, release)])


def _release() -> str:
    """The release that the project's own targets have, if they have one; else the user is asked."""
    names = sorted(set(_releases()))
    if len(names) == 1:
        why = "the release of the project's intents"
        note(f"note: the profiles are read for OpenShift {names[0]}, {why}")
        return names[0]
    if sys.stdin.isatty():
        from cpuplan.facts import platforms

        answer: str = click.prompt(
            "Release of OpenShift", type=click.Choice(list(platforms.OPENSHIFT.releases)), err=True
        )
        return answer
    why = "a PerformanceProfile does not contain it"
    if names:
        why = f"the project has targets of {joined(names)}"
    raise click.UsageError(
        f"unknown release of OpenShift: {why}; give it with --release, such as --release 4.20"
    )


def _releases() -> Iterator[str]:
    """Of the targets in the project's intents; what is wrong with these is not said here."""
    from cpuplan.facts import platforms
    from cpuplan.language.read import files
    from cpuplan.profiles import loading

    root = settings().root
    read, _ = loading.read(root, files.input_files(root).files)
    for document in read.of_kind("Intent"):
        for target in () if document.written_as else document.spec.targets:
            if target.platform == platforms.OPENSHIFT.name:
                yield target.version


#: What becomes an Intent, not an inventory.
PROFILES = "performanceprofile"
#: What becomes an Intent too, beside an inventory where the machine is there.
KUBELET = "kubelet"
#: Options that are for some of these only.
_OF_KINDS = {
    "release": (PROFILES, KUBELET),
    "mode": (PROFILES,),
    "platform": (KUBELET,),
    "node": (KUBELET,),
    "config_dir": (KUBELET,),
}


def import_kubelets(
    named: list[Path], given: Mapping[str, Any], output: Path | None, **how: bool
) -> int:
    """Write an Intent for each kubelet of the sources, and the inventory of roots with a /sys."""
    from cpuplan.base.emit import to_yaml
    from cpuplan.cli import adoption, kubelets, node_files

    drop_ins = given["config_dir"]
    asked = adoption.Asked(*(given[name] or "" for name in adoption.Asked._fields))
    merged, problems = node_files.drop_ins(drop_ins) if drop_ins else ([], [])
    print_diagnostics(problems)
    with documents.received(named, asked.node) as paths:
        known = kubelets.read(paths, named, merged)
        machines = _machines(known, asked.cluster)
        adopted = adoption.adopt(known, asked, _texts_of(machines))
        folder = output or settings().root / "intents"
        header = HEADER.format(kind="intent")
        texts = {
            folder / f"{name}.yaml": to_yaml(data, header) for name, data in adopted.intents.items()
        }
        blocked = [] if how["force"] or how["to_stdout"] else documents.blocked(texts, _HINT)
        print_diagnostics([*adopted.diagnostics, *blocked])
        if errors([*problems, *adopted.diagnostics]):
            return 1
        if blocked:
            return 2
        if how["to_stdout"]:
            echo("---\n".join(texts.values()), nl=False)
            return 0
        code = _finish(machines, None, **how) if machines else 0
    documents.write(texts)
    _tell_of_kubelets(known, adopted)
    return code


def _machines(known: "Sequence[Known]", cluster: str) -> "Imported | None":
    """The machines of roots with a /sys."""
    from cpuplan import importers

    paths = list(dict.fromkeys(kubelet.path for kubelet in known if kubelet.has_machine))
    return importers.run(None, paths, cluster or None) if paths else None


def _texts_of(machines: "Imported | None") -> dict[str, str]:
    from cpuplan.importers.documents import documents_of, kinds, texts_of

    return texts_of(documents_of(kinds.kinds_of(machines))) if machines else {}


def _tell_of_kubelets(known: "Sequence[Known]", adopted: "Adopted") -> None:
    note(f"{counted(len(known), 'kubelet')} read: {counted(len(adopted.intents), 'intent')}")
    note(
        "note: the kubelet alone is set; what cpuplan sets for isolated CPUs beside it is switched "
        "off under isolation and defaults"
    )


@click.command("import")
@click.argument("words", nargs=-1, required=True, metavar="[FORMAT] PATH...")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Folder for the documents.  [default: inventories/]",
)
@click.option("--cluster", help="Name of the nodes' cluster, if the input does not contain it.")
@click.option(
    "--release",
    default="",
    help="OpenShift release of a performanceprofile, such as 4.20, or release of a kubelet's "
    "platform, such as 1.34, if no input contains it.",
)
@click.option(
    "--platform",
    type=click.Choice([name for name in PLATFORMS if name != OPENSHIFT.name]),
    help="Platform of a kubelet, if the input does not tell it.  [default: kubernetes]",
)
@click.option(
    "--node",
    default="",
    help="The node of the inventory whose kubelet it is: the intent selects it, and its machine "
    "tells which CPUs are reserved by amounts.",
)
@click.option(
    CONFIG_DIR.key,
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Drop-ins (*.conf) that the kubelet merges over its configuration.",
)
@click.option(
    "--mode",
    type=click.Choice(["mco", "performanceProfile"]),
    help="What is compiled of a performanceprofile: the objects of the operator, or the profile "
    "with its labels, annotations and lists.  [default: mco]",
)
@click.option(
    "--name",
    default="",
    help="Name of the node that comes through a pipe, if the input does not contain it.",
)
@click.option("--stdout", "to_stdout", is_flag=True, help="Print the documents and write nothing.")
@click.option(
    "--diff",
    "only_show",
    is_flag=True,
    help="Show what would change and write nothing; exit code 3 if anything would.",
)
@click.option(
    "--force", is_flag=True, help="Replace existing files instead of updating them: edits are lost."
)
def command(  # noqa: PLR0913, PLR0917 - one for each option
    words: tuple[str, ...],
    output: Path | None,
    cluster: str | None,
    release: str,
    mode: str | None,
    name: str,
    platform: str | None,
    node: str,
    config_dir: Path | None,
    **how: bool,
) -> int:
    """Read hardware from each PATH and write Hardware and Nodes documents.

    FORMAT is detected for each PATH, or one of: {formats}. A folder of files is read file by file.
    Several sources of one node are combined by its name; values that none of them contains are
    listed and left open. A PATH can be a pipe: `-` (standard input), or the shell's <(command).

    FORMAT performanceprofile writes an Intent to intents/ for each PerformanceProfile of
    OpenShift's node tuning operator. The release comes from --release, from a ClusterVersion next
    to the profile, or from the project's other intents.

    FORMAT kubelet writes an Intent to intents/ that compiles to the same settings, for each kubelet
    in a KubeletConfiguration, the answer of configz, flags, a file of kubeadm, K3s, RKE2, MicroK8s,
    Talos or EKS, or the root of a node, whose hardware is imported too.

    Existing documents are updated: values change, while names, comments, order and manual additions
    are kept. The differences are shown. Everything that could be read is written, but nothing if an
    existing document is invalid. Files are written one after the other, each completely or not at
    all: import again after an interruption.
    """
    from cpuplan import importers

    kind, named = _parse(words, [*FORMATS, PROFILES, KUBELET])
    asked = {"platform": platform, "node": node, "config_dir": config_dir, "release": release}
    _check_options(kind, named, how, {"mode": mode, "name": name, **asked})
    if kind == KUBELET:
        return import_kubelets(named, {"cluster": cluster, **asked}, output, **how)
    with documents.received(named, name) as paths:
        if kind == PROFILES:
            folder = output or settings().root / "intents"
            return import_performance_profiles(
                paths,
                folder,
                release=release,
                mode=mode or "mco",
                to_stdout=how["to_stdout"],
                force=how["force"],
            )
        imported = importers.run(kind, paths, cluster)
        diagnostics = tuple(documents.told(imported.diagnostics, paths, named))
        imported = imported._replace(diagnostics=diagnostics)
        if not name and any(node.name == documents.NAMELESS for node in imported.nodes):
            raise click.UsageError(
                "the input of the pipe does not contain the node's name; give it with --name"
            )
        return _finish(imported, output, **how)


def _check_options(
    kind: str | None, named: Sequence[Path], how: Mapping[str, bool], given: Mapping[str, Any]
) -> None:
    """Options that mean nothing to what is imported."""
    if how["only_show"] and (how["to_stdout"] or kind in (PROFILES, KUBELET)):
        other = "--stdout" if how["to_stdout"] else kind
        raise click.UsageError(
            f"--diff compares hardware with an inventory and cannot be used with {other}"
        )
    if given["name"] and not any(map(documents.is_stream, named)):
        raise click.UsageError("--name is only for a pipe; a file is named after its node")
    for option, kinds in _OF_KINDS.items():
        if given[option] and kind not in kinds:
            flag = f"--{option.replace('_', '-')}"
            others = joined(kinds)
            raise click.UsageError(f"{flag} is only for {others}; hardware has no {option}")


_FORMATS = ", ".join(f"{known.name} ({known.summary})" for known in FORMATS.values())
command.help = (command.help or "").replace("{formats}", _FORMATS)


def _finish(
    imported: "Imported", output: Path | None, *, to_stdout: bool, only_show: bool, force: bool
) -> int:
    """Say what was found, and print or write it."""
    from cpuplan.change.restore import restore
    from cpuplan.importers import grouped
    from cpuplan.importers.documents import (
        derived_clusters,
        documents_of,
        kinds,
        texts_of,
        unlike_runtimes,
    )

    imported = restore(imported, settings().root)
    print_diagnostics(imported.diagnostics)
    print_remarks(grouped(imported.remarks))
    if not imported.nodes:
        return 1
    by_name = kinds.kinds_of(imported)
    print_remarks([*kinds.unlike(by_name), *unlike_runtimes(imported.nodes)])
    if to_stdout:
        print_remarks(derived_clusters(imported.nodes))
        printed = texts_of(documents_of(by_name), HEADER, by_name)
        echo("---\n".join(printed.values()), nl=False)
    else:
        made = _update(by_name, output or settings().root / "inventories", force=force)
        if errors(made.diagnostics):
            print_diagnostics(made.diagnostics)
            return 2 if made.diagnostics[0].code == "CP621" else 1
        _show(made, imported, only_show=only_show)
        if only_show:
            return 3 if made.files else 0
        _write(made)
        print_remarks(_example())
    return 1 if errors(imported.diagnostics) else 0


def _parse(words: tuple[str, ...], known: Collection[str]) -> tuple[str | None, list[Path]]:
    """The format and the paths; a first word that is a format and no file says which."""
    names = list(words)
    kind = names.pop(0) if names[0] in known else None
    paths = list(map(Path, names))
    if not paths:
        raise click.UsageError(f"missing path: cpuplan import {kind} PATH...")
    if kind is None and len(paths) > 1 and not _is_there(paths[0]):
        raise click.UsageError(
            f"{names[0]!r} is not a file, a folder or one of the formats {', '.join(known)}"
        )
    if absent := [path for path in paths if not _is_there(path)]:
        raise click.UsageError(f"no such file or folder: {str(absent[0])!r}")
    return kind, paths


def _is_there(path: Path) -> bool:
    return str(path) == "-" or os.path.exists(path)


@stage("comparing with the inventory")
def _update(kinds: "Kinds", folder: Path, *, force: bool) -> "Update":
    """What the import makes of the inventory that `folder` belongs to."""
    from cpuplan.write.inventory import nodes, update

    if force:
        return update.anew(kinds, folder, HEADER)
    whole = settings().root / "inventories"
    inside = folder.absolute().is_relative_to(whole.absolute())
    known, problems = nodes.read(whole if inside else folder)
    if errors(problems):
        return update.Update({}, (), tuple(problems))
    return update.update(known, kinds, folder, HEADER)


def _show(made: "Update", imported: "Imported", *, only_show: bool) -> None:
    from cpuplan.render.text import unified

    colour = use_colour()
    for path, (before, after) in made.files.items():
        if before is not None or only_show:
            echo(unified(str(path), before, after, colour=colour), nl=False, colour=colour)
    print_remarks(made.notes)
    nothing = "" if made.files else "; the inventory is up to date"
    note(f"{counted(len(imported.nodes), 'node')} read{nothing}")


def _example() -> list[str]:
    """Remarks on example nodes of `cpuplan init` that are still beside those of real machines."""
    from cpuplan.base.program import resource
    from cpuplan.cli.commands import init

    texts = {
        target: resource("templates", source).read_text() for source, target in init.FILES.items()
    }
    return [
        f"{name} is still the example of `cpuplan init`, whose nodes do not exist: remove it"
        for name, text in texts.items()
        if name.startswith("inventories/") and documents.holds(settings().root / name, text)
    ]


def _write(made: "Update") -> None:
    from cpuplan.write.files import write_file

    for path, (before, text) in made.files.items():
        write_file(path, text)
        note(f"{'wrote' if before is None else 'changed'} {path}")
