"""Eviction: what can run out on a node (pkg/kubelet/eviction)."""

#: What can run out (pkg/kubelet/eviction/api/types.go).
SIGNALS = (
    "allocatableMemory.available",
    "containerfs.available",
    "containerfs.inodesFree",
    "imagefs.available",
    "imagefs.inodesFree",
    "memory.available",
    "nodefs.available",
    "nodefs.inodesFree",
    "pid.available",
)
