"""The files of a node without an operator: those that no other step reads are as they were written.

Kubelet, runtime and slices of pods have steps of their own, which merge files as the programs do.
"""

from collections.abc import Iterator

from cpuplan.backends.kubernetes import node
from cpuplan.check.subject import Subject
from cpuplan.components import kubelet
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.source import Position

#: Folders whose files are merged with others' before they count.
_MERGED = (
    "/etc/crio/",
    "/etc/containerd/",
    "/etc/systemd/system/kubepods",
)


def files(subject: Subject) -> Iterator[Diagnostic]:
    """Every file of the tree is there, line by line."""
    if not subject.plan.node_class.platform.takes_files:
        return
    missing = []
    own = kubelet.drop_in(subject.plan.node_class.target)
    for path, file in node.of(subject.plan).files.items():
        if path == own or path.startswith(_MERGED):
            continue
        text = subject.root.read(path.lstrip("/"))
        if text is None:
            missing.append(path)
        elif text != file.data.decode():
            yield _differing(subject, path, text, file.data.decode())
    if missing and not subject.root.refused:
        yield diagnose("CP870", paths=", ".join(missing))


def _differing(subject: Subject, path: str, found: str, wanted: str) -> Diagnostic:
    """CP871 at the first line that differs."""
    lines, own = found.splitlines(), wanted.splitlines()
    differ = (at for at, pair in enumerate(zip(lines, own, strict=False)) if pair[0] != pair[1])
    at = next(differ, min(len(lines), len(own)))
    place = Position(subject.root.shown(path.lstrip("/")), at + 1, 1)
    expected = own[at] if at < len(own) else "no further line"
    return diagnose("CP871", place, path=path, wanted=expected)
