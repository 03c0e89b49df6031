"""How outputs are delivered, and which warnings are waived: Delivery and Waivers (pydantic)."""

from datetime import date
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from cpuplan.language.model.base import (
    Listed,
    Model,
    Name,
    NonEmptyLine,
    Place,
    Reason,
    Repository,
    Revision,
    matching,
    problem,
)

#: Neither `.` nor `..`.
_FOLDER = r"\.*[A-Za-z0-9_-][A-Za-z0-9._-]*"
#: As Flux reads times: whole seconds, minutes or hours.
_Span = Annotated[
    str, matching(r"^[1-9][0-9]{0,4}[smh]$", "a number of seconds, minutes or hours", "10m", "2h")
]


class Flux(Model):
    """What the objects for Flux say beside the repository."""

    namespace: Name = Field(default="flux-system", description="namespace of the objects")
    secret: Name | None = Field(
        default=None, description="Secret with which Flux reads the repository; default: none"
    )
    interval: _Span = Field(default="10m", description="time from one comparison to the next")
    timeout: _Span = Field(
        default="2h",
        description="time that the nodes of a cluster have to take a change, before Flux reports "
        "that it failed",
    )
    depends_on: Annotated[tuple[Name, ...], Listed] = Field(
        default=(),
        description="Kustomizations of the same namespace that must be ready first, such as those "
        "that install the operators of emitted objects",
    )


class DeliverySpec(Model):
    """Where Argo CD or Flux finds the compiled files, and what they are told about them."""

    repository: Repository = Field(description="URL of the Git repository")
    revision: Revision = Field(default="main", description="branch or tag")
    path: Annotated[
        str,
        matching(
            rf"^({_FOLDER}(/{_FOLDER})*)?$",
            "folders below the repository's root, such as sites/north: letters, digits, dots, "
            "dashes, underscores",
        ),
        Field(max_length=1_000),
    ] = Field(default="", description="folder of the project in the repository; default: its root")
    tools: Annotated[tuple[Literal["argocd", "flux"], ...], Field(min_length=1), Listed] = Field(
        default=("argocd",), description="what syncs the files: objects for each are written"
    )
    project: Name = Field(
        default="cpuplan", description="AppProject of the Applications in Argo CD"
    )
    namespace: Name = Field(
        default="argocd", description="namespace of Argo CD; openshift-gitops on OpenShift"
    )
    automated: bool = Field(
        default=True, description="sync automatically; false: a person starts each sync"
    )
    health_checks: bool = Field(
        default=False,
        description="Argo CD: write health checks for the compiled kinds, as patches of argocd-cm "
        "and of the operator's ArgoCD object",
    )
    tracking: Literal["annotation", "label"] | None = Field(
        default=None,
        description="Argo CD: write by what it knows its objects into the same patches. label: "
        "survives the machine config operator, which removes the annotations of a new "
        "KubeletConfig. Default: as Argo CD is configured",
    )
    ignore_differences: bool = Field(
        default=False,
        description="Argo CD: list the fields that controllers and people own, and leave them as "
        "they are when syncing",
    )
    restricted: bool = Field(
        default=False,
        description="Argo CD: the AppProject names the clusters, namespaces and kinds that are "
        "compiled, instead of all clusters and namespaces",
    )
    plugin: bool = Field(
        default=False,
        description="Argo CD: Applications compile the project with the plugin cpuplan instead of "
        "reading out/ from the repository",
    )
    flux: Flux = Field(
        default_factory=Flux.model_construct, description="with flux in tools: its objects"
    )


_DAY = 'a day in quotes, such as "2027-03-31"'


class WaiverSpec(Model):
    """A warning that does not count at one place until a day. Write either `at` or `files`."""

    code: Annotated[str, matching(r"^CP[0-9]{3,4}$", "a code such as CP289", "CP289")] = Field(
        description="code of the warning; an error cannot be waived"
    )
    at: Place | None = Field(
        default=None,
        description="the document, or a field with everything below it; `validate -v` shows the "
        "field of a finding",
    )
    files: NonEmptyLine | None = Field(
        default=None,
        description="files of the project by name, relative to it; `*` matches any text, "
        "including slashes",
        examples=["intents/lab-*.yaml"],
    )
    reason: Reason = Field(
        description="the reason; it is shown with the finding", examples=["change 4711"]
    )
    expires: Annotated[str, matching(r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$", _DAY, "2027-03-31")] = Field(
        description="the last day (UTC); from the next day on, the warning counts again"
    )

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        """Whether it has one place, and its day is in the calendar."""
        if (self.at is None) == (self.files is None):
            raise problem("waiver_place", "a mapping with one of at and files")
        try:
            date.fromisoformat(self.expires)
        except ValueError:
            text = "a mapping whose expires is a day of the calendar"
            raise problem("waiver_day", text) from None
        return self


class WaiversSpec(Model):
    """Warnings that were reviewed and do not count for a while."""

    waivers: Annotated[tuple[WaiverSpec, ...], Field(min_length=1), Listed] = Field(
        description="the waivers"
    )
