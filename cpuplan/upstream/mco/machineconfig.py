"""What the operator reads of a MachineConfig."""

from typing import Any, NamedTuple

from cpuplan.upstream.mco.fields import flag, mapping, text, text_mapping, texts
from cpuplan.upstream.mco.ignition.parse import parse
from cpuplan.upstream.mco.ignition.schema import Config
from cpuplan.upstream.mco.pools import Object, name_of
from cpuplan.upstream.mco.releases import Release

ROLE_LABEL = "machineconfiguration.openshift.io/role"
GENERATED_BY = "machineconfiguration.openshift.io/generated-by-controller-version"
DEFAULT_KERNEL, REALTIME_KERNEL, LARGE_PAGES_KERNEL = "default", "realtime", "64k-pages"


class MachineConfig(NamedTuple):
    """The fields of an object; `config` is None where spec.config is absent.

    `labels` are None without metadata.labels; `generated_by` is the version of the controller that
    wrote the object, "" for a user's.
    """

    name: str
    labels: dict[str, str] | None = None
    generated_by: str = ""
    config: Any = None
    kernel_arguments: tuple[str, ...] = ()
    extensions: tuple[str, ...] = ()
    kernel_type: str = ""
    fips: bool = False
    os_image: str = ""
    extensions_image: str = ""

    @property
    def role(self) -> str:
        """The value of the role label."""
        return (self.labels or {}).get(ROLE_LABEL, "")

    def ignition(self, release: Release) -> Config | None:
        """The Ignition config, if there is one; IgnitionError for one that is not valid."""
        return None if self.config is None else parse(self.config, release)


def read_machine_config(item: Object) -> MachineConfig:
    """The fields of an object as YAML or JSON have it; McoError for one of a wrong type."""
    metadata, spec = mapping(item, "metadata"), mapping(item, "spec")
    return MachineConfig(
        name_of(item),
        None if metadata.get("labels") is None else text_mapping(metadata, "labels"),
        text_mapping(metadata, "annotations").get(GENERATED_BY, ""),
        spec.get("config"),
        texts(spec, "kernelArguments"),
        texts(spec, "extensions"),
        text(spec, "kernelType"),
        flag(spec, "fips"),
        text(spec, "osImageURL"),
        text(spec, "baseOSExtensionsContainerImage"),
    )
