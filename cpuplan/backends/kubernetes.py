"""Kubernetes with CRI-O on nodes without an operator: a tree of files, and a RuntimeClass.

The tree is laid over the root file system by whatever installs the nodes (Ansible, cloud-init, an
image build). It holds drop-ins only, so that it never edits a file that somebody else
wrote.
"""

from collections.abc import Iterator, Mapping, Sequence

from cpuplan.backends.base import NODE_WAVE, Manifest, metadata, to_file
from cpuplan.components import crio, kernel, kubelet, nrt, runtimeclass, units
from cpuplan.components.base import Component
from cpuplan.diagnostics import Diagnostic
from cpuplan.plan import ConfiguredPlan, NodePlan
from cpuplan.source import Locate

NAME = "kubernetes"
#: In the order in which they are printed.
COMPONENTS: tuple[Component, ...] = (kubelet, crio, runtimeclass, kernel, units, nrt)
#: The name sorts after the vendor's, since handlers replace each other whole.
PATHS: Mapping[str, str] = {crio.NAME: "/etc/crio/crio.conf.d/99-zz-cpuplan.conf"}
#: Boot arguments for GRUB as Debian reads it. RHEL ignores this folder: `cmdline` is for `grubby
#: --args` there.
GRUB = "etc/default/grub.d/50-cpuplan.cfg"
CMDLINE = "cmdline"


def check(_plan: NodePlan, _locate: Locate) -> Iterator[Diagnostic]:
    """Nothing: files can say all that an intent says."""
    return iter(())


def manifests(plan: ConfiguredPlan) -> Iterator[Manifest]:
    """The RuntimeClass of the intent, where CRI-O has a handler for it."""
    settings = plan.settings.of(runtimeclass.NAME)
    if settings:
        intent = plan.node_class.intent
        data = runtimeclass.document(settings)
        data["metadata"] = metadata(f"performance-{intent}", NODE_WAVE)
        yield Manifest(f"10-runtimeclass-{intent}.yaml", data)


def node_files(plan: ConfiguredPlan) -> Mapping[str, bytes]:
    """Drop-ins of the kubelet, CRI-O, GRUB and systemd, by path below the root."""
    settings = plan.settings
    line, systemd = kernel.render(settings.of(kernel.NAME)), settings.of(units.NAME)
    texts = {
        PATHS[crio.NAME].lstrip("/"): crio.render(settings.of(crio.NAME)),
        CMDLINE: line + "\n",
        GRUB: f'GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX {line}"\n',
    }
    texts = {path: text for path, text in texts.items() if text}
    texts |= {path.lstrip("/"): text for path, text in units.files(systemd).items()}
    texts |= {f"etc/systemd/system/{name}": text for name, text in units.units(systemd).items()}
    files = {path: text.encode() for path, text in sorted(texts.items())}
    return files | {kubelet.DROP_IN: to_file(kubelet.configuration(settings.of(kubelet.NAME)))}


def expected(_plan: ConfiguredPlan) -> Iterator[Manifest]:
    """Nothing: no operator makes objects of the files."""
    return iter(())


def check_cluster(_plans: Sequence[ConfiguredPlan], _locate: Locate) -> Iterator[Diagnostic]:
    """Nothing: nodes share no files."""
    return iter(())


def expected_of_cluster(_plans: Sequence[ConfiguredPlan]) -> Mapping[str, bytes]:
    """None: nobody merges files of other nodes."""
    return {}
