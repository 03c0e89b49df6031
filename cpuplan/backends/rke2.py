"""RKE2: the files of a plain node without CRI-O, since containerd is part of its process."""

from cpuplan.backends import embedded

NAME = "rke2"
COMPONENTS = embedded.COMPONENTS
PATHS = embedded.PATHS
check = embedded.check
manifests = embedded.manifests
node_files = embedded.node_files
delivered = embedded.delivered
expected = embedded.expected
check_cluster = embedded.check_cluster
expected_of_cluster = embedded.expected_of_cluster
