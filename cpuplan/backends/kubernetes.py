"""Kubernetes with CRI-O on nodes that no operator manages: a tree of files for each class, and a
RuntimeClass.

The tree is laid over the root file system by whatever installs the nodes (Ansible, cloud-init, an
image build). It only holds drop-ins of its own, so that it never edits a file that somebody else
wrote.
"""

from collections.abc import Iterator, Mapping

from cpuplan.backends.base import NODE_WAVE, Manifest, metadata, to_file
from cpuplan.components import crio, kernel, kubelet, runtimeclass, units
from cpuplan.plan import ConfiguredPlan

NAME = "kubernetes"
#: Boot arguments for GRUB as Debian reads it. RHEL ignores this folder: `cmdline` is for `grubby
#: --args` there.
GRUB = "etc/default/grub.d/50-cpuplan.cfg"
CMDLINE = "cmdline"


def manifests(plan: ConfiguredPlan) -> Iterator[Manifest]:
    """The RuntimeClass of the intent, where CRI-O has a handler for it."""
    if not crio.has_handler(plan):
        return
    intent = plan.node_class.intent
    data = runtimeclass.runtime_class(plan, {}) | {
        "metadata": metadata(f"performance-{intent}", NODE_WAVE)
    }
    yield Manifest(f"10-runtimeclass-{intent}.yaml", data)


def node_files(plan: ConfiguredPlan) -> Mapping[str, bytes]:
    """Drop-ins of the kubelet, CRI-O, GRUB and systemd, by path below the root."""
    line = kernel.render(plan.settings.of(kernel.NAME))
    texts = {
        crio.path(plan).lstrip("/"): crio.render(plan.settings.of(crio.NAME)),
        CMDLINE: line + "\n",
        GRUB: f'GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX {line}"\n',
    }
    texts = {path: text for path, text in texts.items() if text}
    texts |= {path.lstrip("/"): text for path, (_mode, text) in units.files(plan).items()}
    texts |= {f"etc/systemd/system/{name}": text for name, text in units.units(plan).items()}
    files = {path: text.encode() for path, text in sorted(texts.items())}
    return files | {kubelet.DROP_IN: to_file(kubelet.configuration(plan.settings.of(kubelet.NAME)))}
