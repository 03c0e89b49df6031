"""The kubelet's configuration: its file, and the drop-ins merged over it."""

from collections.abc import Iterator

from cpuplan.check.compare import Found, compare, unreadable
from cpuplan.check.subject import Subject
from cpuplan.components import kubelet
from cpuplan.diagnostics import Diagnostic, diagnose

#: The main file: where the machine config operator writes it, and where kubeadm does.
FILES = ("etc/kubernetes/kubelet.conf", "var/lib/kubelet/config.yaml")
DROP_INS = "etc/kubernetes/kubelet.conf.d"


def configuration(subject: Subject) -> Iterator[Diagnostic]:
    """Every planned key of KubeletConfiguration, as it holds after all drop-ins: lists replace, maps merge."""
    paths = [path for path in FILES if subject.root.is_file(path)][:1]
    paths += [f"{DROP_INS}/{name}" for name in subject.root.names(DROP_INS) if name.endswith(".conf")]
    if not paths:
        yield diagnose("CP820", paths=" nor ".join(map(subject.root.shown, FILES)))
        return
    found = Found({}, {})
    for path in paths:
        try:
            # The component gives the entries of a map as keys of their own, so an update is a merge.
            values = kubelet.parse(subject.root.read(path) or "")
        except (ValueError, RecursionError) as error:
            place, problem = unreadable(subject, path, error)
            yield diagnose("CP821", place, path=place.path, problem=problem)
            continue
        found.values.update(values)
        found.written.update(dict.fromkeys(values, path))
    yield from compare(subject, kubelet.NAME, found, paths[-1], ("CP822", "CP823"))
