"""Node disruption policies of an OpenShift cluster (pydantic): the words of its own object."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from cpuplan.model.base import Model, matching, problem
from cpuplan.model.document import Listed

_Path = Annotated[str, matching(r"^/", "an absolute path", "/etc/crio/crio.conf.d")]
_Unit = Annotated[
    str,
    matching(
        r"^[-A-Za-z0-9:_.\\]+(@[-A-Za-z0-9:_.\\]*)?"
        r"\.(service|socket|device|mount|automount|swap|target|path|timer|snapshot|slice|scope)$",
        "the name of a systemd unit, such as crio.service",
        "crio.service",
    ),
]
#: Actions that stand alone in a list.
_ALONE = ("None", "Reboot")


class Service(Model):
    """The unit that an action is about."""

    service_name: _Unit = Field(description="name of the systemd unit")


class DisruptionAction(Model):
    """One thing that a node does after a change."""

    type: Literal["DaemonReload", "Drain", "None", "Reboot", "Reload", "Restart"] = Field(
        description="what the node does"
    )
    reload: Service | None = Field(default=None, description="the unit, for Reload")
    restart: Service | None = Field(default=None, description="the unit, for Restart")

    @model_validator(mode="after")
    def _has_its_unit(self) -> Self:
        """Whether the unit is given for Reload and Restart, and for these alone."""
        given = {"Reload": self.reload, "Restart": self.restart}
        for name, unit in given.items():
            if (self.type == name) != (unit is not None):
                text = f"a mapping with {name.lower()} for {name}, and without it for other types"
                raise problem("disruption_unit", text)
        return self


class _Policy(Model):
    actions: Annotated[tuple[DisruptionAction, ...], Field(min_length=1), Listed] = Field(
        description="what the node does, in this order; None and Reboot stand alone"
    )

    @model_validator(mode="after")
    def _stands_alone(self) -> Self:
        """Whether None and Reboot are the only action of a list, as the API server asks for."""
        types = [action.type for action in self.actions]
        if len(types) > 1 and set(types) & set(_ALONE):
            raise problem("disruption_alone", "a mapping whose None or Reboot is the only action")
        return self


class FilePolicy(_Policy):
    """The policy of a file, or of all files of a folder."""

    path: _Path = Field(description="the file or folder; the longest path that fits counts")


class UnitPolicy(_Policy):
    """The policy of a systemd unit."""

    name: _Unit = Field(description="name of the unit")


class KeyPolicy(_Policy):
    """The policy of SSH keys."""


class NodeDisruptionPolicy(Model):
    """What nodes do after changes of files and units, in place of a reboot."""

    files: Annotated[tuple[FilePolicy, ...], Listed] = Field(
        default=(), description="policies of files"
    )
    units: Annotated[tuple[UnitPolicy, ...], Listed] = Field(
        default=(), description="policies of systemd units"
    )
    sshkey: KeyPolicy | None = Field(default=None, description="the policy of SSH keys")
