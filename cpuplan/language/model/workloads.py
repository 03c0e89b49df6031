"""Workloads for which each node must have room (pydantic)."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, WithJsonSchema, model_validator

from cpuplan.language.model.base import Model, problem
from cpuplan.language.model.document import Listed, Name
from cpuplan.language.model.pools import SetName

#: A file's name is replaced by its content before documents are validated.
_MANIFEST = WithJsonSchema(
    {"anyOf": [{"type": "object"}, {"type": "string", "pattern": r"^pods/.+\.ya?ml$"}]}
)


class Workload(Model):
    """Pods with exclusive CPUs for which a node must have room.

    The simulator proves that its kubelet admits them, and shows where each one runs.
    """

    name: Name = Field(description="name of the workload in messages")
    cpus: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="exclusive CPUs of each pod, which has one container"
    )
    manifest: Annotated[dict[str, Any], _MANIFEST] | None = Field(
        default=None,
        description="instead of cpus, the manifest of the pod, or of a workload such as a "
        "Deployment with its template, or the file with it in the project's folder pods/: all of "
        "its containers count",
        examples=["pods/upf.yaml"],
    )
    pods: Annotated[int, Field(ge=1)] = Field(
        default=1,
        description="number of these pods on each node, whatever a manifest has as replicas",
    )
    per: Literal["machine", "numaNode"] | None = Field(
        default=None,
        description="numaNode: the number is for each NUMA node that the pool may be on. Default: "
        "machine",
    )
    pool: SetName = Field(
        default="isolated", description="pool of their CPUs: isolated, or a partition of it"
    )

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        """Find what contradicts itself."""
        if (self.cpus is None) == (self.manifest is None):
            raise problem("workload_size", "cpus or manifest")
        return self


Workloads = Annotated[tuple[Workload, ...], Listed]
