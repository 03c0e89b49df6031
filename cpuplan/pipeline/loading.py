"""A project as it was read: its documents, its classes of nodes, and what both start from."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from cpuplan.base.progress import stage
from cpuplan.diagnostics import CpuplanError, Diagnostic, diagnose, errors
from cpuplan.diagnostics.source import Locate, Position
from cpuplan.fleet import classes as fleet
from cpuplan.fleet import lock, previous
from cpuplan.fleet.previous import Before
from cpuplan.language.model.intent import PROFILE_MODE
from cpuplan.language.model.inventory import HardwareSpec
from cpuplan.language.read import files
from cpuplan.language.read.documents import Document, Documents
from cpuplan.language.read.files import LOCK_PATH, Inputs
from cpuplan.plan import NodeClass
from cpuplan.profiles import loading


class Project(NamedTuple):
    """Everything that was read from a project's folder, and what is wrong with it."""

    root: Path
    documents: Documents
    classes: tuple[NodeClass, ...]
    lock: lock.Lock
    diagnostics: tuple[Diagnostic, ...]
    #: What is wrong with the lock, which matters to nobody who solves afresh.
    lock_diagnostics: tuple[Diagnostic, ...] = ()
    before: Before = {}  # noqa: RUF012 - never changed
    #: What all this was read from.
    inputs: Inputs = Inputs(Path(), {}, None)
    #: The limit for each layout, in seconds of work; None for the default.
    seconds: float | None = None
    #: The layouts that the classes start from, which every stage asks for.
    known: lock.Starts | None = None

    def hardware_of(self, node_class: NodeClass) -> HardwareSpec:
        """The Hardware document of a class."""
        spec: HardwareSpec = self.documents.by_name["Hardware", node_class.hardware].spec
        return spec

    @property
    def locate(self) -> Locate:
        """Finds the line of a reason's origin."""
        return self.documents.locate


@stage("reading the project")
def load(root: Path, also: Sequence[Path] = (), seconds: float | None = None) -> Project:
    """Read inventories/, intents/, the lock and the files `also`; problems are returned.

    `seconds` is what each layout may take.
    """
    read = files.read_inputs(root, also)
    documents, diagnostics = loading.from_texts(read.texts, read.diagnostics)
    built, problems = fleet.build(documents)
    for second in documents.of_kind("Delivery")[1:]:
        position = second.source.value_at(("metadata", "name"))
        problems.append(diagnose("CP232", position, name=second.name))
    locked, lock_problems = lock.read(read.lock, LOCK_PATH)
    compiled = previous.read(root / "out")
    lock_problems += _check_lost(root / "out", compiled, locked, built.classes)
    return Project(
        root,
        documents,
        built.classes,
        locked,
        (*diagnostics, *problems),
        tuple(lock_problems),
        compiled,
        read,
        seconds,
        lock.Starts(locked, compiled, built.classes),
    )


#: What a PerformanceProfile decides: fields of an Intent, and of its target.
_OF_PROFILES = (
    "pools",
    "isolation",
    "kubelet",
    "huge_pages",
    "kernel",
    "workload_hints",
    "runtime",
    "net",
    "open_v_switch",
    "hardware_tuning",
)
_OF_TARGETS = ("node_selector", "machine_config_label", "ignore_cgroups_version", "profile")


def with_profiles(project: Project, paths: Sequence[Path]) -> Project:
    """The project as if its profiles were those in files, or must-gathers, at `paths`.

    Classes of intents in mode performanceProfile whose profile is not there are left out. Raises
    CpuplanError for profiles that cannot be read.
    """
    from cpuplan.importers import must_gather

    listed = [must_gather.profile_files(path) or files.object_files(path) for path in paths]
    refused = [problem for known in listed for problem in known.diagnostics]
    named = [path for known in listed for path in known.files]
    read, diagnostics = loading.read(project.root, named, mode=PROFILE_MODE)
    if problems := errors([*refused, *diagnostics]):
        raise CpuplanError(problems)
    by_name = {}
    for key, document in project.documents.by_name.items():
        known = _as_profile(document, read.by_name.get(key))
        if known is not None:
            by_name[key] = known
    documents = project.documents._replace(by_name=by_name)
    built, problems = fleet.build(documents)
    starts_from = lock.Starts(project.lock, project.before, built.classes)
    return project._replace(
        documents=documents, classes=built.classes, diagnostics=tuple(problems), known=starts_from
    )


def _as_profile(document: Document, profile: Document | None) -> Document | None:
    """A document, an intent with what its profile decides; None without the profile."""
    if document.kind != "Intent" or not any(known.is_profile for known in document.spec.targets):
        return document
    if profile is None:
        return None
    spec, (of_profile,) = profile.spec, profile.spec.targets
    own = {name: getattr(of_profile, name) for name in _OF_TARGETS}
    targets = tuple(
        target.model_copy(update=own) if target.is_profile else target
        for target in document.spec.targets
    )
    decided = {name: getattr(spec, name) for name in _OF_PROFILES}
    return document._replace(spec=document.spec.model_copy(update={**decided, "targets": targets}))


def _check_lost(
    out: Path, compiled: Before, locked: lock.Lock, classes: Sequence[NodeClass]
) -> Iterator[Diagnostic]:
    """CP615 for classes that were compiled before, and whose layouts are in no file any more."""
    keys = {node_class.key for node_class in classes}
    if locked and keys <= locked.keys():
        return
    lost = previous.lost(out, compiled)
    place = Position(LOCK_PATH, 1, 1)
    if lost is None:
        if classes and not locked:
            yield diagnose("CP615", place, what="the classes of out/", path=LOCK_PATH)
        return
    for cluster, name in sorted(lost & keys - locked.keys()):
        what = f"class {name} of cluster {cluster}"
        yield diagnose("CP615", place, what=what, path=LOCK_PATH)


def starts(project: Project) -> lock.Starts:
    """The layouts that the classes of a project start from."""
    return project.known or lock.Starts(project.lock, project.before, project.classes)
