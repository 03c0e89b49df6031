"""Objects of a cluster, and other JSON that describes a machine."""
