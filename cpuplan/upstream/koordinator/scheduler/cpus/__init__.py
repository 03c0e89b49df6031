"""CPUs of a node, who has them, and which a pod gets."""
