"""What a controller writes, and what it remembers of the objects of a user."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import quote

from cpuplan.upstream.mco.labels import read_selector
from cpuplan.upstream.mco.machineconfig import GENERATED_BY, ROLE_LABEL
from cpuplan.upstream.mco.pools import Object, labels_of
from cpuplan.upstream.mco.render import RUNNING

SUFFIX = "machineconfiguration.openshift.io/mc-name-suffix"
_MODE = 0o644


class Generated(NamedTuple):
    """A MachineConfig of the operator: texts of files by path; only users' objects have owners."""

    name: str
    role: str
    files: Mapping[str, str]
    owner: str = ""
    kernel_arguments: tuple[str, ...] = ()

    def as_object(self) -> dict[str, Any]:
        """As `render` takes it."""
        files = []
        for path, text in self.files.items():
            contents = {"source": f"data:,{quote(text)}"}
            files.append({"path": path, "mode": _MODE, "overwrite": True, "contents": contents})
        return {
            "metadata": {
                "name": self.name,
                "labels": {ROLE_LABEL: self.role},
                "annotations": {GENERATED_BY: RUNNING},
            },
            "spec": {
                "config": {"ignition": {"version": "3.2.0"}, "storage": {"files": files}},
                "kernelArguments": list(self.kernel_arguments),
            },
        }


@dataclass
class Source:
    """An object of a user, as the controller leaves it.

    `finalizers` name the MachineConfigs written of it; `accepted` is None before it is handled.
    """

    name: str
    spec: Mapping[str, Any]
    annotations: dict[str, str]
    created: int
    finalizers: list[str] = field(default_factory=list)
    accepted: bool | None = None

    @property
    def suffix(self) -> str | None:
        """The end of the names of its MachineConfigs; None before it has one."""
        return self.annotations.get(SUFFIX)

    def selects(self, pool: Object) -> bool:
        """Whether it is for a pool; an empty selector selects nothing."""
        selector = read_selector(self.spec.get("machineConfigPoolSelector"))
        return not selector.is_empty and selector.matches(labels_of(pool))
