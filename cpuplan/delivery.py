"""The document of how `out/` reaches the clusters: Delivery (pydantic; at most one in a project)."""

from typing import Annotated

from cpuplan.document import Name
from cpuplan.model import Field, Model


class DeliverySpec(Model):
    """Where Argo CD finds the compiled files."""

    repository: Annotated[
        str, Field(pattern=r"^(https://|ssh://|git@)[^\s]+$", description="URL of the Git repository")
    ]
    revision: Annotated[str, Field(pattern=r"^[^\s]+$", description="branch or tag")] = "main"
    path: Annotated[
        str,
        Field(
            pattern=r"^([A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*)?$", description="folder of the project in the repository"
        ),
    ] = ""
    project: Name = Field(default="cpuplan", description="of Argo CD: the AppProject of the Applications")
    namespace: Name = Field(default="argocd", description="of Argo CD; openshift-gitops on OpenShift")
    automated: bool = Field(default=True, description="sync by itself; false: a person starts each sync")
