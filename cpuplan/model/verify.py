"""Verification on nodes and in clusters: `verify` of an Intent (pydantic; docs/checking.md)."""

from typing import Annotated

from pydantic import Field

from cpuplan.model.base import Model, matching
from cpuplan.model.document import Labels, Name, WebAddress

#: A name, perhaps with a registry, a tag and a digest (distribution/reference, its grammar).
_PART = "[a-z0-9]+((\\.|_|__|-+)[a-z0-9]+)*"
_HOST = "[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]+)?"
Image = Annotated[
    str,
    matching(
        rf"^({_HOST}/)?{_PART}(/{_PART})*(:[A-Za-z0-9_][A-Za-z0-9_.-]{{0,127}})?"
        "(@sha256:[0-9a-f]{64})?$",
        "the reference of an image, such as registry.example.com/cpuplan:1.0",
        "registry.example.com/cpuplan:1.0",
    ),
    Field(max_length=1_000),
]
#: Whole seconds, minutes or hours: Prometheus, Kubernetes and cpuplan read them alike.
Span = Annotated[
    str, matching(r"^[1-9][0-9]{0,4}[smh]$", "a number of seconds, minutes or hours", "60s", "60m")
]


class Prometheus(Model):
    """Objects for the Prometheus operator."""

    labels: Labels = Field(
        default={},
        description="further labels of the PodMonitor and the PrometheusRule, by which a "
        "Prometheus selects them",
    )
    runbooks: WebAddress = Field(
        default="https://cpuplan.io/docs/alerts",
        description="where docs/alerts.md is published: each alert links to its heading there",
    )


class Verify(Model):
    """An agent on each node that compares it with its plan, and what reads its results."""

    image: Image = Field(description="image with cpuplan; see Containerfile")
    pull_secret: Name | None = Field(
        default=None, description="name of the Secret with which nodes pull the image"
    )
    namespace: Name = Field(
        default="cpuplan",
        description="namespace of all objects, which is created; none of the cluster's own",
    )
    labels: Labels = Field(default={}, description="further labels of all objects")
    node_selector: Labels = Field(
        default={},
        description="labels of the nodes on which the agent runs. Default: the nodes of the "
        "class by their names",
    )
    interval: Span = Field(default="60s", description="time from check to check")
    condition: bool = Field(
        default=False, description="the agent sets the condition CPUPlanHolds of its node"
    )
    events: bool = Field(
        default=False, description="the agent creates an Event about its node if that changes"
    )
    prometheus: Prometheus | None = Field(
        default=None, description="write a PodMonitor and a PrometheusRule with alerts"
    )
    wait_for: Span | None = Field(
        default=None,
        description="write a Job that Argo CD runs after each sync: it waits so long until all "
        "nodes of the cluster hold their plan",
    )
