"""Delivery (pydantic): how `out/` reaches the clusters; a project has at most one."""

from typing import Annotated

from pydantic import Field

from cpuplan.model.base import Model, matching
from cpuplan.model.document import Name

#: Neither `.` nor `..`.
_FOLDER = r"\.*[A-Za-z0-9_-][A-Za-z0-9._-]*"


class DeliverySpec(Model):
    """Where Argo CD finds the compiled files."""

    repository: Annotated[
        str,
        matching(
            r"^(https://|ssh://|git@)[^\s]+$",
            "a URL without blanks that begins with https://, ssh:// or git@",
            "https://git.example.com/platform/cpus.git",
        ),
    ] = Field(description="URL of the Git repository")
    revision: Annotated[str, matching(r"^[^\s]+$", "a branch or tag, without blanks")] = Field(
        default="main", description="branch or tag"
    )
    path: Annotated[
        str,
        matching(
            rf"^({_FOLDER}(/{_FOLDER})*)?$",
            "folders below the repository's root, such as sites/north: letters, digits, dots, "
            "dashes, underscores",
        ),
    ] = Field(default="", description="folder of the project in the repository; default: its root")
    project: Name = Field(
        default="cpuplan", description="AppProject of the Applications in Argo CD"
    )
    namespace: Name = Field(
        default="argocd", description="namespace of Argo CD; openshift-gitops on OpenShift"
    )
    automated: bool = Field(
        default=True, description="sync automatically; false: a person starts each sync"
    )
