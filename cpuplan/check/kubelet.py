"""The kubelet's configuration: its file, and the drop-ins merged over it."""

from collections.abc import Iterator
from itertools import islice

from cpuplan.check.compare import LINK_TO_NOTHING, Found, compare, unreadable
from cpuplan.check.subject import Subject
from cpuplan.components import kubelet
from cpuplan.diagnostics import Diagnostic, diagnose

#: The main file: where the machine config operator writes it, and where kubeadm does.
FILES = ("etc/kubernetes/kubelet.conf", "var/lib/kubelet/config.yaml")
DROP_INS = "etc/kubernetes/kubelet.conf.d"


def configuration(subject: Subject) -> Iterator[Diagnostic]:
    """Every planned key of KubeletConfiguration, as it holds after all drop-ins: lists replace,
    maps merge.
    """
    paths = list(islice(filter(subject.root.is_file, FILES), 1))
    paths += [path for path in subject.root.files(DROP_INS) if path.endswith(".conf")]
    if not paths:
        if not subject.root.refused:
            yield diagnose("CP820", paths=" nor ".join(map(subject.root.shown, FILES)))
        return
    found = Found({}, {})
    for path in paths:
        text = subject.root.read(path)
        try:
            if text is None and not subject.root.refused:
                raise ValueError(LINK_TO_NOTHING)
            # The component gives the entries of a map as keys of their own, so an update is a
            # merge.
            values = kubelet.parse(text or "")
        except ValueError as error:
            place, problem = unreadable(subject, path, error)
            yield diagnose("CP821", place, path=place.path, problem=problem)
            continue
        found.values.update(values)
        found.written.update(dict.fromkeys(values, path))
    yield from compare(subject, kubelet.NAME, found, paths[-1], ("CP822", "CP823"))
