"""Verification on nodes and in clusters: `verify` of an Intent (pydantic; docs/checking.md)."""

from typing import Annotated, Literal

from pydantic import Field

from cpuplan.language.model.base import Model, matching
from cpuplan.language.model.document import Labels, Listed, Name, WebAddress

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


#: An address range, as a NetworkPolicy has it; the API server checks it as a whole.
Cidr = Annotated[
    str,
    matching(r"^[0-9a-fA-F.:]{2,45}/[0-9]{1,3}$", "a range of addresses", "10.0.0.0/24"),
]
Port = Annotated[int, Field(ge=1, le=65535)]
#: A file that agents get one by one: below folders that they do not have.
FilePath = Annotated[
    str,
    matching(
        r"^(/[A-Za-z0-9_@+-][A-Za-z0-9._@+-]*)+$",
        "the absolute path of a file, without dots at the beginning of names",
        "/var/lib/kubelet/config.yaml",
    ),
]
#: What agents may read of their nodes, least first.
Access = Literal["user", "root", "tracing"]


class ApiServer(Model):
    """Where agents with `condition` or `events` reach the API server."""

    cidrs: Annotated[tuple[Cidr, ...], Listed] = Field(
        default=(), max_length=64, description="addresses of the API servers. Default: any"
    )
    ports: Annotated[tuple[Port, ...], Listed] = Field(
        default=(443, 6443), min_length=1, max_length=16, description="their ports"
    )


class Prometheus(Model):
    """Objects for the Prometheus operator."""

    namespace: Name | None = Field(
        default=None,
        description="namespace of the Prometheus that reads the agents' metrics: no pod of "
        "another one can connect to them. Default: pods of all namespaces can",
    )
    pods: Labels = Field(
        default={}, description="labels of the pods that may read the agents' metrics"
    )
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
    access: Access = Field(
        default="user",
        description="what agents may read of their nodes. `user`: what any user of the node may, "
        "and they can change nothing there. `root`: also files of root, such as the kubelet's "
        "state; an agent that is taken over reads the node's keys, and may write where its "
        "container runtime leaves mounts below read-only ones writable. `tracing`: also the "
        "environments of processes, with SYS_PTRACE; an agent that is taken over is root of its "
        "node",
    )
    files: Annotated[tuple[FilePath, ...], Listed] = Field(
        default=(),
        max_length=16,
        description="single files of the node that agents also read, such as "
        "/var/lib/kubelet/config.yaml of kubeadm. Each must exist on every node before the agent "
        "starts there",
    )
    api_server: ApiServer = Field(
        default_factory=ApiServer.model_construct,
        description="where agents with `condition` or `events` may connect to; nowhere else",
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
