"""Names of the objects that verify the nodes of a class: for who writes and who keeps them."""

from cpuplan.base.naming import LONGEST_LABEL, shortened

AGENT = "cpuplan-agent"
#: The kinds of a class's own objects, as their files call them.
KINDS = (
    "clusterrole",
    "clusterrolebinding",
    "configmap",
    "daemonset",
    "networkpolicy",
    "podmonitor",
    "prometheusrule",
    "role",
    "rolebinding",
    "serviceaccount",
)


def agent(name: str) -> str:
    """The name of the objects of class `name`: labels have room for 63 characters, and no dots."""
    return shortened(f"{AGENT}-{name}".replace(".", "-"), LONGEST_LABEL)
