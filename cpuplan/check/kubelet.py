"""The kubelet's configuration: its file, and the drop-ins merged over it."""

from collections.abc import Iterator
from itertools import islice
from operator import or_

from cpuplan.check.compare import compare, line_of, merged
from cpuplan.check.subject import Subject
from cpuplan.components import cgroups, kubelet, mixedcpus
from cpuplan.diagnostics import Diagnostic, diagnose

#: The main file: where the machine config operator writes it, and where kubeadm does.
FILES = ("etc/kubernetes/kubelet.conf", "var/lib/kubelet/config.yaml")


def configuration(subject: Subject) -> Iterator[Diagnostic]:
    """Every planned key of KubeletConfiguration has its value after all drop-ins.

    Lists replace, maps merge: the component gives the entries of a map as separate keys.
    """
    paths = list(islice(filter(subject.root.is_file, FILES), 1))
    folder = subject.plan.node_class.platform.kubelet_folder.lstrip("/")
    paths += [path for path in subject.root.files(folder) if path.endswith(".conf")]
    if not paths:
        if not subject.root.refused:
            yield diagnose("CP820", paths=" nor ".join(map(subject.root.shown, FILES)))
        return
    actual = yield from merged(subject, paths, "CP821", kubelet.parse, or_)
    yield from compare(subject, kubelet.NAME, actual, paths[-1], ("CP822", "CP823"))
    period = mixedcpus.other_period(actual.values)
    if period and mixedcpus.are_used(subject.plan) and not cgroups.is_v1(subject.plan):
        key = "cpuCFSQuotaPeriod"
        yield diagnose("CP856", line_of(subject, actual.files[key], key), period=period)
