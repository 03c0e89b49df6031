"""How the scheduler gives devices to claims (Kubernetes 1.36, dynamic-resource-allocation)."""
