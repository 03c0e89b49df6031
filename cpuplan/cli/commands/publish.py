"""`cpuplan publish`: commit what was compiled to a branch."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from cpuplan.cli.output import (
    divided_option,
    echo,
    format_option,
    note,
    note_all,
    print_diagnostics,
    settings,
    time_limit_option,
)

if TYPE_CHECKING:
    from cpuplan.git.repository import Repository
    from cpuplan.gitops.provenance import Source
    from cpuplan.gitops.publishing import Published, Request
    from cpuplan.pipeline import Compiled, Project


@click.command()
@click.option(
    "--branch",
    metavar="NAME",
    help="Branch that gets the commit. It is created if it does not exist, with no other files. "
    " [default: the revision in the Delivery document]",
)
@click.option(
    "--repository",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Repository of the branch, which may be a bare one.  [default: that of the project]",
)
@click.option(
    "--folder",
    metavar="PATH",
    help="Folder in the tree of the branch.  [default: out, below the path in the Delivery "
    "document or else, in the project's own repository, where it is there]",
)
@click.option(
    "--push",
    "push_to",
    metavar="REMOTE",
    help="Also push the branch to this remote, a name or a URL. Nothing is forced.",
)
@click.option(
    "--allow-dirty",
    is_flag=True,
    help="Publish also if inputs are in no commit; the message says so.",
)
@click.option(
    "--force",
    is_flag=True,
    help="Replace files of cpuplan on the branch that others changed. Never those of others.",
)
@click.option(
    "--cluster",
    "clusters",
    metavar="NAME",
    multiple=True,
    help="Publish only the files of this cluster; may be repeated. Those of others stay as they "
    "are on the branch.  [default: everything]",
)
@format_option
@divided_option
@time_limit_option
def command(  # noqa: PLR0913, PLR0917 - one for each option
    branch: str | None,
    repository: Path | None,
    folder: str | None,
    push_to: str | None,
    allow_dirty: bool,
    force: bool,
    clusters: tuple[str, ...],
    output_format: str,
) -> int:
    """Commit out/, or the trees of some clusters, to a branch.

    The message says which classes change and which CPUs move, and names the commit and the digest
    of the inputs. Other files on the branch stay as they are, and no history is rewritten. The
    index and the work tree are not touched. If nothing changes, there is no commit.

    out/ must be what the inputs give (`cpuplan compile`), and the inputs must be committed. Exit
    code 3: out/ is out of date.
    """
    from cpuplan.cli.compilation import compile_again, differences
    from cpuplan.cli.scope import Scope
    from cpuplan.gitops import provenance

    done = compile_again(output_format)
    if done is None:
        return 1
    project, compiled = done
    if clusters:
        Scope(project, clusters, ())  # refuses names that no cluster has
    if stale := [*differences(project, compiled)]:
        print_diagnostics([*compiled.diagnostics, *stale], output_format)
        return 3
    origin = provenance.source_of(project.inputs)
    if origin.dirty and not allow_dirty:
        print_diagnostics([*compiled.diagnostics, *origin.dirty], output_format)
        note("nothing was published")
        return 1
    from cpuplan.git.program import opened
    from cpuplan.gitops.publishing import publish

    place = repository or settings().root
    with opened(place, bare=True, writes=True) as target:
        request = _request(project, compiled, origin, target, branch)
        above = target.prefix if repository is None else ""
        request = request._replace(
            clusters=tuple(dict.fromkeys(clusters)),
            folder=_folder(project, folder, above),
            force=force,
            push_to=push_to,
        )
        published = publish(request)
    print_diagnostics(compiled.diagnostics, output_format)
    _tell(request, published)
    return 0


def _request(
    project: "Project",
    compiled: "Compiled",
    origin: "Source",
    target: "Repository",
    branch: str | None,
) -> "Request":
    from cpuplan import __version__
    from cpuplan.change.impact.rules import inputs
    from cpuplan.gitops import provenance
    from cpuplan.gitops.publishing import Origin, Request

    deliveries = project.documents.of_kind("Delivery")
    if branch is None and not deliveries:
        raise click.UsageError("give --branch: no Delivery document names one")
    return Request(
        files=compiled.files,
        classes=compiled.classes,
        clusters=(),
        provenance=provenance.of(compiled.files, project.inputs),
        context=inputs.context_of(project.classes),
        origin=Origin(origin.commit, bool(origin.dirty), project.inputs.digest(), __version__),
        repository=target,
        branch=branch if branch is not None else str(deliveries[0].spec.revision),
        folder="out",
        force=False,
        push_to=None,
    )


def _folder(project: "Project", given: str | None, above: str) -> str:
    """The folder in the tree of the branch; `above` is that of the project."""
    from cpuplan.base.files import is_dot_git, is_plain

    if given is not None:
        chosen = given.rstrip("/")
        if not is_plain(chosen) or any(map(is_dot_git, chosen.split("/"))):
            raise click.UsageError(f"--folder {given!r} is not a path inside a repository")
        return chosen
    deliveries = project.documents.of_kind("Delivery")
    if deliveries:
        above = f"{deliveries[0].spec.path}/"
    return f"{above}out".lstrip("/")


def _tell(request: "Request", published: "Published") -> None:
    note_all(published.lines)
    name = request.branch
    if not published.is_new:
        note(f"nothing has changed: {name} has what the inputs give")
    else:
        # The result of the command, unless the findings are.
        (echo if settings().format == "text" else note)(f"{name} {published.commit}")
    if published.is_pushed:
        note(f"pushed {name} to {request.push_to}")
