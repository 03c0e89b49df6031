"""How a change reaches nodes and is verified: `rollout` and `verify` of an Intent (pydantic)."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, PlainValidator, WithJsonSchema

from cpuplan.base.patterns import expression
from cpuplan.language.model.base import (
    Labels,
    Listed,
    Model,
    Name,
    NodePattern,
    WebAddress,
    matching,
    problem,
)


class Selector(Model):
    """Nodes that match all of these fields."""

    clusters: Annotated[tuple[Name, ...], Listed] = Field(
        default=(), description="nodes of these clusters; default: all"
    )
    nodes: Annotated[tuple[NodePattern, ...], Listed] = Field(
        default=(), description="node names; ranges and * are allowed"
    )
    match_labels: Labels = Field(
        default={}, description="nodes that have all of these labels in the inventory"
    )


_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]


def _numbers(first: int, last: int, names: list[str]) -> dict[str, int]:
    """What a field may have, as numbers: `names` begin at `first`."""
    numbers = {str(number): number for number in range(first, last + 1)}
    return numbers | {name: first + index for index, name in enumerate(names)}


#: The five fields in their order, as Argo CD reads them: 7 is no Sunday there.
_FIELDS = (
    ("minute", _numbers(0, 59, [])),
    ("hour", _numbers(0, 23, [])),
    ("day of the month", _numbers(1, 31, [])),
    ("month", _numbers(1, 12, _MONTHS)),
    ("day of the week", _numbers(0, 6, _DAYS)),
)
_ITEM = expression(r"(?P<first>\*|[0-9a-z]+)(-(?P<last>[0-9a-z]+))?(/(?P<step>[1-9][0-9]?))?")


def _is_valid(item: str, known: dict[str, int]) -> bool:
    """Whether an item of a list is `*`, a number or a range, perhaps with a step."""
    parts = _ITEM.fullmatch(item.lower())
    if not parts:
        return False
    first, last = parts["first"], parts["last"]
    if first == "*":
        return last is None
    if first not in known or (last is not None and last not in known):
        return False
    return last is None or known[first] <= known[last]


def _check(text: str) -> str:
    """The schedule, if it is one."""
    fields = text.split(" ")
    if len(fields) != len(_FIELDS):
        raise problem("cron_fields", "a schedule with five fields and single blanks between them")
    for field, (name, known) in zip(fields, _FIELDS, strict=True):
        if not all(_is_valid(item, known) for item in field.split(",")):
            context = {"field": name, "first": min(known.values()), "last": max(known.values())}
            text = "a schedule whose {field} is between {first} and {last}, a range, or *"
            raise problem("cron_field", text, context)
    return text


Schedule = Annotated[
    str,
    matching(
        r"^[0-9A-Za-z*,/-]+( [0-9A-Za-z*,/-]+){4}$",
        "five fields of cron: minute, hour, day of the month, month, day of the week",
        "0 22 * * sat",
    ),
    AfterValidator(_check),
]


class Window(Model):
    """A time in which changes may be rolled out."""

    schedule: Schedule = Field(
        description="when it begins: minute, hour, day of the month, month, day of the week (0 is "
        "Sunday), as cron reads them"
    )
    duration: Annotated[
        str, matching(r"^[1-9][0-9]{0,3}[mh]$", "a number of minutes or hours", "4h")
    ] = Field(description="how long it lasts")
    time_zone: Annotated[
        str,
        matching(
            r"^[A-Za-z]+(/[A-Za-z0-9_+-]+)*$",
            "a name of the time zone database, such as Europe/Berlin",
            "Europe/Berlin",
        ),
    ] = Field(default="UTC", description="the time zone of the schedule")


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


#: What a change may cost a node, ascending; `impact.Impact` has the same words.
MaxImpact = Literal["nothing", "live", "restart", "drain", "reboot", "reinstall"]
_PERCENT = r"^([1-9][0-9]?|100)%$"


def _read_number(value: object) -> int | str:
    """A positive number of nodes, or a share of them."""
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    if isinstance(value, str) and re.fullmatch(_PERCENT, value):
        return value
    raise problem("max_unavailable", "a number of nodes from 1 up, or a share such as 10%")


MaxUnavailable = Annotated[
    int | str,
    PlainValidator(_read_number),
    WithJsonSchema(
        {
            "anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "pattern": _PERCENT}],
            "examples": [1, "10%"],
        }
    ),
]


class Wave(Selector):
    """Nodes that get a change before those of the next wave; without nodes and labels, clusters."""

    name: Name = Field(description="name of the wave, such as canary")
    max_unavailable: MaxUnavailable | None = Field(
        default=None,
        description="nodes of the wave that may change at a time. Default: that of the rollout",
    )

    @property
    def is_of_clusters(self) -> bool:
        """Whether it takes whole clusters."""
        return not (self.nodes or self.match_labels)


class Rollout(Model):
    """In which order, how many at a time, and when nodes get a change."""

    waves: Annotated[tuple[Wave, ...], Listed] = Field(
        default=(),
        description="nodes in the order in which they get a change; what is in none comes last",
    )
    max_unavailable: MaxUnavailable | None = Field(
        default=None,
        description="nodes that may change at a time: a number, or a share such as 10%. Default: "
        "what the platform does, which is one node",
    )
    max_impact: MaxImpact | None = Field(
        default=None,
        description="the most that a change may cost a node of the intent; `cpuplan plan` refuses "
        "more. Default: anything",
    )
    windows: Annotated[tuple[Window, ...], Listed] = Field(
        default=(), description="times at which a rollout may begin; default: always"
    )
    pause_pools: bool = Field(
        default=False,
        description="openshift: the MachineConfigPool is paused, so that nodes get nothing until "
        "this is false again",
    )
