"""What targets say of a mechanism that gives CPUs to pods in place of the kubelet (pydantic)."""
