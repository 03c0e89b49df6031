"""A compilation for commands: one that must agree with the lock, and one that is printed."""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cpuplan.base.emit import to_yaml
from cpuplan.base.progress import stage
from cpuplan.cli.output import echo_result, fails, narrow_to, print_diagnostics, settings
from cpuplan.diagnostics import CpuplanError, diagnose, errors
from cpuplan.diagnostics.source import Position
from cpuplan.fleet import lock
from cpuplan.fleet.targets import HOST
from cpuplan.language.read.files import LOCK_PATH
from cpuplan.plan.expected import folder as topologies
from cpuplan.write import emitted

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
    from cpuplan.pipeline.making import Making

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
    from cpuplan.gitops import paused

    said = paused.check(project, compiled.plan)
    return compiled._replace(diagnostics=(*compiled.diagnostics, *said))


def differences(project: "Project", compiled: "Compiled") -> "Iterator[Diagnostic]":
    """What `compile` would change: of the lock (CP620), and of out/ (CP602, CP603, CP608 ...)."""
    from cpuplan.write.files import compare_tree

    yield from of_lock(project, compiled)
    yield from compare_tree(project.root / "out", compiled.files, classes=compiled.classes)[1]


def of_lock(project: "Project", compiled: "Compiled") -> "Iterator[Diagnostic]":
    """CP620 for a lock that `compile` would change."""
    if not lock.is_same(project.inputs.lock, compiled.lock):
        yield diagnose("CP620", Position(LOCK_PATH, 0, 0), path=LOCK_PATH)


#: Where Argo CD has the parameters of an Application (config-management-plugins.md).
PARAMETERS = "ARGOCD_APP_PARAMETERS"
_KNOWN = frozenset({"cluster", "hosting"})


def print_manifests(root: Path, *, hosting: bool, strict: bool) -> int:
    """Compile the project, and print the objects of --cluster or of the Application's cluster."""
    given = {} if settings().clusters else _parameters(os.environ.get(PARAMETERS, ""))
    if "cluster" in given:
        settings().clusters = (given["cluster"],)
    of_host = hosting or given.get("hosting") == "true"
    done = _compile(root, strict=strict)
    if done is None:
        return 1
    project, compiled = done
    folder = _folder(_cluster(project), hosting=of_host)
    chosen = {path: data for path, data in compiled.files.items() if _is_object(path, folder)}
    _check(chosen)
    echo_result("".join(f"---\n{data.decode()}" for _, data in sorted(chosen.items())))
    return 0


def print_topologies(root: Path, *, strict: bool) -> int:
    """Compile the project, and print the NodeResourceTopology of each node of --cluster."""
    done = _compile(root, strict=strict)
    if done is None:
        return 1
    project, compiled = done
    cluster = _cluster(project)
    start = f"clusters/{cluster}/{topologies.TOPOLOGY_FOLDER}/"
    chosen = {path: data for path, data in compiled.files.items() if path.startswith(start)}
    _check(chosen)
    objects = _by_node(chosen)
    scope = settings().scope
    wanted = [node for node in sorted(objects) if not scope or (cluster, node) in scope.wanted]
    echo_result("".join(f"---\n{to_yaml(objects[node])}" for node in wanted))
    return 0


def _by_node(files: Mapping[str, bytes]) -> dict[str, dict[str, Any]]:
    """The objects of nodes. Raises CP679 for a kept file that was edited."""
    objects: dict[str, dict[str, Any]] = {}
    for path, data in files.items():
        try:
            objects |= dict(topologies.topology_objects(data.decode()))
        except ValueError as error:
            raise _wrong(f"out/{path}: {error}", "restore the file from Git") from error
    return objects


def _check(files: Mapping[str, bytes]) -> None:
    """Raise CP570 for files that cannot be read back."""
    if wrong := emitted.check(files):
        raise CpuplanError(wrong)


def _compile(root: Path, *, strict: bool) -> "tuple[Project, Compiled] | None":
    """The compiled project; None where something is wrong, which is printed. Raises CP679."""
    from cpuplan import pipeline

    project = pipeline.load(root, seconds=settings().time_limit)
    narrow_to(project)
    compiled = pipeline.compile_project(project)
    print_diagnostics(compiled.diagnostics, strict=strict)
    if errors(compiled.diagnostics) or fails(compiled.diagnostics, strict=strict):
        return None
    _check_lock(project, compiled)
    return project, compiled


def _parameters(text: str) -> Mapping[str, str]:
    """The parameters of an Application, by name: a list of mappings with a name and a string."""
    if not text:
        return {}
    try:
        given = {parameter["name"]: parameter["string"] for parameter in json.loads(text)}
    except (ValueError, KeyError, TypeError, RecursionError):
        raise _wrong(
            f"{PARAMETERS} is not a list of parameters with a name and a string",
            "write parameters such as {name: cluster, string: lab} into the Application",
        ) from None
    if unknown := sorted(map(str, given.keys() - _KNOWN)):
        raise _wrong(
            f"{PARAMETERS} has the unknown parameter {unknown[0]}",
            "write the parameters cluster and hosting only",
        )
    return {name: str(value) for name, value in given.items()}


def _cluster(project: "Project") -> str:
    """The one cluster that is asked for; of a project with a single one, this."""
    chosen = settings().clusters or sorted({node_class.cluster for node_class in project.classes})
    if len(set(chosen)) != 1:
        raise _wrong(
            "the objects of exactly one cluster can be printed",
            "name it with --cluster, or with the parameter cluster of the Application",
        )
    return chosen[0]


def _check_lock(project: "Project", compiled: "Compiled") -> None:
    if not lock.is_same(project.inputs.lock, compiled.lock):
        problem = f"{LOCK_PATH} is missing, or not what the inputs give"
        remedy = "run `cpuplan compile` and commit the lock"
        place = Position(LOCK_PATH, 0, 0)
        raise CpuplanError([diagnose("CP679", place, problem=problem, remedy=remedy)])


def _wrong(problem: str, remedy: str) -> CpuplanError:
    return CpuplanError([diagnose("CP679", None, problem=problem, remedy=remedy)])


def _folder(cluster: str, *, hosting: bool) -> str:
    return f"clusters/{cluster}/{HOST}/manifests/" if hosting else f"clusters/{cluster}/manifests/"


def _is_object(path: str, folder: str) -> bool:
    return path.startswith(folder) and path != f"{folder}kustomization.yaml"
