"""What the operand of the operator lays down on a node: profiles, and the one that is in force.

Upstream: openshift/cluster-node-tuning-operator pkg/tuned/controller.go
  @ d2394aa81ffe6a5411a674128995979956f40193
"""

#: Below the root of the host, since OpenShift 4.14.
HOME = "var/lib/ocp-tuned"
PROFILES = f"{HOME}/profiles"
RECOMMEND_FILE = f"{HOME}/recommend.d/50-openshift.conf"


def recommended(text: str) -> str:
    """The name of the profile in the file."""
    return text.strip().removeprefix("[").removesuffix("]")
